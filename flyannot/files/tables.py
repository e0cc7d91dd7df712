"""Tables: strict reading that names the column and the line, and atomic writing.

CSV in UTF-8 with or without a byte-order mark, LF or CRLF, quotes as in RFC 4180, separated by commas,
semicolons or tabs; or the first sheet of an Excel workbook.  Columns come in any order, capitals in their
names do not matter, and those that nobody asked for are ignored.  A cell that begins with = + - @ and is no
number is written with a leading apostrophe, so that no spreadsheet runs it, and is read back without.
"""

import csv
import io
import logging
import re
import zipfile
from itertools import chain
from pathlib import Path

from flyannot.base.errors import InputError, did_you_mean
from flyannot.base.packages import optional_package
from flyannot.base.text import is_fit_for_cells, pluralise, printable_text
from flyannot.files.atomic_file import write_text
from flyannot.files.text_files import first_bytes, most_unpacked_bytes, open_regular, read_lines

log = logging.getLogger("flyannot")
_GUARDED = re.compile(r"'+[=+\-@＝＋－＠\t\r]")  # written as '=..., read as =...
_NEEDS_GUARD = re.compile(r"'*[=+\-@＝＋－＠\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")  # a negative number is no formula
_COLUMNS_SHOWN = 30  # in a message, and letters of each


