"""Grey levels from 0 to 255: from numbers of any type, from colours, and of the stain alone.

The stain of an in-situ hybridisation is separated from the colour of the embryo by colour deconvolution.
Light that passes through several dyes is multiplied, so their optical densities add up.  The density of a
pixel is a multiple of the stain's colour, plus a multiple of the tissue's colour, plus a rest at right angles
to both.
"""

from functools import lru_cache

import numpy as np

from flyannot.images.unreadable import unreadable_image_error

WHITE = 255.0
CAMERA_BITS = (8, 12, 14)  # bits of cameras whose numbers are stored in 16 bits
LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # Rec. 601

# Optical density in red, green, blue: the direction of each, of any length.
STAIN = (0.70, 0.67, 0.23)  # NBT/BCIP, blue-purple: hardly absorbs blue
TISSUE = (0.57, 0.54, 0.61)  # shadow and yolk: grey, a little yellow


def rescale_to_255(path, pixels, dtype, *, inverted=False, full=None):
    """Scale numbers of any type to float32 from 0 to 255.

    Parameters
    ----------
    path : path of the file, for messages
    pixels : array of numbers
    dtype : type of the numbers in the file
    inverted : True if 0 is white
    full : float, the number that is white
        It is guessed if it is None, or if a pixel is larger.

    Raises
    ------
    UnusableImage
        If a number is not finite, or outside the range.
    """
    lowest = float(pixels.min())
    highest = float(pixels.max())
    if not np.isfinite([lowest, highest]).all():
        raise unreadable_image_error(path, "it has grey levels that are NaN or infinite")
    if full is None or highest > full:
        is_whole = np.dtype(dtype).kind == "u"
        full = guess_white_level(highest, dtype) if is_whole else (1.0 if highest <= 1 else WHITE)
    if lowest < 0 or highest > full:
        raise unreadable_image_error(
            path,
            f"its grey levels run from {lowest:g} to {highest:g}, outside 0 to {full:g}",
            fix="save it with 8 or 16 bits per channel",
        )
    grey = pixels.astype(np.float32) * np.float32(WHITE / full)
    return np.float32(WHITE) - grey if inverted else grey


def guess_white_level(highest, dtype):
    """Guess the number that is white in a file of whole numbers.

    Numbers of 16 bits often come from a camera with 8, 12 or 14 bits.  White is then the largest number of
    the smallest such range that contains `highest`.  Otherwise it is the largest number of the type.

    highest : the largest number in the picture; dtype : type of the numbers
    """
    in_use = (bits for bits in CAMERA_BITS if np.dtype(dtype).itemsize == 2 and highest < 2**bits)
    return float(2 ** next(in_use, 8 * np.dtype(dtype).itemsize) - 1)


def to_luma(pixels):
    """Convert colours (height, width, 3) to grey levels, Rec. 601.

    Bytes are converted exactly as by Pillow's mode "L".
    """
    if pixels.dtype == np.uint8:
        from PIL import Image

        return np.asarray(Image.fromarray(pixels).convert("L"))
    return pixels @ LUMA


def separate_stain(rgb):
    """Return the grey levels that a picture would have if it showed only the stain.

    What absorbs blue as much as red or more (shadow, yolk, brown) counts as no stain.  The two colours are
    fixed, so that the result for a picture depends on no other picture.  They come from the optical densities
    of 165 pictures of FlyExpress, which have a white background.  STAIN is the 2nd percentile of the angle in
    the plane that has most of the densities.  TISSUE is the median colour of pale pixels (densities of length
    0.1 to 0.2).  Black has no colour.  Stain so dense that it photographs as black is lost, and its paler rim
    remains.

    Parameters
    ----------
    rgb : float array (height, width, 3), from 0 to 255, on a white background

    Returns
    -------
    grey : float32 array (height, width), from 0 (dense stain) to 255 (none)
        The grey levels of the picture itself if it has no colour.

    Source
    ------
    Ruifrok and Johnston, Anal Quant Cytol Histol 23 (2001), 291-299, as implemented in scikit-image.  Their
    densities of single dyes were measured on slides with one dye; ours come from pictures with both.
    """
    from skimage.color import combine_stains, separate_stains

    rgb = np.asarray(rgb, np.float32)
    if (rgb == rgb[..., :1]).all():
        return rgb[..., 0]
    to_rgb, from_rgb = _stain_matrices()
    amounts = separate_stains(np.clip(rgb, 1, WHITE) / np.float32(WHITE), from_rgb)  # 0 has no logarithm
    amounts[..., 1:] = 0
    stain = np.asarray(combine_stains(amounts, to_rgb), np.float32)
    return np.clip(stain @ LUMA * np.float32(WHITE), 0, WHITE)


@lru_cache(maxsize=1)
def _stain_matrices():
    """Return the matrix whose rows are the colours of stain, tissue and the rest, and its inverse."""
    rows = np.array([STAIN, TISSUE, np.cross(STAIN, TISSUE)])
    to_rgb = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return to_rgb, np.linalg.inv(to_rgb)
