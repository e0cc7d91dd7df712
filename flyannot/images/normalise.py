"""Conversion of pixels, as a file stores them, to grey levels or colours from 0 to 255.

Only this module decides what samples mean: bits, inks, palettes, profiles, transparency, orientation.  The
result is the same picture for every file format and for every library that unpacks one.
"""

import numpy as np

from flyannot.images.colour_profile import to_srgb
from flyannot.images.grey_levels import STRIP_PIXELS, WHITE, guess_white_level, stated_white_level
from flyannot.images.scene import N_COLOURS
from flyannot.images.unreadable import unknown_pixel_type_error, unreadable_image_error

MAX_FLOAT_PIXELS = 12_000_000  # larger pictures of more than 8 bits are rounded to 8 bits, to save memory
_MOST_OF_UNIT_RANGE = 2.0  # the largest float of a picture from 0 to 1 that interpolation took past 1
_KNOWN_KINDS = "buif"  # of NumPy's types: bool, whole numbers, floats
# Whether an orientation is turned upright by transposing, by reversing rows, and by reversing columns.
_UPRIGHT = {2: (0, 0, 1), 3: (0, 1, 1), 4: (0, 1, 0), 5: (1, 0, 0), 6: (1, 0, 1), 7: (1, 1, 1), 8: (1, 1, 0)}