def read_table(path, required, optional=(), *, meant=None, faults=None):
    """Every row of a table as (line number, its cells in the order of `required + optional`).

    Cells come without surrounding white space; those of required columns are never empty, those of optional
    ones that are missing "".  InputError names the file and, for a bad row, its line and column: no such
    file, not UTF-8, a missing or repeated column, a row of more cells than columns, an empty or control-
    ridden cell. `meant` maps a required column to other names of it that people write, to suggest.  With
    `faults`, a list, it gets the errors of rows, which are left out.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no such table: {path}", fix=f"make it, with the columns {', '.join(required)}")
    rows = _read_cells(path, required)
    _, header = next(rows, (1, []))
    places = _places(path, [name.strip() for name in header], required, optional, meant or {})
    n_columns = len(header)
    for begins, row in rows:
        if not any(row):
            continue
        n_cells = len(row)
        row += [""] * (n_columns + 1 - n_cells)  # one more: where the missing columns point
        cells = [row[place].strip() for place in places]
        if n_cells > n_columns or not all(cells[: len(required)]) or not is_fit_for_cells("".join(cells)):
            error = _fault_of_row(f"{path}, line {begins}", n_cells, n_columns, cells, required, optional)
            if faults is None:
                raise error
            faults.append(error)
            continue
        yield begins, [cell[1:] if cell[:1] == "'" and _GUARDED.match(cell) else cell for cell in cells]


def write_table(path, columns, rows):
    """Write rows of text as CSV; what stood at `path` is replaced only by the whole new table, if it differs.

    WriteError if it cannot be written; nothing is left behind.
    """
    write_text(path, table_as_text(columns, rows), keep_same=True)


def table_as_text(columns, rows):
    """What `write_table` writes, as text."""
    text = io.StringIO()
    write_csv_rows(text, [columns, *rows])
    return text.getvalue()


def write_csv_rows(file, rows, *, delimiter=","):
    """Write rows of text to an open file, what a spreadsheet would run with an apostrophe in front."""
    writer = csv.writer(file, lineterminator="\n", delimiter=delimiter)
    for row in rows:
        cells = map(str, row)
        writer.writerow([f"'{c}" if _NEEDS_GUARD.match(c) and not _NUMBER.fullmatch(c) else c for c in cells])


def _places(path, header, required, optional, meant):
    """Where each wanted column stands; a missing optional one stands just behind the last."""
    if not any(header):
        raise InputError(f"{path} is empty", fix=f"its first line names the columns: {','.join(required)}")
    plain = [_folded(name) for name in header]
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
    named = [column for column in header if _folded(column) in meant]
    others = [column for column in header if _folded(column) not in required]
    suggestion = f' Did you mean "{named[0]}"?' if named else did_you_mean(name, others)
    rename = f'rename the column "{named[0]}" to "{name}"; ' if named else ""
    return InputError(
        f'{path} has no column "{name}", only {_listed(header)}.{suggestion}',
        fix=f"{rename}its first line must name the columns {', '.join(required)}, separated by commas",
    )


def _fault_of_row(where, n_cells, n_columns, cells, required, optional):
    """The InputError of a row that cannot be taken."""
    if n_cells > n_columns:
        return InputError(
            f"{where}: {pluralise(n_cells, 'cell')} under {pluralise(n_columns, 'column')}",
            fix="put a cell that contains a comma (or what else separates columns) in double quotes",
        )
    named = dict(zip(required + optional, cells))
    if unfit := next((name for name, cell in named.items() if not is_fit_for_cells(cell)), ""):
        return InputError(
            f'{where}, column "{unfit}": a control character in {named[unfit]!r}',
            fix="delete it, or rename the file it names",
        )
    empty = next(name for name in required if not named[name])
    return InputError(f'{where}, column "{empty}": empty', fix="fill it in or delete the row")


def _listed(header):
    """The columns of what may be no table at all: not too many, not too long, nothing unprintable."""
    shown = [printable_text(name[:_COLUMNS_SHOWN], keep="") for name in header[:_COLUMNS_SHOWN]]
    return ", ".join(shown) + ", ..." * (len(header) > _COLUMNS_SHOWN)


_SAVE_AS = "save the table as CSV UTF-8 (in Excel: File > Save As > CSV UTF-8)"
_ZIP = b"PK\x03\x04"
_NO_TABLES = {  # how other files begin, what they are, and the remedy
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook (.xls)", f"{_SAVE_AS}, or as .xlsx"),
    b"\x89HDF": ("an HDF5 file, not a table", "name a table, such as a .csv"),
    b"\xff\xfe": ('UTF-16 text, as Excel\'s "Unicode Text"', _SAVE_AS),
    b"\xfe\xff": ('UTF-16 text, as Excel\'s "Unicode Text"', _SAVE_AS),
}
_SEPARATORS = ",;\t"
_MOST_BYTES = 2**29  # of a workbook, unpacked
_MOST_CELLS = 2**24  # that a workbook says it has, most of them empty


def _read_cells(path, required):
    """Every row of a CSV file in UTF-8, gzipped or not, or of the first sheet of a workbook (.xlsx), as (line
    number, list of str); line 1 is the first.  InputError if it is neither, or not written as it should
    be."""
    try:
        begins = first_bytes(path, 4)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if begins == _ZIP:
        yield from _sheet_rows(path)
        return
    for start, (what, fix) in _NO_TABLES.items():
        if begins.startswith(start):
            raise InputError(f"{path} is {what}", fix=fix)
    lines = read_lines(path, fix=_SAVE_AS)
    first = next(lines, "")
    for line, row, fault in read_csv_rows(chain([first], lines), _separator(first, required)):
        if fault:
            fix = 'close every double quote, and write one inside a cell as ""'
            raise InputError(f"{path}, line {line}: {fault}", fix=fix)
        yield line, row


def read_csv_rows(lines, separator=","):
    """Yield every row of CSV text as (number of its first line, list of str, fault).

    Where `csv` cannot read a row, the list is empty and the fault says why; otherwise the fault is "".
    """
    reader = csv.reader(lines, strict=True, delimiter=separator)
    begins = 1
    while True:
        row, fault = [], ""
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fault = str(error)
        yield begins, row, fault
        begins = reader.line_num + 1


def _folded(name):
    """The name of a column but for capitals, spaces and dashes."""
    return name.strip().casefold().replace(" ", "_").replace("-", "_")


def _separator(first, required):
    """A comma, unless the first line has the required columns only when it is split by another one."""
    for separator in _SEPARATORS:
        names = {_folded(name.strip('"')) for name in first.split(separator)}
        if names.issuperset(required):
            return separator
    return ","


def _sheet_rows(path):
    try:
        openpyxl = optional_package("openpyxl", "excel", f"{path} is an Excel workbook; reading it needs")
    except InputError as absent:
        raise InputError(absent.message, fix=f"{_SAVE_AS}; or {absent.fix}") from None
    try:
        file = open_regular(path)  # the book stays open while its rows are read
        with zipfile.ZipFile(file) as archive:
            n_bytes = sum(member.file_size for member in archive.infolist())
        if n_bytes > (most := most_unpacked_bytes(path, _MOST_BYTES)):
            raise InputError(f"{path} unpacks to more than {most:,} bytes", fix=_SAVE_AS)
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        if len(book.worksheets) > 1:
            n_sheets, name = len(book.worksheets), Path(path).name
            log.info('note: %s has %d sheets; "%s", the first, is read', name, n_sheets, sheet.title)
        n_cells = 0
        for line, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            n_cells += len(row) + 1
            if n_cells > _MOST_CELLS:
                raise InputError(f"{path} has more than {_MOST_CELLS:,} cells, or claims to", fix=_SAVE_AS)
            if line == 1 or row.count(None) < len(row):
                yield line, [_as_text(value) for value in row]
    except (InputError, GeneratorExit):
        raise
    except Exception as error:  # a damaged workbook raises anything
        raise InputError(f"{path} is no Excel workbook that can be read: {error}", fix=_SAVE_AS) from None


def _as_text(value):
    """What a cell holds; a date as 2023-04-06 00:00:00."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
