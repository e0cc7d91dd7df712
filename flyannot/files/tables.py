"""Tables: reading that names the line and column of every fault, and atomic writing.

A table is CSV in UTF-8, with or without a byte-order mark, with LF or CRLF line ends and quotes as in
RFC 4180. Commas, semicolons or tabs separate its cells. The first sheet of an Excel workbook is a table too.
Columns may come in any order, and the case of their names is ignored. Columns that no caller asks for are
ignored too. A cell that begins with = + - @ and is not a number is written with a leading apostrophe, so that
no spreadsheet runs it. The apostrophe is removed when the table is read.
"""

import csv
import io
import logging
import re
import zipfile
from itertools import chain
from pathlib import Path

from flyannot.base.errors import InputError, did_you_mean
from flyannot.base.packages import import_optional
from flyannot.base.text import escape_unprintable, is_valid_cell, pluralise
from flyannot.files.atomic_file import write_text
from flyannot.files.text_files import max_unpacked_bytes, open_regular, read_first_bytes, read_lines

log = logging.getLogger("flyannot")
_GUARDED = re.compile(r"'+[=+\-@＝＋－＠\t\r]")  # as written; the apostrophe is not read
_NEEDS_GUARD = re.compile(r"'*[=+\-@＝＋－＠\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")  # a negative number is not a formula
_COLUMNS_SHOWN = 30  # in a message, and characters of each


