"""Recognition of what a file really is by its first bytes, for messages about files of another kind.

Readers know the files that they read themselves. This module names the others, so that a message says what a
file is, and how to get the one that was meant.
"""

from typing import NamedTuple

HEAD_BYTES = 512  # that are enough to recognise a file


class ContentKind(NamedTuple):
    """The kind of the contents of a file.

    Attributes
    ----------
    name : str, with its article, such as "a PDF document"; "" if the kind is unknown
    fix : str, how to get the file that was meant; "" if only the caller can say it
    """

    name: str
    fix: str = ""

    @property
    def it_is(self):
        """The end of a message such as "X is not an HDF5 file": "; it is a PDF document", or ""."""
        return f"; it is {self.name}" if self.name else ""


UNKNOWN = ContentKind("")
WEB_PAGE = ContentKind("a web page", "download the file itself; the site may ask for a login")
_HEIC = ContentKind("a HEIC picture", "save it as JPEG or PNG")
_TIFF = ContentKind("a TIFF picture")
_UTF_16 = ContentKind("UTF-16 text")
_ANNEX_POINTER = ContentKind("a git-annex pointer", "fetch the file itself: git annex get FILE")
_KINDS = {  # first bytes -> kind
    b"version https://git-lfs.": ContentKind("a git-lfs pointer", "fetch the file itself: git lfs pull"),
    b"/annex/objects/": _ANNEX_POINTER,
    b"../.git/annex/objects/": _ANNEX_POINTER,  # what a link becomes where there are no links
    b"\x89HDF\r\n\x1a\n": ContentKind("an HDF5 file"),
    b"\x89PNG\r\n\x1a\n": ContentKind("a PNG picture"),
    b"\xff\xd8\xff": ContentKind("a JPEG picture"),
    b"GIF8": ContentKind("a GIF picture"),
    b"II*\0": _TIFF,
    b"MM\0*": _TIFF,
    b"II+\0": _TIFF,
    b"MM\0+": _TIFF,
    b"8BPS": ContentKind("a Photoshop file"),
    b"ZISRAWFILE": ContentKind("a CZI file"),
    b"%PDF": ContentKind("a PDF document"),
    b"PK\x03\x04": ContentKind("a zip archive, such as .xlsx or .npz"),
    b"\xd0\xcf\x11\xe0": ContentKind("an old Office file, such as .xls"),
    b"PAR1": ContentKind("a Parquet file"),
    b"\x93NUMPY": ContentKind("a NumPy array"),
    b"\x1f\x8b": ContentKind("a gzip file", "unpack it: gunzip FILE"),
    b"BZh": ContentKind("a bzip2 file", "unpack it: bunzip2 FILE"),
    b"\xfd7zXZ": ContentKind("an xz file", "unpack it: unxz FILE"),
    b"\x28\xb5\x2f\xfd": ContentKind("a zstd file", "unpack it: unzstd FILE"),
    b"7z\xbc\xaf": ContentKind("a 7-Zip archive", "unpack it"),
    b"Rar!": ContentKind("a RAR archive", "unpack it"),
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
}
_AFTER_SIZE = {  # bytes 4 to 12, or 8 to 12 after RIFF -> kind
    b"ftyphei": _HEIC,
    b"ftypmif1": _HEIC,
    b"ftypmsf1": _HEIC,
    b"ftypavif": ContentKind("an AVIF picture"),
    b"ftyp": ContentKind("a film"),
}


def recognise_content(start):
    """Return the `ContentKind` of a file by its first bytes; its name is "" for plain text and unknown kinds.

    `start` is the first `HEAD_BYTES` bytes, or all bytes of a shorter file.
    """
    if not start.strip():
        return ContentKind("an empty file")
    if not start.strip(b"\0"):
        return ContentKind("a file of zero bytes", "copy or download it again")
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return ContentKind("a WebP picture")
    if start.startswith(b"BM") and start[6:10] == bytes(4):
        return ContentKind("a BMP picture")
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if b":spreadsheet" in text or text.lower().startswith((b'<?xml version="1.0"?><?mso-', b"mime-version:")):
        return ContentKind("a spreadsheet in XML or MIME", "open it in Excel, and save it as .xlsx")
    if text.lower().startswith((b"<!doctype", b"<html", b"<?xml", b"<svg")):
        return ContentKind("an SVG drawing") if b"<svg" in text else WEB_PAGE
    by_place = ((text, _KINDS), (start, _KINDS), (start[4:], _AFTER_SIZE))
    kinds = (kind for place, known in by_place for head, kind in known.items() if place.startswith(head))
    return next(kinds, UNKNOWN)
