"""What a picture file holds, at its own size and with nothing guessed, or one clear line why not.

Pillow decodes PNG, BMP, JPEG, GIF and TIFF, and tifffile the TIFFs that Pillow refuses (64-bit float,
16-bit RGB).  OpenCV never opens a file: it returns half a JPEG without a word.  The content of a file
decides its format, never its suffix.  Nothing but these five formats is tried.
"""

import logging
import os
import stat
import warnings

import numpy as np

from flyannot.descriptors.image_container import fault_of_jpeg, fault_of_png
from flyannot.errors import DataError

MAX_PIXELS = 24_000_000  # read from the header, before anything is decoded
MAX_DEEP_PIXELS = 12_000_000  # of more than 8 bits, or CMYK: they take more memory on the way
MAX_SIDE = 65_535  # decoders keep some bytes for every row
WHITE = 255.0

_FORMATS = ("PNG", "BMP", "JPEG", "GIF", "TIFF")
_WHITE_IS_ZERO = (262, 0)  # TIFF tag PhotometricInterpretation and its value
_TILE, _SAMPLE_FORMAT, _SIGNED = (322, 323), 339, 2  # TIFF tags TileWidth, TileLength, SampleFormat; a value
_EIGHT_BIT = {"1", "L", "P", "PA", "LA", "RGB", "RGBA"}
_SIXTEEN_BIT = {"I;16", "I;16L", "I;16B", "I;16N", "I"}


class UnreadableImage(DataError):
    """One picture cannot be used; `reason` says why without naming the file."""

    reason = ""


def decoded_image(path, mode):
    """What a picture file holds at its own size, checked.

    Colour becomes Rec. 601 luma, exactly Pillow's "L" (rounded to 8 bits, as is RGB of 16 bits).
    Transparency is laid on white.  16-bit grey is divided by 257, so that full range stays full
    range: 12 bits stored in 16 come out dark, nothing is stretched.  Floats are taken from [0, 1] or,
    when one exceeds 1, from [0, 255].  An EXIF or TIFF orientation is applied: what a viewer shows is
    what is read.

    Parameters
    ----------
    path : path of the picture
    mode : "L" or "RGB"

    Returns
    -------
    picture : uint8 or float32 array from 0 to 255
        The grey levels (height, width); with "RGB", if the file has colours, (height, width, 3).

    Raises
    ------
    UnreadableImage
        If the file is missing, no regular file, no picture of the five formats, cut short, damaged,
        of more than one frame, too large (`MAX_PIXELS`, `MAX_DEEP_PIXELS`) or of an unknown kind of pixel.
    """
    _require_regular_file(path)
    try:
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's remarks on metadata; its limit is above ours
            return _decode(path, file, mode)
    except UnreadableImage:
        raise
    except MemoryError as error:
        raise _unreadable(path, "not enough memory to read it") from error
    except OSError as error:
        raise _unreadable(path, error.strerror or f"damaged or cut short ({_one_line(error)})") from error
    except Exception as error:  # decoders of hostile files raise anything: KeyError, struct.error, ...
        raise _unreadable(path, f"damaged or cut short ({_one_line(error)})") from error