def read_table(path, required, optional=(), *, meant=None, faults=None):
    """Yield every row of a table as (line number, cells in the order of `required + optional`).

    Cells are stripped of white space. Cells of required columns are never empty. Cells of missing optional
    columns are "".

    Parameters
    ----------
    path : Path
    required, optional : tuples of column names
    meant : dict, required column -> other names that people write for it, which an error suggests
    faults : list or None; a list receives the errors of faulty rows, which are then left out

    Raises
    ------
    InputError
        If the file is missing or not UTF-8, or a column is missing or repeated. For a faulty row the message
        has the line and column: too many cells, an empty cell or a control character.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no such table: {path}", fix=f"create it with the columns {', '.join(required)}")
    rows = _read_cells(path, required)
    _, header = next(rows, (1, []))
    places = _find_columns(path, [name.strip() for name in header], required, optional, meant or {})
    n_columns = len(header)
    for begins, row in rows:
        if not any(row):
            continue
        n_cells = len(row)
        row += [""] * (n_columns + 1 - n_cells)  # the last one stands for missing columns
        cells = [row[place].strip() for place in places]
        if n_cells > n_columns or not all(cells[: len(required)]) or not is_valid_cell("".join(cells)):
            error = _row_error(f"{path}, line {begins}", n_cells, n_columns, cells, required, optional)
            if faults is None:
                raise error
            faults.append(error)
            continue
        yield begins, [cell[1:] if cell[:1] == "'" and _GUARDED.match(cell) else cell for cell in cells]


def write_table(path, columns, rows):
    """Write rows of text as CSV, unless the file already has the same bytes; errors as `write_text`."""
    write_text(path, format_table(columns, rows), keep_same=True)


def format_table(columns, rows):
    """Return rows as the text of a CSV table."""
    text = io.StringIO()
    write_csv_rows(text, [columns, *rows])
    return text.getvalue()


def write_csv_rows(file, rows, *, delimiter=","):
    """Write rows to an open text file, with an apostrophe before each cell that a spreadsheet would run."""
    writer = csv.writer(file, lineterminator="\n", delimiter=delimiter)
    for row in rows:
        cells = map(str, row)
        writer.writerow([f"'{c}" if _NEEDS_GUARD.match(c) and not _NUMBER.fullmatch(c) else c for c in cells])


def _find_columns(path, header, required, optional, meant):
    """Return the index of each wanted column; missing optional ones get the number of columns."""
    if not any(header):
        raise InputError(f"{path} is empty", fix=f"its first line names the columns: {','.join(required)}")
    plain = [_plain_name(name) for name in header]
    names = {name: header if name in header else plain for name in required + optional}
    for name, among in names.items():
        if among.count(name) > 1:
            raise InputError(f'{path}: the column "{name}" appears twice', fix="rename or delete one of them")
    for name in required:
        if name not in names[name]:
            raise _missing_column(path, name, header, required, meant.get(name, ()))
    return [among.index(name) if name in among else len(header) for name, among in names.items()]


def _missing_column(path, name, header, required, meant):
    """Return the InputError for a missing column, with the name that was probably meant."""
    named = [column for column in header if _plain_name(column) in meant]
    others = [column for column in header if _plain_name(column) not in required]
    suggestion = f' Did you mean "{named[0]}"?' if named else did_you_mean(name, others)
    rename = f'rename the column "{named[0]}" to "{name}"; ' if named else ""
    return InputError(
        f'{path} has no column "{name}", only {_list_columns(header)}.{suggestion}',
        fix=f"{rename}its first line must name the columns {', '.join(required)}, separated by commas",
    )


def _row_error(where, n_cells, n_columns, cells, required, optional):
    """Return the InputError for a faulty row."""
    if n_cells > n_columns:
        return InputError(
            f"{where}: {pluralise(n_cells, 'cell')} under {pluralise(n_columns, 'column')}",
            fix="put a cell that contains a comma, or another separator, in double quotes",
        )
    named = dict(zip(required + optional, cells))
    if unfit := next((name for name, cell in named.items() if not is_valid_cell(cell)), ""):
        return InputError(
            f'{where}, column "{unfit}": a control character in {named[unfit]!r}',
            fix="delete it, or rename the file it names",
        )
    empty = next(name for name in required if not named[name])
    return InputError(f'{where}, column "{empty}": empty', fix="fill it in or delete the row")


def _list_columns(header):
    """Return the names of columns for a message: few, short and without unprintable characters."""
    shown = [escape_unprintable(name[:_COLUMNS_SHOWN], keep="") for name in header[:_COLUMNS_SHOWN]]
    return ", ".join(shown) + ", ..." * (len(header) > _COLUMNS_SHOWN)


_SAVE_AS = "save the table as CSV UTF-8 (in Excel: File > Save As > CSV UTF-8)"
_ZIP = b"PK\x03\x04"
_NO_TABLES = {  # first bytes of other files -> (what they are, the remedy)
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook (.xls)", f"{_SAVE_AS}, or as .xlsx"),
    b"\x89HDF": ("an HDF5 file, not a table", "name a table, such as a .csv"),
    b"\xff\xfe": ('UTF-16 text, such as Excel\'s "Unicode Text"', _SAVE_AS),
    b"\xfe\xff": ('UTF-16 text, such as Excel\'s "Unicode Text"', _SAVE_AS),
}
_SEPARATORS = ",;\t"
_MAX_BYTES = 2**29  # of a workbook, unpacked
_MAX_CELLS = 2**24  # of a workbook, also empty ones


def _read_cells(path, required):
    """Yield every row of a table as (line number, list of str); the header is line 1.

    The table is CSV in UTF-8, gzipped or not, or the first sheet of a workbook (.xlsx). InputError if it is
    neither, or malformed.
    """
    try:
        begins = read_first_bytes(path, 4)
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
    for line, row, fault in read_csv_rows(chain([first], lines), _find_separator(first, required)):
        if fault:
            fix = 'close every double quote, and write one inside a cell as ""'
            raise InputError(f"{path}, line {line}: {fault}", fix=fix)
        yield line, row


def read_csv_rows(lines, separator=","):
    """Yield every row of CSV text as (number of its first line, list of str, fault).

    If `csv` cannot read a row, the list is empty and the fault says why; otherwise the fault is "".
    """
    reader = csv.reader(lines, strict=True, delimiter=separator)
    begins = 1
    while True:
        row: list = []
        fault = ""
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fault = str(error)
        yield begins, row, fault
        begins = reader.line_num + 1


def _plain_name(name):
    """Return the name of a column in lower case, with underscores for spaces and dashes."""
    return name.strip().casefold().replace(" ", "_").replace("-", "_")


def _find_separator(first, required):
    """Return the separator by which the first line has all required columns; a comma if there is none."""
    for separator in _SEPARATORS:
        names = {_plain_name(name.strip('"')) for name in first.split(separator)}
        if names.issuperset(required):
            return separator
    return ","


def _sheet_rows(path):
    """Yield the rows of the first sheet of a workbook as (line number, list of str), without empty ones."""
    try:
        openpyxl = import_optional("openpyxl", "excel", f"{path} is an Excel workbook; reading it needs")
    except InputError as absent:
        raise InputError(absent.message, fix=f"{_SAVE_AS}; or {absent.fix}") from None
    try:
        file = open_regular(path)  # stays open while rows are read
        with zipfile.ZipFile(file) as archive:
            n_bytes = sum(member.file_size for member in archive.infolist())
        if n_bytes > (most := max_unpacked_bytes(path, _MAX_BYTES)):
            raise InputError(f"{path} unpacks to more than {most:,} bytes", fix=_SAVE_AS)
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        if len(book.worksheets) > 1:
            n_sheets = len(book.worksheets)
            name = Path(path).name
            log.info('note: %s has %d sheets; only the first, "%s", is read', name, n_sheets, sheet.title)
        n_cells = 0
        for line, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            n_cells += len(row) + 1
            if n_cells > _MAX_CELLS:
                raise InputError(f"{path} has more than {_MAX_CELLS:,} cells, or claims to", fix=_SAVE_AS)
            if line == 1 or row.count(None) < len(row):
                yield line, [_as_text(value) for value in row]
    except (InputError, GeneratorExit):
        raise
    except Exception as error:  # a damaged workbook may raise any exception
        raise InputError(f"{path} cannot be read as an Excel workbook: {error}", fix=_SAVE_AS) from None


def _as_text(value):
    """Return the value of a cell as text; a date looks like 2023-04-06 00:00:00."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
