"""What a picture file costs and whether its bytes are whole, seen before anything is decoded.

Pillow checks no checksum of the pixels of a PNG, so that a flipped bit becomes a wrong picture; and it
decodes whatever a header asks for: hundreds of scans of a JPEG, a tile larger than the picture.
"""

import mmap
import struct
import zlib

PNG_SIGNATURE, JPEG_SIGNATURE = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
MAX_CHUNKS = 1_000  # of a PNG, besides those of its pixels
MAX_SCAN_PIXELS = 240_000_000  # of a JPEG: pixels times scans; a progressive one has some ten
_BLOCK = 2**20
_TIFFS = {b"II*\0": ("<", False), b"MM\0*": (">", False), b"II+\0": ("<", True), b"MM\0+": (">", True)}
MAX_PAGES = 100_000  # of a TIFF
_NO_END = "damaged or cut short (a PNG without an end)"
_FIXED_MARKERS = {0x01, *range(0xD0, 0xD9)}  # of a JPEG, without a length


def fault_of_png(file):
    """What is wrong with a PNG in an open file, in words; "" for a whole one, and for any other format.

    Every chunk is a length, a type, content, and a CRC-32 of type and content.  The file is rewound.
    """
    try:
        return _fault_of_chunks(file) if file.read(8) == PNG_SIGNATURE else ""
    finally:
        file.seek(0)


def _fault_of_chunks(file):
    n_others = 0
    while True:
        head = file.read(8)
        if len(head) < 8:
            return _NO_END
        length, kind = struct.unpack(">I4s", head)
        crc, left = zlib.crc32(kind), length
        while left:
            block = file.read(min(left, _BLOCK))
            if not block:
                return _NO_END
            crc, left = zlib.crc32(block, crc), left - len(block)
        if file.read(4) != struct.pack(">I", crc):
            return "damaged or cut short (a checksum of the PNG is wrong)"
        n_others += kind != b"IDAT"
        if n_others > MAX_CHUNKS:
            return f"a PNG of more than {MAX_CHUNKS:,} chunks"
        if kind == b"IEND":
            return ""


def fault_of_tiff(file):
    """The same for a TIFF, of which decoders take those pages that are there.

    Every page has a directory of entries, which ends with the place of the next one.
    """
    try:
        return _fault_of_pages(file)
    finally:
        file.seek(0)


def _fault_of_pages(file):
    kind = _TIFFS.get(file.read(4))
    if kind is None:
        return ""
    order, is_big = kind
    place_format, count_format, entry_bytes = ("Q", "Q", 20) if is_big else ("I", "H", 12)
    seen, end = set(), file.seek(0, 2)
    file.seek(8 if is_big else 4)
    while place := _number(file, order + place_format):
        if place in seen or len(seen) > MAX_PAGES:
            return f"a TIFF of more than {MAX_PAGES:,} pages, or of pages in a circle"
        seen.add(place)
        file.seek(place)
        n_entries = _number(file, order + count_format)
        if n_entries is None or (next_place := file.tell() + n_entries * entry_bytes) >= end:
            return "damaged or cut short (a page of the TIFF is missing)"
        file.seek(next_place)
    return "damaged or cut short (a page of the TIFF is missing)" if place is None else ""


def _number(file, form):
    """The next number of an open file; None behind its end."""
    content = file.read(struct.calcsize(form))
    return struct.unpack(form, content)[0] if len(content) == struct.calcsize(form) else None


def fault_of_jpeg(file, n_pixels):
    """The same for a JPEG of so many pixels whose scans would take seconds; the file stays where it is."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        n_scans = n_scans_of(content) if content[:3] == JPEG_SIGNATURE else 0
    return f"{n_scans} scans: it takes too long to decode" if n_scans * n_pixels > MAX_SCAN_PIXELS else ""


def n_scans_of(content):
    """How many scans a JPEG has: markers "start of scan" outside of segments and of coded pixels."""
    n_scans, place = 0, 2
    while (place := content.find(b"\xff", place)) >= 0 and place + 1 < len(content):
        marker = content[place + 1]
        if marker == 0xD9:  # the end
            break
        if marker in (0x00, 0xFF) or marker in _FIXED_MARKERS:  # a byte of the pixels, padding
            place += 1 if marker == 0xFF else 2
            continue
        n_scans += marker == 0xDA
        place += 2 + int.from_bytes(content[place + 2 : place + 4], "big")
    return n_scans
