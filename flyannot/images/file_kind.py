"""Kinds of files, and which of them are pictures: by the suffix, otherwise by the first bytes."""

import os
import re

from flyannot.files.text_files import open_regular_file

PICTURE_SUFFIXES = (
    *(".png", ".bmp", ".dib", ".gif"),
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".mpo"),
    *(".tif", ".tiff", ".btf", ".tf8", ".lsm"),
    *(".czi", ".lif"),
)
# Raw files of cameras begin as a TIFF does, but hold only a small preview.  Nobody means a backup copy.
_NO_PICTURES = re.compile(r"\.(arw|cr2|dng|nef|nrw|orf|pef|rw2|sr2|srw|bak|old|orig|part|tmp)|.*~", re.DOTALL)
_STARTS = {
    "PNG": rb"\x89PNG\r\n\x1a\n",
    "BMP": rb"BM.{4}\0{4}",
    "JPEG": rb"\xff\xd8\xff",
    "TIFF": rb"(II\*\0|MM\0\*|II\+\0|MM\0\+)",
    "GIF": rb"GIF8[79]a",
    "CZI": rb"ZISRAWFILE",
    "LIF": rb"p\0\0\0.{4}\*",
}
_OTHER_STARTS = {
    "WEBP": rb"RIFF.{4}WEBP",
    "HEIC": rb".{4}ftyp(hei|hev|mif1|msf1)",
    "AVIF": rb".{4}ftypavi",
    "PDF": rb"%PDF-",
    "HDF5": rb"\x89HDF",
    "ZIP": rb"PK\x03\x04",
}
_LONGEST = 16  # bytes of these patterns


def is_picture_file(path):
    """Return True if a file is a picture by its suffix or, if the suffix is no picture's, by its first bytes.

    A picture by its suffix may be damaged, or not exist.
    """
    suffix = _suffix(path)
    if suffix in PICTURE_SUFFIXES:
        return True
    return not _NO_PICTURES.fullmatch(suffix) and _kind_by_content(path) in _STARTS


def name_file_kind(path):
    """Return the kind of a file that is no picture, such as "PDF", or "other file"."""
    name = _suffix(path)[1:].upper()
    if name.endswith("~"):
        return "backup file"
    return name if re.fullmatch("[A-Z0-9]{1,8}", name) else _kind_by_content(path) or "other file"


def _suffix(path):
    return os.path.splitext(path)[1].lower()


def _kind_by_content(path):
    """Return the kind of a file by its first bytes; "" for another kind, and if the file cannot be read."""
    try:
        with open_regular_file(path) as file:
            start = file.read(_LONGEST)
    except OSError:
        return ""
    known = (_STARTS | _OTHER_STARTS).items()
    return next((kind for kind, pattern in known if re.match(pattern, start, re.DOTALL)), "")
