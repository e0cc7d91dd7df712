"""CSV tables as others publish them, plain or gzipped: a bad row is handed on as such, never fatal."""

import ast
import csv
import gzip
import re
import warnings
import zlib
from pathlib import Path

from flyannot.dataset.folder import printable
from flyannot.errors import InputError

MOST_BYTES = 2**30  # of one table, unpacked; BDGP's largest has some 10 MB
_MOST_TEXT = 100_000  # letters of one cell that holds a tuple
_MOST_SHOWN = 100  # letters of a cell that cannot be used
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

NOT_TEXT = "not UTF-8 text"
BAD_ROW = "not a row of a table"
CONTROL = "holds a control character"
NO_TUPLE = "not a tuple of texts"


def read_source_rows(path):
    """Every row of a table that is not empty.

    Parameters
    ----------
    path : path of a CSV file, gzipped or not

    Yields
    ------
    line : int, where the row begins
    cells : list of str without surrounding white space; in a row with a fault, what no table can hold is
        written as an escape, and long cells are cut
    fault : str, why the row cannot be used; "" if it can

    Raises
    ------
    InputError
        If there is no such file, it cannot be unpacked, or it unpacks to more than MOST_BYTES.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no such table: {path}")
    try:
        with open_packed(path, newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
            reader = csv.reader(_bounded(path, file))
            begins = 1
            while (row := _next(reader)) is not None:
                if isinstance(row, str):
                    yield begins, [], row
                elif any(row):
                    cells = [cell.strip() for cell in row]
                    fault = _fault(cells)
                    yield begins, [_shown(cell) for cell in cells] if fault else cells, fault
                begins = reader.line_num + 1
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {error}", fix="download it again") from error


def header_of(path):
    """The cells of the first row, or []."""
    return next((cells for _, cells, _ in read_source_rows(path)), [])


def named_columns(header, wanted):
    """The place of every wanted column (a dict name -> accepted spellings), None where it is missing."""
    known = {name.lower(): at for at, name in reversed(list(enumerate(header)))}
    return {
        name: next((known[s] for s in spellings if s in known), None) for name, spellings in wanted.items()
    }


def parse_texts(text):
    """The texts in a tuple or list that was written as Python prints it; never evaluated.

    Raises ValueError(NO_TUPLE) if it is anything else.
    """
    if len(text) > _MOST_TEXT:
        raise ValueError(NO_TUPLE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of backslashes
            found = ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise ValueError(NO_TUPLE) from None
    if not isinstance(found, tuple | list) or not all(isinstance(one, str) for one in found):
        raise ValueError(NO_TUPLE)
    texts = [" ".join(one.split()) for one in found]
    if _fault(texts):
        raise ValueError(NO_TUPLE)
    return texts


def _is_unicode(text):
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def open_packed(path, mode="rt", **how):
    """Open a file to read what is in it, gzipped or not: its bytes decide."""
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return (gzip.open if packed else open)(path, mode, **how)


def _bounded(path, file):
    """The lines of a file, as long as they are not too much altogether."""
    n = 0
    while line := file.readline(MOST_BYTES):
        n += len(line)
        if n >= MOST_BYTES:
            raise InputError(f"{path} unpacks to more than {MOST_BYTES:,} bytes", fix="is this the table?")
        yield line


def _next(reader):
    """The next row; None after the last; text where there is no telling what the row is."""
    try:
        return next(reader, None)
    except csv.Error:
        return BAD_ROW


def _shown(cell):
    return printable(cell[:_MOST_SHOWN])


def _fault(cells):
    text = "".join(cells)
    if not _is_unicode(text):
        return NOT_TEXT
    return CONTROL if _CONTROL.search(text) else ""
