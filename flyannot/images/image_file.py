"""Decoding of picture files: the only place where the pictures of a user are opened (a test checks it).

Pillow decodes PNG, BMP, JPEG, GIF and TIFF.  TIFFs that Pillow refuses (64-bit float, 16-bit RGB), TIFFs of
several pages and microscopes' formats are read by `microscope_file`.  OpenCV opens no file, because it
returns half a JPEG without an error.  The content of a file decides its format, and its suffix does not.
"""

import os
import re
import warnings
from functools import cache

import numpy as np

from flyannot.base.errors import FlyannotError
from flyannot.files.text_files import open_regular_file
from flyannot.images.grey_levels import guess_white_level, rescale_to_255
from flyannot.images.microscope_file import detect_format, read_plane
from flyannot.images.unreadable import (
    require_few_scans,
    require_image_size,
    require_tile_size,
    require_whole_file,
    too_large_image_error,
    unknown_pixel_type_error,
    unreadable_image_error,
)

_FORMATS = ("PNG", "BMP", "JPEG", "GIF", "TIFF")
# TIFF tags, and two of their values.
_DESCRIPTION = 270
_PHOTOMETRIC = 262
_WHITE_IS_ZERO = 0
_TILE = (322, 323)  # TileWidth, TileLength
_MAX_SAMPLE = (281, 341)  # MaxSampleValue, SMaxSampleValue
_SAMPLE_FORMAT = 339
_SIGNED = 2
_EIGHT_BIT = {"1", "L", "P", "PA", "LA", "RGB", "RGBA"}
_SIXTEEN_BIT = {"I;16", "I;16L", "I;16B", "I;16N", "I"}


def decode_image(path, mode, planes=()):
    """Decode a picture file at its own size, and check it.

    Colour becomes Rec. 601 luma, exactly as by Pillow's mode "L".  Transparent pixels become white.  Of
    16-bit
    RGB the upper 8 bits are kept.  The white of 16-bit grey levels is the largest number of 8, 12, 14 or 16
    bits: as many as the file says, or as its numbers need.  Floats range from 0 to 1 or, if one exceeds 1,
    from
    0 to 255.  An EXIF or TIFF orientation is applied, as by a viewer.

    Parameters
    ----------
    path : path of the picture
    mode : "L" or "RGB"
    planes : sequence of str, such as "z=5", the chosen plane of a file with several pictures

    Returns
    -------
    picture : uint8 or float32 array from 0 to 255
        With "L" the grey levels (height, width).  With "RGB" an array (height, width, 3), or (height, width)
        if the file has grey levels of 16 bits, floats, or grey planes of a microscope.

    Raises
    ------
    UnusableImage
        If the file is missing, not regular, cut short, damaged, an animation, too large (`MAX_PIXELS`,
        `MAX_DEEP_PIXELS`), of another format or of an unknown type of pixel.  Also if it has several
        pictures and `planes` do not choose one.
    InputError
        If a package that reads it is missing.
    """
    try:
        _silence_pillow()
        with open_regular_file(path) as file:
            if not os.fstat(file.fileno()).st_size:
                raise unreadable_image_error(path, "the file is empty")
            return _decode(path, file, mode, planes)
    except FlyannotError:
        raise
    except FileNotFoundError:
        is_link = os.path.islink(path)
        raise unreadable_image_error(path, "a link to nothing" if is_link else "no such file") from None
    except IsADirectoryError:
        raise unreadable_image_error(path, "a folder, not a picture") from None
    except MemoryError as error:
        raise unreadable_image_error(path, "not enough memory to read it") from error
    except OSError as error:
        raise unreadable_image_error(path, error.strerror or _damaged(error)) from error
    except Exception as error:  # decoders raise any error for a hostile file: KeyError, struct.error, ...
        raise unreadable_image_error(path, _damaged(error)) from error


@cache
def _silence_pillow():
    """Ignore Pillow's warnings about metadata and size, for the whole process: threads decode pictures."""
    warnings.filterwarnings("ignore", module=r"PIL\.")


def _damaged(error):
    return f"damaged or cut short ({' '.join(str(error).split()) or type(error).__name__})"


def _decode(path, file, mode, planes):
    """Decode an open file, as `decode_image`."""
    from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError

    ImageFile.LOAD_TRUNCATED_IMAGES = False  # another library may have set it
    require_whole_file(path, file)
    kind = detect_format(file)
    if kind in ("czi", "lif"):
        return read_plane(path, file, planes, mode)
    try:
        picture = Image.open(file, formats=_FORMATS)
    except Image.DecompressionBombError:
        raise too_large_image_error(path) from None
    except UnidentifiedImageError:
        if kind != "tiff":
            raise unreadable_image_error(
                path, f"not a picture of the formats {', '.join(_FORMATS)}"
            ) from None
        return read_plane(path, file, planes, mode)
    with picture:
        is_animated = getattr(picture, "is_animated", False)
        tags = picture.tag_v2 if picture.format == "TIFF" else {}
        if tags and (is_animated or "<OME" in str(tags.get(_DESCRIPTION, ""))):
            return read_plane(path, file, planes, mode)
        is_eight_bit = picture.mode in _EIGHT_BIT
        require_image_size(path, *picture.size, n_bytes=1 if is_eight_bit else 2)
        if is_animated:
            fix = "save the one that shows the embryo"
            raise unreadable_image_error(path, "it contains several frames or pages", fix=fix)
        require_tile_size(path, *(tags.get(tag, 1) for tag in _TILE))  # Pillow allocates tiles of any size
        if is_eight_bit and _SIGNED in np.atleast_1d(tags.get(_SAMPLE_FORMAT, 1)):
            raise unknown_pixel_type_error(path, "signed numbers of 8 bits")  # Pillow reads them as unsigned
        require_few_scans(path, file, picture.width * picture.height)
        # Pillow inverts 8-bit TIFFs that store white as 0, but not those of more bits.
        inverted = tags.get(_PHOTOMETRIC) == _WHITE_IS_ZERO
        picture.load()
        return _pixels(
            path, ImageOps.exif_transpose(picture), mode, inverted=inverted, largest=_largest(tags)
        )


def _largest(tags):
    """Return the largest number that a TIFF says it has, or 0.

    The number is the largest sample or, in ImageJ's description, the number that is shown as white.
    """
    shown = re.search(r"^max=(\d+)", str(tags.get(_DESCRIPTION, "")), re.MULTILINE)
    said = [value for tag in _MAX_SAMPLE for value in np.atleast_1d(tags.get(tag, 0))]
    return max([*said, int(shown[1]) if shown else 0])


def _pixels(path, picture, mode, *, inverted, largest):
    """Convert every known mode of Pillow explicitly: readers interpret each differently."""
    from PIL import Image

    if picture.mode in _EIGHT_BIT or picture.mode == "CMYK":
        if picture.mode in ("P", "PA", "LA") or "transparency" in picture.info:
            picture = picture.convert("RGBA")
        flat = picture.convert(mode)
        if picture.mode == "RGBA":
            paper = Image.new(mode, picture.size, "white")
            paper.paste(flat, mask=picture.getchannel("A"))
            return np.asarray(paper)
        return np.asarray(flat)
    if picture.mode not in _SIXTEEN_BIT and picture.mode != "F":
        raise unknown_pixel_type_error(path, f"Pillow's mode {picture.mode}")
    dtype = np.float32 if picture.mode == "F" else np.uint16
    full = guess_white_level(largest, dtype) if largest and dtype == np.uint16 else None
    return rescale_to_255(path, np.asarray(picture), dtype, inverted=inverted, full=full)
