"""Embryo pictures as grey levels of one standard size, or one clear line why not.

Pillow decodes PNG, BMP, JPEG, GIF and TIFF, and tifffile the TIFFs that Pillow refuses (64-bit float,
16-bit RGB).  OpenCV never opens a file: it returns half a JPEG without a word.  The content of a file
decides its format, never its suffix.  Nothing but these five formats is tried.
"""

import logging
import os
import stat
import warnings

import numpy as np

from flyannot.errors import DataError, InputError
from flyannot.stain import stain_as_grey

SIZE_PX = (128, 320)  # FlyExpress's standard (height, width)
MAX_PIXELS = 24_000_000  # read from the header, before anything is decoded
MAX_DEEP_PIXELS = 12_000_000  # of more than 8 bits, or CMYK: they take more memory on the way
WHITE = 255.0
CHANNELS = {"grey": "L", "stain": "RGB"}  # and the mode in which Pillow gives what they are made of

_FORMATS = ("PNG", "BMP", "JPEG", "GIF", "TIFF")
_WHITE_IS_ZERO = (262, 0)  # TIFF tag PhotometricInterpretation and its value
_EIGHT_BIT = {"1", "L", "P", "PA", "LA", "RGB", "RGBA"}
_SIXTEEN_BIT = {"I;16", "I;16L", "I;16B", "I;16N", "I"}

_REDUCING_GAP = 4  # averaging blocks first saves memory; at this ratio the filter hides it

_LEAST_RANGE = 10.0  # grey levels between the 1st and 99th percentile of a picture worth coding
_BORDER_TOLERANCE = 20.0  # grey levels around the background's
_BORDER_FRACTION = 0.25  # of the border may leave the background: embryos touch it (real ones to 0.15)


class UnreadableImage(DataError):
    """One picture cannot be used; `reason` says why without naming the file."""

    reason = ""


def read_grey(path, *, size_px=SIZE_PX, channel="grey"):
    """The grey levels of one picture or of the stain in it, at the standard size.

    Colour becomes Rec. 601 luma, exactly Pillow's "L" (rounded to 8 bits, as is RGB of 16 bits).
    Transparency is laid on white.  16-bit grey is divided by 257, so that full range stays full
    range: 12 bits stored in 16 come out dark, nothing is stretched.  Floats are taken from [0, 1] or,
    when one exceeds 1, from [0, 255].  An EXIF or TIFF orientation is applied: what a viewer shows is
    what is read.  Other sizes are scaled to fit inside with antialiasing (Pillow's triangle filter; much
    larger ones by block means first), proportions kept, centred, padded with their border's median.

    Parameters
    ----------
    path : path of the picture
    size_px : (height, width) of the result, in pixels
    channel : "grey", or "stain" for `flyannot.stain.stain_as_grey` of the scaled colours; a picture without
        any colour gives its grey levels either way

    Returns
    -------
    grey : float32 array (height, width), from 0 (black) to 255 (white), all finite

    Raises
    ------
    InputError
        If there is no such channel.
    UnreadableImage
        If the file is missing, no regular file, no picture of the five formats, cut short, damaged,
        of more than one frame, too large (`MAX_PIXELS`, `MAX_DEEP_PIXELS`) or of an unknown kind of pixel.
    """
    if channel not in CHANNELS:
        raise InputError(f"no channel {channel!r}", fix=f"choose from {', '.join(CHANNELS)}")
    _require_regular_file(path)
    try:
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's remarks on metadata; its limit is above ours
            bands = [_fit(band, size_px) for band in _decode(path, file, CHANNELS[channel])]
            return bands[0] if len(bands) == 1 else stain_as_grey(np.stack(bands, axis=2))
    except UnreadableImage:
        raise
    except MemoryError as error:
        raise _unreadable(path, "not enough memory to read it") from error
    except OSError as error:
        raise _unreadable(path, error.strerror or f"damaged or cut short ({_one_line(error)})") from error
    except Exception as error:  # decoders of hostile files raise anything: KeyError, struct.error, ...
        raise _unreadable(path, f"damaged or cut short ({_one_line(error)})") from error


