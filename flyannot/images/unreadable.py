"""Errors for pictures that cannot be used, limits of their size, and checks before decoding.

Pillow does not check the checksums of the pixels of a PNG, so that a flipped bit gives a wrong picture.  It
also decodes everything that a header asks for, such as a tile larger than the picture.  (Its `verify`
checks the pixels of a PNG but not its end, and takes seconds for a million small chunks.)
"""

import os
import struct
import zlib

from flyannot.base.errors import DataError
from flyannot.base.text import escape_unprintable
from flyannot.files.text_files import memory_limit

MAX_PIXELS = 50_000_000  # checked in the header, before anything is decoded
MAX_UNPACKED_BYTES = 400_000_000  # of a plane as it is stored; 50 million pixels of CMYK with 16 bits
_COPIES = 2  # of a plane that are in memory while it is decoded
_MAX_TILE_PIXELS = 24_000_000  # a tile may be larger than its picture
MAX_SIDE = 65_535  # decoders need some bytes for every row
MAX_CHUNKS = 100_000  # chunks of a PNG, besides the chunks of its pixels
MAX_PAGES = 100_000  # pages of a TIFF

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# For each signature the formats of a place in the file and of a number of entries, and the bytes of an entry.
TIFF_SIGNATURES = {
    b"II*\0": ("<I", "<H", 12),
    b"MM\0*": (">I", ">H", 12),
    b"II+\0": ("<Q", "<Q", 20),
    b"MM\0+": (">Q", ">Q", 20),
}
_BLOCK = 2**20  # bytes that are read at once
_NO_END = "damaged or cut short (a PNG without an end)"
_NO_TAG = "damaged or cut short (what a tag of the TIFF says is missing)"
# Tags that change what the pixels mean: BitsPerSample, ImageDescription, MinSampleValue, MaxSampleValue,
# ColorMap, ExtraSamples, SampleFormat, SMinSampleValue, SMaxSampleValue.  Decoders go on without them.
_TAGS_OF_PIXELS = {258, 270, 280, 281, 320, 338, 339, 340, 341}
_TYPE_BYTES = {3: 2, 4: 4, 5: 8, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}  # others have 1
NO_PAGE = "damaged or cut short (a page of the TIFF is missing)"


class UnusableImage(DataError):
    """An error for a picture that cannot be used; its `reason` does not name the file."""

    reason = ""


def unreadable_image_error(path, reason, *, fix=None):
    """Make an UnusableImage from the path of a picture, the reason and the remedy (`fix`, or None).

    The constructor takes only the message, so that the error can be pickled between workers.
    """
    error = UnusableImage(f"cannot read the picture {printable_path(path)}: {reason}", fix=fix)
    error.reason = reason
    return error


def too_large_image_error(path, size="", most=MAX_PIXELS):
    """Return the UnusableImage for a picture of too many pixels.

    size : str, the size in words; most : int, the largest number of pixels that is allowed
    """
    what = f"too large{size}: at most {most // 1_000_000} million pixels of this type"
    return unreadable_image_error(path, what, fix="crop it to the embryo, or scale it down")


def unknown_pixel_type_error(path, kind):
    """Make the UnusableImage for a picture with a type of pixel that is not known; kind : str, the type."""
    fix = "save it as grey or RGB with 8 bits per channel, without a sign"
    return unreadable_image_error(path, f"unknown kind of pixel ({kind})", fix=fix)


def printable_path(path):
    """Return a path as text for a message."""
    return escape_unprintable(os.fsdecode(path), keep="")