def _require_regular_file(path):
    """Look before opening: opening a FIFO hangs."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        is_link = os.path.islink(path)
        raise _unreadable(path, "a link to nothing" if is_link else "no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise _unreadable(path, getattr(error, "strerror", None) or _one_line(error)) from error
    if stat.S_ISDIR(mode):
        raise _unreadable(path, "a folder, not a picture")
    if not stat.S_ISREG(mode):
        raise _unreadable(path, "not a regular file")
    if os.stat(path).st_size == 0:
        raise _unreadable(path, "the file is empty")


def _decode(path, file, mode):
    """`decoded_image` for an open file."""
    from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError

    ImageFile.LOAD_TRUNCATED_IMAGES = False  # another library may have turned it on
    _refuse(path, fault_of_png(file))
    try:
        picture = Image.open(file, formats=_FORMATS)
    except Image.DecompressionBombError:
        raise _too_large(path) from None
    except UnidentifiedImageError:
        return _decode_rare_tiff(path, file, mode)
    with picture:
        _require_size(path, *picture.size, MAX_PIXELS if picture.mode in _EIGHT_BIT else MAX_DEEP_PIXELS)
        if getattr(picture, "is_animated", False):
            raise _several_frames(path)
        _check_tiff(path, picture)
        _refuse(path, fault_of_jpeg(file, picture.width * picture.height))
        inverted = _stores_white_as_zero(picture)
        picture.load()
        picture = ImageOps.exif_transpose(picture)
        return _pixels(path, picture, mode, inverted=inverted)


def _decode_rare_tiff(path, file, mode):
    """`_decode` for what Pillow does not know: a TIFF of unusual numbers, or no picture at all."""
    import tifffile

    logging.getLogger("tifffile").setLevel(logging.CRITICAL)  # one line for a bad file: ours
    file.seek(0)
    if file.read(4) not in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
        raise _unreadable(path, f"not a picture of the formats {', '.join(_FORMATS)}")
    file.seek(0)
    with tifffile.TiffFile(file) as tiff:
        if not tiff.pages:
            raise _unreadable(path, "damaged or cut short (a TIFF without a page)")
        if len(tiff.pages) > 1:
            raise _several_frames(path)
        page = tiff.pages[0]
        is_number = page.dtype is not None and page.dtype.kind in "uf"
        is_colour = page.shape[2:] == (3,) and page.photometric == tifffile.PHOTOMETRIC.RGB
        is_upright = page.tags.valueof("Orientation", 1) == 1
        # What a compressed strip swells to is not known before it is decoded.
        is_stored_plainly = page.compression == tifffile.COMPRESSION.NONE
        if not (is_number and is_upright and is_stored_plainly and (is_colour or page.axes == "YX")):
            raise _unknown_pixels(path, f"{page.dtype} in a TIFF with axes {page.axes}")
        _require_size(path, page.imagewidth, page.imagelength, MAX_DEEP_PIXELS * 4 // page.dtype.itemsize)
        pixels = page.asarray()
        if is_colour and mode == "L":
            pixels = pixels @ np.array([0.299, 0.587, 0.114], np.float32)  # Rec. 601
        inverted = page.photometric == tifffile.PHOTOMETRIC.MINISWHITE
    return _to_eight_bit_range(path, pixels, page.dtype, inverted=inverted)


def _pixels(path, picture, mode, *, inverted):
    """Switch on the kind of pixel, explicitly: readers differ in what they make of each."""
    from PIL import Image

    if picture.mode in _EIGHT_BIT or picture.mode == "CMYK":
        if picture.mode in ("P", "PA", "LA") or "transparency" in picture.info:
            picture = picture.convert("RGBA")
        flat = picture.convert(mode)
        if picture.mode == "RGBA":
            colours, flat = flat, Image.new(mode, picture.size, "white")
            flat.paste(colours, mask=picture.getchannel("A"))
        return np.asarray(flat)
    if picture.mode not in _SIXTEEN_BIT and picture.mode != "F":
        raise _unknown_pixels(path, f"Pillow's mode {picture.mode}")
    dtype = np.float32 if picture.mode == "F" else np.uint16
    return _to_eight_bit_range(path, np.asarray(picture), dtype, inverted=inverted)


def _to_eight_bit_range(path, pixels, dtype, *, inverted):
    """Numbers of another range as float32 from 0 to 255; `dtype` is that of the file."""
    lowest, highest = float(pixels.min()), float(pixels.max())
    if not np.isfinite([lowest, highest]).all():
        raise _unreadable(path, "it holds NaN or infinite grey levels")
    full = float(np.iinfo(dtype).max) if np.dtype(dtype).kind == "u" else (1.0 if highest <= 1 else WHITE)
    if lowest < 0 or highest > full:
        raise _unreadable(
            path,
            f"its grey levels run from {lowest:g} to {highest:g}, outside 0 to {full:g}",
            fix="save it with 8 or 16 bits per channel",
        )
    grey = pixels.astype(np.float32) * np.float32(WHITE / full)
    return np.float32(WHITE) - grey if inverted else grey


def _refuse(path, fault):
    if fault:
        raise _unreadable(path, fault)


def _check_tiff(path, picture):
    """Pillow takes signed bytes for unsigned ones, and makes room for a tile of any size."""
    tags = picture.tag_v2 if picture.format == "TIFF" else {}
    tile = [tags.get(tag, 1) for tag in _TILE]
    if tile[0] * tile[1] > MAX_PIXELS:
        raise _too_large(path, f" (tiles of {tile[0]} x {tile[1]} pixels)")
    if _SIGNED in np.atleast_1d(tags.get(_SAMPLE_FORMAT, 1)) and picture.mode in _EIGHT_BIT:
        raise _unknown_pixels(path, "signed numbers of 8 bits")


def _stores_white_as_zero(picture):
    """Pillow inverts 8-bit TIFFs that store white as 0, but not those of more bits."""
    tag, value = _WHITE_IS_ZERO
    return picture.format == "TIFF" and picture.tag_v2.get(tag) == value


def _require_size(path, width, height, largest):
    if width < 1 or height < 1:
        raise _unreadable(path, "it has no pixels")
    if width * height > largest:
        raise _too_large(path, f" ({width} x {height} pixels)", largest)
    if max(width, height) > MAX_SIDE:
        raise _unreadable(path, f"it has a side of {max(width, height):,} pixels, more than {MAX_SIDE:,}")


def _too_large(path, size="", largest=MAX_PIXELS):
    return _unreadable(
        path,
        f"too large{size}: at most {largest // 1_000_000} million pixels of this kind",
        fix="crop it to the embryo, or scale it down",
    )


def _several_frames(path):
    return _unreadable(path, "it holds several frames or pages", fix="save the one that shows the embryo")


def _unknown_pixels(path, kind):
    return _unreadable(
        path, f"unknown kind of pixel ({kind})", fix="save it as grey or RGB with 8 bits per channel"
    )


def _unreadable(path, reason, *, fix=None):
    """The error, made here and not in a constructor, so that it survives pickling between workers."""
    name = os.fspath(path)
    shown = name if isinstance(name, str) and name.isprintable() else repr(name)
    error = UnreadableImage(f"cannot read the picture {shown}: {reason}", fix=fix)
    error.reason = reason
    return error


def _one_line(error):
    return " ".join(str(error).split()) or type(error).__name__