def quality_flags(grey):
    """What makes a picture doubtful, as far as grey levels can tell; most embryos get none.

    Parameters
    ----------
    grey : float array (height, width), as `read_grey` returns

    Returns
    -------
    flags : tuple of str
        "blank" (one white), "uniform" (one other grey level), "low contrast" (1st and 99th percentile
        within 10 grey levels), "no plain background" (more than a quarter of the border is over 20
        grey levels from the border's median: noise, a photograph, several embryos).
    """
    if np.ptp(grey) == 0:
        return ("blank",) if grey[0, 0] >= WHITE - 1 else ("uniform",)
    flags = []
    low, high = np.percentile(grey, (1, 99))
    if high - low < _LEAST_RANGE:
        flags.append("low contrast")
    border = _border(grey)
    if (np.abs(border - np.median(border)) > _BORDER_TOLERANCE).mean() > _BORDER_FRACTION:
        flags.append("no plain background")
    return tuple(flags)


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
    """What an open file holds at its own size, as "L" or "F" pictures of Pillow.

    One picture of the grey levels; with the mode "RGB" three, of red, green and blue, if it has colours.
    """
    from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError

    ImageFile.LOAD_TRUNCATED_IMAGES = False  # another library may have turned it on
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
        inverted = _stores_white_as_zero(picture)
        picture.load()
        picture = ImageOps.exif_transpose(picture)
        return _bands(path, picture, mode, inverted=inverted)


def _decode_rare_tiff(path, file, mode):
    """`_decode` for what Pillow does not know: a TIFF of unusual numbers, or no picture at all."""
    import tifffile
    from PIL import Image

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
    levels = np.atleast_3d(_to_eight_bit_range(path, pixels, page.dtype, inverted=inverted))
    return [Image.fromarray(band) for band in np.moveaxis(levels, 2, 0)]


def _bands(path, picture, mode, *, inverted):
    """Switch on the kind of pixel, explicitly: readers differ in what they make of each."""
    from PIL import Image

    if picture.mode in _EIGHT_BIT or picture.mode == "CMYK":
        if picture.mode in ("P", "PA", "LA") or "transparency" in picture.info:
            picture = picture.convert("RGBA")
        flat = picture.convert(mode)
        if picture.mode == "RGBA":
            colours, flat = flat, Image.new(mode, picture.size, "white")
            flat.paste(colours, mask=picture.getchannel("A"))
        return [flat] if mode == "L" else flat.split()
    if picture.mode not in _SIXTEEN_BIT and picture.mode != "F":
        raise _unknown_pixels(path, f"Pillow's mode {picture.mode}")
    dtype = np.float32 if picture.mode == "F" else np.uint16
    return [Image.fromarray(_to_eight_bit_range(path, np.asarray(picture), dtype, inverted=inverted))]


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


def _fit(picture, size_px):
    """Scale to fit inside `size_px`, proportions kept; centre; pad with the median of the border."""
    from PIL import Image

    height, width = size_px
    scale = min(height / picture.height, width / picture.width)
    inner = _centred(picture.width * scale, width), _centred(picture.height * scale, height)
    if inner != picture.size:
        factor = max(1, int(1 / (_REDUCING_GAP * scale)))
        box = 0, 0, picture.width / factor, picture.height / factor  # the last block may be partial
        reduced = picture.reduce(factor) if factor > 1 else picture
        picture = reduced.convert("F").resize(inner, Image.Resampling.BILINEAR, box)
    grey = np.asarray(picture, np.float32)
    if grey.shape == tuple(size_px):
        return np.clip(grey, 0, WHITE)
    fitted = np.full(size_px, np.median(_border(grey)), np.float32)
    top, left = (height - inner[1]) // 2, (width - inner[0]) // 2
    fitted[top : top + inner[1], left : left + inner[0]] = grey
    return np.clip(fitted, 0, WHITE)


def _centred(length, outer):
    """The integer nearest to `length` that leaves equal margins in `outer`: mirror images stay so."""
    return max(2 - outer % 2, outer - 2 * round((outer - length) / 2))


def _border(grey):
    return np.concatenate([grey[0], grey[-1], grey[1:-1, 0], grey[1:-1, -1]])


def _stores_white_as_zero(picture):
    """Pillow inverts 8-bit TIFFs that store white as 0, but not those of more bits."""
    tag, value = _WHITE_IS_ZERO
    return picture.format == "TIFF" and picture.tag_v2.get(tag) == value


def _require_size(path, width, height, largest):
    if width < 1 or height < 1:
        raise _unreadable(path, "it has no pixels")
    if width * height > largest:
        raise _too_large(path, f" ({width} x {height} pixels)", largest)


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
