"""Checks whether the compressed pixels of a JPEG are complete.

libjpeg fills in missing pixels at the end, and reports this in a warning that no Python library passes on.
"""

import io
import math
import re
import struct
import zlib

import numpy as np

from flyannot.images.unreadable import unknown_pixel_type_error, unreadable_image_error

JPEG_SIGNATURE = b"\xff\xd8\xff"
END_OF_JPEG = b"\xff\xd9"
MAX_SCAN_PIXELS = 240_000_000  # pixels times scans of a JPEG
USUAL_SCANS = 12  # a progressive JPEG has about ten scans
_MARKER = re.compile(rb"\xff[^\x00\x01\xd0-\xd7\xff]")  # others stand alone, or are pixels or padding
_RESTART = re.compile(rb"\xff[\xd0-\xd7]")
_BY_BLOCKS = 0xC0, 0xC1  # markers of a picture of which each scan has whole blocks
_LOSSLESS = 0xC3
_FRAMES = *_BY_BLOCKS, 0xC2, _LOSSLESS  # markers of a picture with Huffman codes
SCAN = 0xDA
_INTERVAL = 0xDD  # of restarts
_ENDS = 0xD8, 0xD9  # the start of another picture, and the end
_BLOCK_PX = 8
_MOST_PX = 65_500  # on a side
_FILLER = b"\xb5\x4a\xd2\x69" * 16  # any bits, where libjpeg takes 0
_STRIP_ROWS = 256
_TAIL_BYTES = 16  # of which a part must matter, in the last scan of a picture


def find_markers(content):
    """Yield (marker, index) of each marker of a JPEG, to its end or to the start of another picture.

    Markers within segments and compressed pixels do not count.

    content : bytes of the JPEG
    """
    place = 2
    while found := _MARKER.search(content, place):
        start = found.start()
        marker = content[start + 1]
        yield marker, start
        if marker in _ENDS:
            return
        place = start + 2 + int.from_bytes(content[start + 2 : start + 4], "big")


def end_jpeg(content, markers):
    """Return the bytes of a JPEG that end with the end marker, without any bytes that follow the picture.

    content : bytes of the JPEG; markers : list of (marker, index) from `find_markers`
    """
    has_end = markers and markers[-1][0] in _ENDS
    return content[: markers[-1][1] if has_end else None] + END_OF_JPEG


