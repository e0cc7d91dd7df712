"""CSV tables: strict reading that names the column and the line, and atomic writing.

UTF-8 with or without a byte-order mark, LF or CRLF, quotes as in RFC 4180.  Columns come in any order,
and those that nobody asked for are ignored.  A cell that begins with = + - @ and is no
number is written with a leading apostrophe, so that no spreadsheet runs it, and is read back without.
"""

import csv
import re
from pathlib import Path

from flyannot.errors import InputError, WriteError, did_you_mean
from flyannot.runtime.atomic_file import replacing

_GUARDED = re.compile(r"'+[=+\-@\t\r]")  # written as '=..., read as =...
_NEEDS_GUARD = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")  # a negative number is no formula
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_COLUMNS_SHOWN = 30  # in a message, and letters of each
_SAVE_AS = "save the table as CSV in UTF-8, columns separated by commas"


def read_table(path, required, optional=()):
    """Every row of a CSV table as (line number, its cells in the order of `required + optional`).

    Parameters
    ----------
    path : path of the CSV file
    required : tuple of column names that must be there; none of their cells may be empty
    optional : tuple of column names that may be missing; a missing cell is ""

    Yields
    ------
    line : int, where the row begins; the header is line 1
    cells : list of str, without surrounding white space

    Raises
    ------
    InputError
        Names the file and, for a bad row, its line and column: no such file, not UTF-8, a missing or
        repeated column, a row of more cells than columns, an empty or control-ridden cell.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no such table: {path}", fix=f"make it, with the columns {', '.join(required)}")
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            yield from _rows(path, csv.reader(file, strict=True), required, optional)
    except UnicodeDecodeError:
        raise InputError(f"{path}, line {_first_undecodable(path)}: not UTF-8 text", fix=_SAVE_AS) from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def write_table(path, columns, rows):
    """Write rows of text as CSV; what stood at `path` is replaced only by the whole new table, if it differs.

    Parameters
    ----------
    path : path of the CSV file
    columns : sequence of str
    rows : iterable of sequences of text, as long as `columns`

    Raises
    ------
    WriteError
        If it cannot be written; nothing is left behind.
    """
    with replacing(path, keep_same=True) as beside, open(beside, "w", newline="", encoding="utf-8") as file:
        try:
            write_csv_rows(file, [columns])
            write_csv_rows(file, rows)
        except UnicodeEncodeError as error:
            raise WriteError(
                f"cannot write {path}: {error}", fix="rename the file to plain Unicode"
            ) from None


def write_csv_rows(file, rows, *, delimiter=","):
    """Write rows of text to an open file, what a spreadsheet would run with an apostrophe in front."""
    writer = csv.writer(file, lineterminator="\n", delimiter=delimiter)
    writer.writerows([_guard(str(cell)) for cell in row] for row in rows)


def _rows(path, reader, required, optional):
    header = [name.strip() for name in _next_row(path, reader) or ()]
    places = _places(path, header, required, optional)
    n_columns = len(header)
    while (row := _next_row(path, reader, begins := reader.line_num + 1)) is not None:
        if not any(row):
            continue
        if len(row) > n_columns:
            raise InputError(
                f"{path}, line {begins}: {len(row)} cells under {n_columns} columns",
                fix="put a cell that contains a comma in double quotes",
            )
        row += [""] * (n_columns + 1 - len(row))  # one more: where the missing columns point
        cells = [row[place].strip() for place in places]
        if not all(cells[: len(required)]) or _CONTROL.search("".join(cells)):
            _refuse(path, begins, cells, required, optional)
        yield begins, [cell[1:] if cell[:1] == "'" and _GUARDED.match(cell) else cell for cell in cells]


def _next_row(path, reader, begins=1):
    """The next row, None after the last one, or an error that names the line where it begins."""
    try:
        return next(reader, None)
    except csv.Error as error:
        raise InputError(
            f"{path}, line {begins}: {error}",
            fix='close every double quote, and write one inside a cell as ""',
        ) from None


def _places(path, header, required, optional):
    """Where each wanted column stands; a missing optional one stands just behind the last."""
    if not any(header):
        raise InputError(f"{path} is empty", fix=f"its first line names the columns: {','.join(required)}")
    for name in required + optional:
        if header.count(name) > 1:
            raise InputError(
                f'{path}: the column "{name}" is there twice', fix="rename or delete one of them"
            )
    for name in required:
        if name not in header:
            raise InputError(
                f'{path} has no column "{name}", only {_listed(header)}.{did_you_mean(name, header)}',
                fix=f"its first line must name the columns {', '.join(required)}, separated by commas",
            )
    return [header.index(name) if name in header else len(header) for name in required + optional]


def _refuse(path, line, cells, required, optional):
    for name, cell in zip(required + optional, cells):
        if _CONTROL.search(cell):
            raise InputError(
                f'{path}, line {line}, column "{name}": a control character in {cell!r}',
                fix="delete it, or rename the file it names",
            )
        if not cell and name in required:
            raise InputError(
                f'{path}, line {line}, column "{name}": empty', fix="fill it in or delete the row"
            )


def _listed(header):
    """The columns of what may be no table at all: not too many, not too long, nothing unprintable."""
    shown = [name if name.isprintable() else repr(name) for name in header[:_COLUMNS_SHOWN]]
    return ", ".join(name[:_COLUMNS_SHOWN] for name in shown) + ", ..." * (len(header) > _COLUMNS_SHOWN)


def _guard(cell):
    return "'" + cell if _NEEDS_GUARD.match(cell) and not _NUMBER.fullmatch(cell) else cell


def _first_undecodable(path):
    """The number of the first line that is not UTF-8."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1  # a sequence cut by the end of the file, or changed meanwhile