def normalise(path, plane):
    """Convert the pixels of a file to an upright picture, with numbers from 0 (black) to 255 (white).

    Transparent pixels become white.  An alpha channel that is 0 everywhere is ignored.

    Parameters
    ----------
    path : path of the file, for messages
    plane : StoredPlane, the pixels as stored, and their meaning

    Returns
    -------
    picture : uint8 or float32 array (height, width), or (height, width, 3) if the plane has colours.
        It is uint8 if the file has at most 8 bits, or more than MAX_FLOAT_PIXELS pixels.

    Raises
    ------
    UnusableImage
        If the type of the pixels is not known, or if numbers are not finite or outside their range.
    """
    if not isinstance(plane.samples, np.ndarray) and plane.samples.mode not in ("L", "RGB"):
        plane = plane._replace(samples=np.asarray(plane.samples))
    if isinstance(plane.samples, np.ndarray):
        plane = _require_known_samples(path, plane)
    white = _white_level(path, plane, slice(N_COLOURS[plane.colours]))
    opaque = _white_level(path, plane, slice(-1, None)) if plane.alpha else 1.0
    is_array = isinstance(plane.samples, np.ndarray)
    width, height = plane.samples.shape[1::-1] if is_array else plane.samples.size
    if width * height <= STRIP_PIXELS:
        return _turn_upright(_scale_to_255(plane, white, opaque), plane.orientation)
    picture = None
    step = max(1, STRIP_PIXELS // width)
    for top in range(0, height, step):
        rows = plane._replace(samples=_crop_rows(plane.samples, top, top + step))
        strip = _scale_to_255(rows, white, opaque)
        if picture is None:
            is_float = strip.dtype == np.float32 and width * height <= MAX_FLOAT_PIXELS
            dtype = np.float32 if is_float else np.uint8
            picture = np.empty((height, *strip.shape[1:]), dtype)
        picture[top : top + step] = strip if strip.dtype == picture.dtype else np.rint(strip)
    return _turn_upright(picture, plane.orientation)


def _crop_rows(samples, top, bottom):
    """Return the rows from `top` to `bottom` (excluded) of an array or a Pillow image."""
    if isinstance(samples, np.ndarray):
        return samples[top:bottom]
    width, height = samples.size
    return samples.crop((0, top, width, min(bottom, height)))


def _require_known_samples(path, plane):
    """Return a StoredPlane whose pixels have as many samples as its colours and its alpha need.

    An alpha that is 0 everywhere is dropped.

    Raises
    ------
    UnusableImage
        If the type or the shape of the samples is not known.
    """
    samples = plane.samples
    n_colours = N_COLOURS[plane.colours]
    shape = samples.shape[2:] or (1,)
    n_needed = n_colours + bool(plane.alpha)
    is_known = samples.dtype.kind in _KNOWN_KINDS and samples.ndim in (2, 3) and shape[0] >= n_needed
    if not is_known or samples.dtype == np.int8 or plane.colours == "ycbcr" and samples.dtype != np.uint8:
        kind = "signed numbers of 8 bits" if samples.dtype == np.int8 else str(samples.dtype)
        shape = " x ".join(map(str, samples.shape))
        raise unknown_pixel_type_error(path, f"{kind} of shape {shape}, {plane.colours}")
    if plane.alpha and not samples[..., n_colours].any():
        plane = plane._replace(alpha="")
        n_needed = n_colours
    if samples.ndim == 3:
        samples = samples[..., 0] if n_needed == 1 else samples[..., :n_needed]
    return plane._replace(samples=samples)


def _white_level(path, plane, which):
    """Return the sample value (float) that means white, or opaque, in a StoredPlane.

    The file may state the number of bits in use, or else its largest number.  If it states neither, or if a
    sample is larger, the range of the samples decides.

    Parameters
    ----------
    path : path of the file, for messages
    plane : StoredPlane
    which : slice of the samples of a pixel: those of the colours, or the one of alpha

    Raises
    ------
    UnusableImage
        If a sample is not finite, or outside the range.
    """
    dtype = plane.samples.dtype if isinstance(plane.samples, np.ndarray) else np.dtype(np.uint8)
    if dtype.kind == "b":
        return 1.0
    type_bits = 8 * dtype.itemsize
    stated = [2.0**plane.used_bits - 1] if 0 < plane.used_bits < type_bits else []
    if plane.colours == "palette" or type_bits == 8 and not stated:
        return WHITE
    samples = plane.samples[..., which] if plane.alpha else plane.samples
    lowest, highest = float(samples.min()), float(samples.max())
    if not np.isfinite([lowest, highest]).all():
        raise unreadable_image_error(path, "it has grey levels that are NaN or infinite")
    if dtype.kind == "f":
        white = 1.0 if highest <= _MOST_OF_UNIT_RANGE else WHITE
    else:
        stated += [stated_white_level(plane.maximum)] if plane.maximum else []
        guessed = guess_white_level(highest, min(16, type_bits - 1) if dtype.kind == "i" else type_bits)
        white = next((number for number in stated if highest <= number), guessed)
    if lowest < 0 or highest > white:
        what = f"its grey levels run from {lowest:g} to {highest:g}, outside 0 to {white:g}"
        raise unreadable_image_error(path, what, fix="save it with 8 or 16 bits per channel, without a sign")
    return white


def _scale_to_255(plane, white, opaque):
    """Convert the pixels of a StoredPlane to numbers from 0 to 255, without turning the picture.

    The result is uint8 if that is exact, otherwise float32.

    plane : StoredPlane, some rows of the picture; white, opaque : the numbers that mean white and opaque
    """
    samples = plane.samples
    if not isinstance(samples, np.ndarray):
        if not plane.transparent and not plane.profile:
            return np.asarray(samples)
        samples = np.asarray(samples)
    n_colours = N_COLOURS[plane.colours]
    alpha = None  # from 0 to 1
    if plane.alpha:
        alpha = samples[..., n_colours].astype(np.float32) / np.float32(opaque)
        samples = samples[..., 0] if n_colours == 1 else samples[..., :n_colours]
    if plane.transparent:
        is_paper = (np.atleast_3d(samples) == np.array(plane.transparent)).all(axis=2)
        alpha = np.where(is_paper, np.float32(0), np.float32(1))
    if plane.colours == "palette":
        colours = plane.palette[np.minimum(samples, len(plane.palette) - 1)]
    else:
        colours = _rescale(samples, white)
    if plane.is_white_zero:
        colours = colours.dtype.type(WHITE) - colours
    if plane.colours == "ycbcr":
        colours = _from_ycbcr(colours)
    converted = to_srgb(colours, plane.profile) if plane.profile else None
    if converted is not None:
        colours = converted
    elif plane.colours == "cmyk":
        colours = _mix_inks(colours)
    return colours if alpha is None else _lay_on_white(colours, alpha, plane.alpha == "premultiplied")


def _rescale(samples, white):
    """Scale samples so that the number `white` becomes 255: uint8 if that is exact, otherwise float32."""
    if samples.dtype.itemsize == 1 and WHITE % white == 0:
        return samples if white == WHITE else samples.astype(np.uint8) * np.uint8(WHITE // white)
    return samples.astype(np.float32) * np.float32(WHITE / white)


def _mix_inks(inks):
    """Convert inks (cyan, magenta, yellow, black) to colours (height, width, 3), by Pillow's formula.

    inks : uint8 or float32 array (height, width, 4), from 0 (no ink) to 255
    """
    light = np.float32(WHITE) - inks[..., 3:]
    absorbed = inks[..., :3] * light / np.float32(WHITE)
    return (light - np.rint(absorbed)).astype(np.uint8) if inks.dtype == np.uint8 else light - absorbed


def _from_ycbcr(samples):
    """Convert bytes (height, width, 3) of luma and two colour differences (YCbCr) to colours (RGB)."""
    from PIL import Image

    height, width = samples.shape[:2]
    return np.asarray(Image.frombytes("YCbCr", (width, height), samples.tobytes()).convert("RGB"))


def _lay_on_white(colours, alpha, is_premultiplied):
    """Return a picture as it looks on white paper, which shows through its transparent pixels.

    Parameters
    ----------
    colours : uint8 or float32 array (height, width) or (height, width, 3)
    alpha : float32 array (height, width) from 0 (transparent) to 1 (opaque)
    is_premultiplied : bool, True if the colours were multiplied by alpha
    """
    white = np.float32(WHITE)
    alpha = alpha if colours.ndim == 2 else alpha[..., None]
    if is_premultiplied:
        laid = np.minimum(colours + white * (1 - alpha), white)
    else:
        laid = white + (colours - white) * alpha
    return np.rint(laid).astype(np.uint8) if colours.dtype == np.uint8 else laid


def _turn_upright(picture, orientation):
    """Turn or mirror a picture so that it is upright.

    picture : array (height, width, ...); orientation : int from 1 to 8, as in EXIF and TIFF
    """
    transposes, reverses_rows, reverses_columns = _UPRIGHT.get(orientation, (0, 0, 0))
    picture = picture.swapaxes(0, 1) if transposes else picture
    picture = picture[:: -1 if reverses_rows else 1, :: -1 if reverses_columns else 1]
    return np.ascontiguousarray(picture)
