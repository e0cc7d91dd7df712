"""CSV tables: strict reading that names the column and the line, and atomic writing.

UTF-8 with or without a byte-order mark, LF or CRLF, quotes as in RFC 4180; workbooks too
(`flyannot.runtime.table_cells`).  Columns come in any order, capitals in their names do not matter, and those
that nobody asked for are ignored.  A cell that begins with = + - @ and is no
number is written with a leading apostrophe, so that no spreadsheet runs it, and is read back without.
"""

import csv
import re
from pathlib import Path

from flyannot.errors import InputError, WriteError, did_you_mean
from flyannot.runtime.atomic_file import replacing
from flyannot.runtime.counted import counted
from flyannot.runtime.table_cells import folded, read_cells

_GUARDED = re.compile(r"'+[=+\-@\t\r]")  # written as '=..., read as =...
_NEEDS_GUARD = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")  # a negative number is no formula
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_COLUMNS_SHOWN = 30  # in a message, and letters of each


def read_table(path, required, optional=(), *, meant=None):
    """Every row of a CSV table as (line number, its cells in the order of `required + optional`).

    Parameters
    ----------
    path : path of the CSV file
    required : tuple of column names that must be there; none of their cells may be empty
    optional : tuple of column names that may be missing; a missing cell is ""
    meant : dict, a required column -> other names of it that people write, to suggest

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
    yield from _rows(path, read_cells(path, required), required, optional, meant or {})


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


def _rows(path, rows, required, optional, meant):
    _, header = next(rows, (1, []))
    places = _places(path, [name.strip() for name in header], required, optional, meant)
    n_columns = len(header)
    for begins, row in rows:
        if not any(row):
            continue
        if len(row) > n_columns:
            raise InputError(
                f"{path}, line {begins}: {counted(len(row), 'cell')} under {counted(n_columns, 'column')}",
                fix="put a cell that contains a comma (or what else separates columns) in double quotes",
            )
        row += [""] * (n_columns + 1 - len(row))  # one more: where the missing columns point
        cells = [row[place].strip() for place in places]
        if not all(cells[: len(required)]) or _CONTROL.search("".join(cells)):
            _refuse(path, begins, cells, required, optional)
        yield begins, [cell[1:] if cell[:1] == "'" and _GUARDED.match(cell) else cell for cell in cells]


def _places(path, header, required, optional, meant):
    """Where each wanted column stands; a missing optional one stands just behind the last."""
    if not any(header):
        raise InputError(f"{path} is empty", fix=f"its first line names the columns: {','.join(required)}")
    plain = [folded(name) for name in header]
    names = {name: header if name in header else plain for name in required + optional}
    for name, among in names.items():
        if among.count(name) > 1:
            raise InputError(
                f'{path}: the column "{name}" is there twice', fix="rename or delete one of them"
            )
    for name in required:
        if name not in names[name]:
            raise _no_column(path, name, header, required, meant.get(name, ()))
    return [among.index(name) if name in among else len(header) for name, among in names.items()]


def _no_column(path, name, header, required, meant):
    named = [column for column in header if folded(column) in meant]
    others = [column for column in header if folded(column) not in required]
    suggestion = f' Did you mean "{named[0]}"?' if named else did_you_mean(name, others)
    rename = f'rename the column "{named[0]}" to "{name}"; ' if named else ""
    return InputError(
        f'{path} has no column "{name}", only {_listed(header)}.{suggestion}',
        fix=f"{rename}its first line must name the columns {', '.join(required)}, separated by commas",
    )


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
