"""Decoding of picture files: the only place where the pictures of a user are opened (a test checks it).

The content of a file decides its format, and its suffix does not.  One function for each
format yields the scenes of a file. One plane is read as stored, then `normalise` converts its pixels.
"""

import os
import re
import warnings
from contextlib import contextmanager
from functools import cache

from flyannot.base.errors import FlyannotError
from flyannot.files.text_files import WAY_IN
from flyannot.images.address import Axis, choose_plane
from flyannot.images.microscope_file import open_czi, open_lif
from flyannot.images.normalise import normalise
from flyannot.images.pillow_file import open_pillow
from flyannot.images.tiff_file import open_tiff
from flyannot.images.unreadable import (
    TIFF_SIGNATURES,
    require_image_size,
    require_whole_file,
    unknown_pixel_type_error,
    unreadable_image_error,
)


@contextmanager
def explain_decoding_errors(path):
    """Turn every error of reading or decoding a picture within a `with` block into an UnusableImage.

    path : path of the picture, for the message
    """
    try:
        _silence_pillow()
        yield
    except FlyannotError:
        raise
    except FileNotFoundError:
        is_link = os.path.islink(path)
        raise unreadable_image_error(path, "a link to nothing" if is_link else "no such file") from None
    except IsADirectoryError:
        raise unreadable_image_error(path, "a folder, not a picture") from None
    except MemoryError as error:
        raise unreadable_image_error(path, "not enough memory to read it") from error
    except Exception as error:  # decoders raise any error for a hostile file: KeyError, struct.error, ...
        raise _decoding_error(path, error) from error


def decode_plane(path, file, planes=(), usual_planes=()):
    """Decode one plane of an open picture file at its own size, and check it.

    Transparent pixels become white.  White is the largest number of as many bits as the file says, or as its
    numbers need: 8, 10, 12, 14 or 16.  Floats range from 0 to 1 or, if one exceeds 2, from 0 to 255.  An EXIF
    or TIFF orientation is applied, as by a viewer.

    Parameters
    ----------
    path : path of the picture, for messages
    file : the open file
    planes : sequence of str, such as "z=5", the plane that a user chose for this file, which must exist
    usual_planes : sequence of str, the plane for axes on which `planes` choose none.
        It has no effect if the format of the file has no planes, such as PNG.

    Returns
    -------
    picture : uint8 or float32 array from 0 to 255
        The grey levels (height, width), or the colours (height, width, 3) of a file with colours.
        Its type is uint8 if the file has 8 bits, or more than `MAX_FLOAT_PIXELS` pixels.

    Raises
    ------
    UnusableImage
        If the file is an animation, too large (`MAX_PIXELS`, `MAX_UNPACKED_BYTES`), of another format or of
        an unknown type of pixel.  Also if it has several pictures and no plane is chosen, or not the chosen
        plane.
    """
    file.seek(0)
    open_container = _find_container(path, file)
    require_whole_file(path, file)
    with open_container(path, file) as scenes:
        if not scenes:
            raise unreadable_image_error(path, "it contains no picture")
        planes = planes if open_container is open_pillow else (*usual_planes, *planes)
        if not any(scene.axes for scene in scenes):  # pages of several sizes
            planes = [text.replace("page=", "scene=", text.startswith("page=")) for text in planes]
        scene_axis = Axis("scene", len(scenes), tuple(scene.name for scene in scenes))
        is_alike = all(scene.axes == scenes[0].axes for scene in scenes)
        axes = [scene_axis, *(scenes[0].axes if is_alike else ())]
        scene = scenes[choose_plane(path, axes, planes, is_complete=is_alike)["scene"]]
        chosen = choose_plane(path, [scene_axis, *scene.axes], planes)
        require_image_size(path, *scene.size, scene.pixel_bytes)
        plane = scene.read(chosen)
    return normalise(path, plane)


@cache
def _silence_pillow():
    """Ignore Pillow's warnings about metadata and size, for the whole process: threads decode pictures."""
    warnings.filterwarnings("ignore", module=r"PIL\.")


def _decoding_error(path, error):
    """Make the UnusableImage that explains an error of the operating system or of a decoder.

    path : path of the picture, for the message; error : the exception
    """
    words = " ".join(re.sub("<.* at 0x.*>", "", str(error)).split()) or type(error).__name__
    if "unsupported" in words.lower():
        return unknown_pixel_type_error(path, words)
    reason = getattr(error, "strerror", None) or f"damaged or cut short ({words})"
    return unreadable_image_error(path, reason, fix=WAY_IN.get(type(error)))


def _find_container(path, file):
    """Return the function that opens an open file's format, found by the first bytes; the file is rewound.

    Raises
    ------
    UnusableImage
        If the file is empty.
    """
    start = file.read(12)
    file.seek(0)
    if not start:
        raise unreadable_image_error(path, "the file is empty")
    if start.startswith(b"ZISRAWFILE"):
        return open_czi
    if start[:4] == b"\x70\0\0\0" and start[8:9] == b"\x2a":
        return open_lif
    return open_tiff if start[:4] in TIFF_SIGNATURES else open_pillow
