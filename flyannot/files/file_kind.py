"""Kinds of the files in a folder: which are pictures, and the names of the others."""

import re
from pathlib import Path

from flyannot.files.content_kind import UNKNOWN
from flyannot.files.text_files import recognise_file

PICTURE_SUFFIXES = (
    *(".png", ".bmp", ".dib", ".gif", ".webp", ".jpg", ".jpeg", ".jpe", ".jfif", ".mpo"),
    *(".tif", ".tiff", ".btf", ".tf8", ".lsm", ".czi", ".lif"),
)
# Raw files of cameras begin as a TIFF does, but hold only a small preview.  Nobody means a backup copy.
_NO_PICTURES = re.compile(r"\.(arw|cr2|dng|nef|nrw|orf|pef|rw2|sr2|srw|bak|old|orig|part|tmp)|.*~", re.DOTALL)
_PICTURES = {"a CZI file", *(f"a {kind} picture" for kind in ("PNG", "JPEG", "GIF", "BMP", "WebP", "TIFF"))}


def is_picture_file(path):
    """Return True if a file is a picture by its suffix or, if the suffix is no picture's, by its first bytes.

    A picture by its suffix may be damaged, or not exist.
    """
    suffix = Path(path).suffix.lower()
    if suffix in PICTURE_SUFFIXES:
        return True
    return not _NO_PICTURES.fullmatch(suffix) and _recognise(path).name in _PICTURES


def name_file_kind(path):
    """Return the kind of a file that is no picture: its suffix, such as "PDF", or "other file".

    Without a suffix it is named by its first bytes, such as "HEIC picture".
    """
    suffix = Path(path).suffix[1:].upper()
    if re.fullmatch("[A-Z0-9]{1,8}", suffix):
        return suffix
    kind = "" if suffix.endswith("~") else _recognise(path).name.partition(",")[0].partition(" ")[2]
    return kind if kind and " of " not in kind else "other file"


def _recognise(path):
    """Return the `ContentKind` of a file; unknown if the file cannot be read."""
    try:
        return recognise_file(path)
    except OSError:
        return UNKNOWN
