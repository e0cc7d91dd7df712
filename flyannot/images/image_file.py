"""The one door for pictures: what a file holds, at its own size, with nothing guessed, or a line why not.

Every picture of a user is opened here, and nowhere else (a test looks).  Pillow decodes PNG, BMP, JPEG, GIF
and TIFF, and tifffile the TIFFs that Pillow refuses (64-bit float, 16-bit RGB).  TIFFs of several pages, and
what microscopes write, go on to `microscope_file`.  OpenCV never opens a file: it returns half a JPEG without
a word.  The content of a file decides its format, never its suffix.  Nothing but these formats is tried.
"""

import os
import re
import warnings
from functools import cache

import numpy as np

from flyannot.base.errors import FlyannotError
from flyannot.files.text_files import open_regular
from flyannot.images.grey_levels import to_eight_bit_range, white_of
from flyannot.images.microscope_file import microscope_format, read_plane
from flyannot.images.unreadable import (
    MAX_DEEP_PIXELS,
    MAX_PIXELS,
    fault_of_jpeg,
    fault_of_png,
    fault_of_tiff,
    require_image_size,
    too_large_image,
    unknown_kind_of_pixel,
    unreadable_image,
)

_FORMATS = ("PNG", "BMP", "JPEG", "GIF", "TIFF")
_PHOTOMETRIC, _WHITE_IS_ZERO, _DESCRIPTION = 262, 0, 270  # TIFF tags, and a value of the first
_TILE, _SAMPLE_FORMAT, _SIGNED = (322, 323), 339, 2  # TIFF tags TileWidth, TileLength, SampleFormat; a value
_MAX_SAMPLE = (281, 341)  # TIFF tags MaxSampleValue, SMaxSampleValue
_EIGHT_BIT = {"1", "L", "P", "PA", "LA", "RGB", "RGBA"}
_SIXTEEN_BIT = {"I;16", "I;16L", "I;16B", "I;16N", "I"}


def decode_image(path, mode, planes=()):
    """What a picture file holds at its own size, checked.

    Colour becomes Rec. 601 luma, exactly Pillow's "L" (rounded to 8 bits, as is RGB of 16 bits).
    Transparency is laid on white.  The white of 16-bit grey is that of the 8, 12, 14 or 16 bits that the file
    says are used, or that its numbers take.  Floats are taken from [0, 1] or, when one exceeds 1, from
    [0, 255].  An EXIF or TIFF orientation is applied: what a viewer shows is what is read.

    Parameters
    ----------
    path : path of the picture
    mode : "L" or "RGB"
    planes : texts such as "z=5": what is meant of a file that holds several pictures

    Returns
    -------
    picture : uint8 or float32 array from 0 to 255
        The grey levels (height, width); with "RGB", if the file has colours, (height, width, 3).

    Raises
    ------
    UnreadableImage
        If the file is missing, no regular file, no picture of these formats, cut short, damaged, an
        animation, too large (`MAX_PIXELS`, `MAX_DEEP_PIXELS`) or of an unknown kind of pixel; if it holds
        several pictures and `planes` do not say which is meant.
    InputError
        If a package that reads it is missing.
    """
    try:
        _silence_pillow()
        with open_regular(path) as file:
            if not os.fstat(file.fileno()).st_size:
                raise unreadable_image(path, "the file is empty")
            return _decode(path, file, mode, planes)
    except FlyannotError:
        raise
    except FileNotFoundError:
        is_link = os.path.islink(path)
        raise unreadable_image(path, "a link to nothing" if is_link else "no such file") from None
    except IsADirectoryError:
        raise unreadable_image(path, "a folder, not a picture") from None
    except MemoryError as error:
        raise unreadable_image(path, "not enough memory to read it") from error
    except OSError as error:
        raise unreadable_image(path, error.strerror or _damaged(error)) from error
    except Exception as error:  # decoders of hostile files raise anything: KeyError, struct.error, ...
        raise unreadable_image(path, _damaged(error)) from error


@cache
def _silence_pillow():
    """Ignore its remarks on metadata, and its limit, which is above ours: for good, since threads decode."""
    warnings.filterwarnings("ignore", module=r"PIL\.")


def _damaged(error):
    return f"damaged or cut short ({' '.join(str(error).split()) or type(error).__name__})"


def _decode(path, file, mode, planes):
    """`decode_image` for an open file."""
    from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError

    ImageFile.LOAD_TRUNCATED_IMAGES = False  # another library may have turned it on
    _refuse(path, fault_of_png(file) or fault_of_tiff(file))
    kind = microscope_format(file)
    if kind in ("czi", "lif"):
        return read_plane(path, file, planes, mode)
    try:
        picture = Image.open(file, formats=_FORMATS)
    except Image.DecompressionBombError:
        raise too_large_image(path) from None
    except UnidentifiedImageError:
        if kind != "tiff":
            raise unreadable_image(path, f"not a picture of the formats {', '.join(_FORMATS)}") from None
        return read_plane(path, file, planes, mode)
    with picture:
        is_animated = getattr(picture, "is_animated", False)
        tags = picture.tag_v2 if picture.format == "TIFF" else {}
        if tags and (is_animated or "<OME" in str(tags.get(_DESCRIPTION, ""))):
            return read_plane(path, file, planes, mode)
        require_image_size(path, *picture.size, MAX_PIXELS if picture.mode in _EIGHT_BIT else MAX_DEEP_PIXELS)
        if is_animated:
            fix = "save the one that shows the embryo"
            raise unreadable_image(path, "it holds several frames or pages", fix=fix)
        _check_tags(path, picture, tags)
        _refuse(path, fault_of_jpeg(file, picture.width * picture.height))
        # Pillow inverts 8-bit TIFFs that store white as 0, but not those of more bits.
        inverted = tags.get(_PHOTOMETRIC) == _WHITE_IS_ZERO
        picture.load()
        return _pixels(
            path, ImageOps.exif_transpose(picture), mode, inverted=inverted, largest=_largest(tags)
        )


def _refuse(path, fault):
    if fault:
        raise unreadable_image(path, fault)


def _check_tags(path, picture, tags):
    """Of a TIFF Pillow takes signed bytes for unsigned ones, and makes room for a tile of any size."""
    tile = [tags.get(tag, 1) for tag in _TILE]
    if tile[0] * tile[1] > MAX_PIXELS:
        raise too_large_image(path, f" (tiles of {tile[0]} x {tile[1]} pixels)")
    if _SIGNED in np.atleast_1d(tags.get(_SAMPLE_FORMAT, 1)) and picture.mode in _EIGHT_BIT:
        raise unknown_kind_of_pixel(path, "signed numbers of 8 bits")


def _largest(tags):
    """The largest number that a TIFF says it has, as a sample or, in ImageJ's words, as white; 0 if none."""
    shown = re.search(r"^max=(\d+)", str(tags.get(_DESCRIPTION, "")), re.MULTILINE)
    said = [value for tag in _MAX_SAMPLE for value in np.atleast_1d(tags.get(tag, 0))]
    return max([*said, int(shown[1]) if shown else 0])


def _pixels(path, picture, mode, *, inverted, largest):
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
        raise unknown_kind_of_pixel(path, f"Pillow's mode {picture.mode}")
    dtype = np.float32 if picture.mode == "F" else np.uint16
    full = white_of(largest, dtype) if largest and dtype == np.uint16 else None
    return to_eight_bit_range(path, np.asarray(picture), dtype, inverted=inverted, full=full)