def require_image_size(path, width, height, pixel_bytes=1):
    """Raise an UnusableImage unless a picture has at least one pixel, and not too many.

    A small file may not unpack to as many pixels as a large one, by `memory_limit`.

    pixel_bytes : int, bytes of an unpacked pixel
    """
    if width < 1 or height < 1:
        raise unreadable_image_error(path, "it has no pixels")
    pixel_bytes = max(1, pixel_bytes)
    most_here = memory_limit(path) // (_COPIES * pixel_bytes)
    most = min(MAX_PIXELS, MAX_UNPACKED_BYTES // pixel_bytes, most_here)
    if width * height > most:
        raise too_large_image_error(path, f" ({width} x {height} pixels)", most)
    longest = max(width, height)
    if longest > MAX_SIDE:
        raise unreadable_image_error(path, f"it has a side of {longest:,} pixels, more than {MAX_SIDE:,}")


def require_tile_size(path, width, height):
    """Raise UnusableImage if the tiles of a TIFF, of a width and height in pixels, are too large."""
    if width * height > _MAX_TILE_PIXELS:
        raise too_large_image_error(path, f" (tiles of {width} x {height} pixels)", _MAX_TILE_PIXELS)


def require_whole_file(path, file):
    """Raise UnusableImage if the structure of an open PNG or TIFF is damaged; the file is rewound.

    Every chunk of a PNG has a length, a type, content, and a CRC-32 of type and content.  Every page of a
    TIFF has a directory of entries, which ends with the offset of the next directory.  If a page is
    missing, decoders return the others without an error.
    """
    start = file.read(len(PNG_SIGNATURE))
    fault = ""
    if start == PNG_SIGNATURE:
        fault = _find_png_fault(file)
    elif start[:4] in TIFF_SIGNATURES:
        fault = _find_tiff_fault(file, *TIFF_SIGNATURES[start[:4]])
    if fault:
        raise unreadable_image_error(path, fault)
    file.seek(0)


def _find_png_fault(file):
    """Return in words what is wrong with the chunks of an open PNG, or "" if nothing is."""
    n_others = 0
    while True:
        head = file.read(8)
        if len(head) < 8:
            return _NO_END
        length, kind = struct.unpack(">I4s", head)
        crc = zlib.crc32(kind)
        left = length
        while left:
            block = file.read(min(left, _BLOCK))
            if not block:
                return _NO_END
            crc = zlib.crc32(block, crc)
            left -= len(block)
        if file.read(4) != struct.pack(">I", crc):
            return "damaged or cut short (a checksum of the PNG is wrong)"
        n_others += kind != b"IDAT"
        if n_others > MAX_CHUNKS:
            return f"a PNG of more than {MAX_CHUNKS:,} chunks"
        if kind == b"IEND":
            return ""


def _find_tiff_fault(file, place_format, count_format, entry_bytes):
    """Return in words what is wrong with the directories of pages of an open TIFF, or "" if nothing is.

    place_format, count_format : str, formats of offsets and counts for `struct`
    entry_bytes : int, bytes of an entry of a directory
    """
    seen = set()
    end = file.seek(0, 2)
    file.seek(struct.calcsize(place_format))  # the header has as many bytes
    while place := _next_number(file, place_format):
        if place in seen or len(seen) > MAX_PAGES:
            return f"a TIFF of more than {MAX_PAGES:,} pages, or whose pages form a circle"
        seen.add(place)
        file.seek(place)
        n_entries = _next_number(file, count_format)
        if n_entries is None or file.tell() + n_entries * entry_bytes >= end:
            return NO_PAGE
        order, place_letter = place_format
        entries = file.read(n_entries * entry_bytes)
        for tag, kind, n, value in struct.iter_unpack(f"{order}HH2{place_letter}", entries):
            n_bytes = n * _TYPE_BYTES.get(kind, 1)
            is_elsewhere = n_bytes > struct.calcsize(place_format)
            if tag in _TAGS_OF_PIXELS and is_elsewhere and value + n_bytes > end:
                return _NO_TAG
    return NO_PAGE if place is None else ""


def _next_number(file, form):
    """Read the next number of an open file; return None at the end of the file.

    form : str, the format of the number for `struct`
    """
    content = file.read(struct.calcsize(form))
    return struct.unpack(form, content)[0] if len(content) == struct.calcsize(form) else None
