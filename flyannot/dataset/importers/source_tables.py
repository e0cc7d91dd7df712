"""CSV tables as others publish them, plain or gzipped: a bad row is handed on as such, never fatal."""

import ast
import csv
import gzip
import io
import re
import warnings
import zlib
from pathlib import Path

from flyannot.base.errors import InputError
from flyannot.base.text import is_fit_for_cells, printable_text
from flyannot.files.text_files import most_unpacked_bytes, open_regular

MOST_BYTES = 2**30  # of one text, unpacked; BDGP's largest has some 10 MB
_MOST_TEXT = 100_000  # letters of one cell that holds a tuple
_MOST_SHOWN = 100  # letters of a cell that cannot be used
_SURROGATE = re.compile(r"[\ud800-\udfff]")

NOT_TEXT = "not UTF-8 text"
BAD_ROW = "not a row of a table"
CONTROL = "holds a control character"
NO_TUPLE = "not a tuple of texts"


def lines_of_text(path, *, fix, errors="strict"):
    """Yield the lines of a file of text, gzipped or not: its bytes decide, never its name.

    `fix` is the remedy in messages, `errors` what becomes of bytes that are not UTF-8, as `open` takes it.
    InputError if it cannot be read or unpacked, is not UTF-8, or unpacks to more than MOST_BYTES.
    """
    n_lines = n_letters = 0
    try:
        most = most_unpacked_bytes(path, MOST_BYTES)
        with open_regular(path) as raw:
            file = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == b"\x1f\x8b" else raw
            text = io.TextIOWrapper(file, encoding="utf-8-sig", errors=errors, newline="")
            while line := text.readline(most):
                n_lines += 1
                n_letters += len(line)
                if n_letters >= most:
                    raise InputError(f"{path} unpacks to more than {most:,} bytes", fix=fix)
                yield line
    except UnicodeDecodeError:
        raise InputError(f"{path}, after line {n_lines}: not UTF-8 text", fix=fix) from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {error}", fix=fix) from error


def read_source_rows(path, *, is_latin1=False):
    """Every row of a CSV file, gzipped or not, that is not empty.  With `is_latin1`, bytes that are not UTF-8
    are taken for Latin-1.  InputError if there is no such file, it cannot be unpacked, or it unpacks to more
    than MOST_BYTES.

    Yields
    ------
    line : int, where the row begins
    cells : list of str without surrounding white space; in a row with a fault, what no table can hold is
        written as an escape, and long cells are cut
    fault : str, why the row cannot be used; "" if it can
    """
    if not Path(path).is_file():
        raise InputError(f"no such table: {path}")
    reader = csv.reader(
        lines_of_text(path, fix="is this the table? Then download it again", errors="surrogateescape")
    )
    begins = 1
    while True:
        try:
            if (row := next(reader, None)) is None:
                return
        except csv.Error:  # there is no telling what the row is
            yield begins, [], BAD_ROW
        else:
            if is_latin1 and _SURROGATE.search("".join(row)):
                row = [cell.encode("utf-8", "surrogateescape").decode("latin-1") for cell in row]
            cells = [cell.strip() for cell in row]
            fault = _fault_of_cells(cells)
            if any(row):
                cut = [printable_text(cell[:_MOST_SHOWN], keep="") for cell in cells] if fault else cells
                yield begins, cut, fault
        begins = reader.line_num + 1


def header_of(path):
    """The cells of the first row, or []."""
    return next((cells for _, cells, _ in read_source_rows(path)), [])


def named_columns(header, wanted):
    """The place of every wanted column (a dict name -> accepted spellings), None where it is missing."""
    known = {name.lower(): at for at, name in reversed(list(enumerate(header)))}
    return {
        name: next((known[s] for s in spellings if s in known), None) for name, spellings in wanted.items()
    }


def rows_by_column(path, places):
    """The usable rows below the header as dicts, name -> cell, "" of a missing one; `places` as of
    `named_columns`."""
    for line, cells, fault in read_source_rows(path):
        if line > 1 and not fault:
            yield {n: cells[at] if at is not None and at < len(cells) else "" for n, at in places.items()}


def parse_texts(text):
    """The texts in a tuple or list that was written as Python prints it; never evaluated.

    Raises ValueError(NO_TUPLE) if it is anything else.
    """
    if len(text) > _MOST_TEXT:
        raise ValueError(NO_TUPLE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of backslashes
            texts = ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise ValueError(NO_TUPLE) from None
    if not isinstance(texts, tuple | list) or not all(isinstance(word, str) for word in texts):
        raise ValueError(NO_TUPLE)
    texts = [" ".join(word.split()) for word in texts]
    if _fault_of_cells(texts):
        raise ValueError(NO_TUPLE)
    return texts


def _fault_of_cells(cells):
    text = "".join(cells)
    if _SURROGATE.search(text):
        return NOT_TEXT
    return "" if is_fit_for_cells(text) else CONTROL