def require_few_scans(path, markers, n_pixels):
    """Raise UnusableImage if a JPEG has so many scans that it would take seconds to decode.

    path : path for the message; markers : list from `find_markers`; n_pixels : int, pixels of the picture
    """
    n_scans = sum(marker == SCAN for marker, _ in markers)
    if n_scans > max(USUAL_SCANS, MAX_SCAN_PIXELS // n_pixels):
        raise unreadable_image_error(path, f"{n_scans} scans, which take too long to decode")


def require_whole_jpeg(path, content, markers):
    """Raise UnusableImage unless the compressed pixels of a JPEG are complete and nothing follows them.

    A JPEG with one scan is decoded again, at an eighth of its size, as if it were two rows of blocks higher.
    If its pixels are complete, they end in the first added block, and the other added blocks are grey.
    Without the last byte, all added blocks are grey.  If the JPEG has restarts, only the part after the last
    one is checked.  Other JPEGs are decoded with bits added at the end, and with bits removed.

    Parameters
    ----------
    path : path of the file, for messages
    content : bytes of the JPEG
    markers : list of (marker, index) from `find_markers`
    """
    frames = [(marker, place) for marker, place in markers if marker in _FRAMES]
    if not frames:  # arithmetic codes do not show where they end
        raise unknown_pixel_type_error(path, "a JPEG with arithmetic codes")
    if not _is_whole_jpeg(content, *frames[0], markers):
        fault = "the pixels of the JPEG end too early, or other bytes follow them"
        raise unreadable_image_error(path, f"damaged or cut short ({fault})")


def _is_whole_jpeg(content, kind, frame, markers):
    """Return True if the compressed pixels of a JPEG are complete, and no other bytes follow them.

    Parameters
    ----------
    content : bytes of the JPEG
    kind, frame : marker and index of the segment that contains the size of the picture
    markers : list of (marker, index) from `find_markers`
    """
    scans = [place for marker, place in markers if marker == SCAN]
    n_parts = content[frame + 9]
    missing_bits = np.full((256, 64), 1)  # by part and coefficient
    for place in scans:
        about = content[place + 5 : place + 8 + 2 * content[place + 4]]  # parts, range of coefficients, bits
        missing_bits[list(about[:-3:2]), about[-3] : about[-2] + 1] = about[-1] & 15
    if kind != _LOSSLESS and missing_bits[list(content[frame + 10 : frame + 10 + 3 * n_parts : 3])].any():
        return False
    pixels = end_jpeg(content, markers).removesuffix(END_OF_JPEG).rstrip(b"\xff")
    if len(scans) == 1 and kind in _BY_BLOCKS:
        sampling = content[frame + 11 : frame + 11 + 3 * n_parts : 3] if n_parts > 1 else b"\x11"
        unit = max(size & 15 for size in sampling), max(size >> 4 for size in sampling)  # blocks of one step
        sides = (int.from_bytes(content[frame + k : frame + k + 2], "big") for k in (5, 7))
        shape = [-(-side // (_BLOCK_PX * n)) for side, n in zip(sides, unit)]
        coded = pixels
        at = {marker: place for marker, place in markers if place < scans[0]}.get(_INTERVAL, 0)
        if at and (interval := int.from_bytes(content[at + 4 : at + 6], "big")):
            start = scans[0] + 2 + int.from_bytes(content[scans[0] + 2 : scans[0] + 4], "big")
            n_restarts = -(-math.prod(shape) // interval) - 1
            *before, last = _RESTART.split(pixels[start:])
            if len(before) != n_restarts:
                return False
            n_units = math.prod(shape) - n_restarts * interval
            if n_units < _MOST_PX // (_BLOCK_PX * unit[1]):  # the last part, as a picture of its own
                shape = [1, n_units]
                coded = content[: at + 4] + bytes(2) + content[at + 6 : start] + last
        is_grey = _find_grey_blocks(coded, frame, unit, shape)
        if not is_grey[1:].all() or not _find_grey_blocks(coded[:-1], frame, unit, shape).all():
            return False
        if not is_grey[0]:
            return True
    shown = _checksums(pixels)
    behind = _FILLER if kind == _LOSSLESS else b""  # white may end in zeros, as the decoder fills in
    is_short = len(pixels) < scans[-1] + 2 * _TAIL_BYTES
    is_needed = is_short or _checksums(pixels[:-_TAIL_BYTES] + behind) != shown
    return is_needed and _checksums(pixels + _FILLER) == shown


def _find_grey_blocks(coded, frame, unit, shape):
    """Return which blocks are grey if a JPEG with one scan is decoded as if it were two rows of units higher.

    Blocks of 8 x 8 pixels are compressed in units, such as 2 x 2 blocks.

    Parameters
    ----------
    coded : bytes of the JPEG without the end marker
    frame : index of the segment that contains the size of the picture
    unit : (rows, columns) of blocks in a unit
    shape : (rows, columns) of units in the JPEG

    Returns
    -------
    is_grey : flat bool array
        First whether the first added unit is grey.  Then whether each added block is grey, with True for the
        blocks of the first unit.
    """
    size = struct.pack(">HH", (shape[0] + 2) * _BLOCK_PX * unit[0], shape[1] * _BLOCK_PX * unit[1])
    with open_jpeg(coded[: frame + 5] + size + coded[frame + 9 :] + END_OF_JPEG) as picture:
        picture.draft("L", (1, 1))
        is_grey = np.abs(2 * np.asarray(picture)[-2 * unit[0] :].astype(int) - 255) <= 1
    first = is_grey[: unit[0], : unit[1]].all()
    is_grey[: unit[0], : unit[1]] = True
    return np.append(first, is_grey)


def _checksums(pixels):
    """Decode a JPEG and return a checksum (int) of each strip of its pixels; None if it cannot be decoded.

    Only one decoded picture is in memory at a time.

    pixels : bytes of the JPEG without the end marker
    """
    try:
        with open_jpeg(pixels + END_OF_JPEG) as picture:
            picture.load()
            tops = range(0, picture.height, _STRIP_ROWS)
            strips = (picture.crop((0, top, picture.width, top + _STRIP_ROWS)) for top in tops)
            return [zlib.crc32(strip.tobytes()) for strip in strips]
    except OSError:
        return None


def open_jpeg(content):
    """Open a JPEG, given as bytes, as a picture of Pillow."""
    from PIL import Image

    return Image.open(io.BytesIO(content), formats=("JPEG",))
