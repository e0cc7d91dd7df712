"""Tables: a reader that reports the line and column of every error, and an atomic writer.

A table is CSV in UTF-8, with or without a byte-order mark, with LF or CRLF line ends and quotes as in RFC
4180. It may be gzipped. Commas, semicolons or tabs separate its cells. The first sheet of an Excel workbook
is a table too. Columns may be in any order, and the case of their names is ignored. Columns that the caller
does not name are ignored.

A spreadsheet would run a cell that begins with = + - or @ and is not a number. Such a cell is written with a
leading apostrophe, which is removed when the table is read.
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
from flyannot.files.text_files import open_regular_file, read_first_bytes, read_lines, unpacked_size_limit

log = logging.getLogger("flyannot")
_GUARDED = re.compile(r"'+[=+\-@＝＋－＠\t\r]")  # cells whose apostrophe is removed when they are read
_NEEDS_GUARD = re.compile(r"'*[=+\-@＝＋－＠\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")  # a negative number is not a formula
_COLUMNS_SHOWN = 30  # names of columns in a message, and characters of each name


def read_table(path, required, optional=(), *, meant=None, faults=None, may_be_empty=()):
    """Read the named columns of a table (CSV or Excel), and yield one item for each row.

    Empty rows are skipped. Cells are stripped of white space; cells of optional columns that the table lacks
    are "".

    Parameters
    ----------
    path : Path of the table
    required : tuple of column names that the table must have, without empty cells
    optional : tuple of column names that the table may have
    meant : dict, required column -> tuple of other names that people write for it; the error message suggests
        renaming them
    faults : list or None; if it is a list, the InputErrors of faulty rows are appended to it and the rows are
        skipped. If it is None, the first faulty row raises its error
    may_be_empty : names of required columns whose cells may be empty

    Yields
    ------
    line : int, the line number of the row in the file
    cells : list of str, in the order of `required + optional`

    Raises
    ------
    InputError
        If the file is missing or cannot be read, or a column is missing or repeated. A row is faulty if it
        has too many cells, an empty cell in a required column or a control character.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no such table: {path}", fix=f"create it with the columns {', '.join(required)}")
    rows = _read_cells(path, required)
    _, header = next(rows, (1, []))
    places = _find_columns(path, [name.strip() for name in header], required, optional, meant or {})
    n_columns = len(header)
    filled = [column for column, name in enumerate(required) if name not in may_be_empty]
    for line, row in rows:
        if not any(row):
            continue
        n_cells = len(row)
        row += [""] * (n_columns + 1 - n_cells)  # the last cell is read for columns that the table lacks
        cells = [row[place].strip() for place in places]
        if n_cells > n_columns or not all(cells[k] for k in filled) or not is_valid_cell("".join(cells)):
            named = dict(zip((*required, *optional), cells))
            needed = [required[k] for k in filled]
            error = _row_error(f"{path}, line {line}", n_cells, n_columns, named, needed)
            if faults is None:
                raise error
            faults.append(error)
            continue
        yield line, [cell[1:] if cell[:1] == "'" and _GUARDED.match(cell) else cell for cell in cells]


def write_table(path, columns, rows):
    """Write a table as CSV, unless the file already has the same bytes.

    Parameters
    ----------
    path : Path of the file, which is replaced as a whole
    columns : list of str, the names of the columns
    rows : iterable of rows, each with one value for each column

    Raises
    ------
    WriteError
        If the file cannot be written.
    """
    write_text(path, format_table(columns, rows), keep_same=True)


def format_table(columns, rows):
    """Format a table as CSV text (str).

    Parameters
    ----------
    columns : list of str, the names of the columns
    rows : iterable of rows, each with one value for each column
    """
    text = io.StringIO()
    write_csv_rows(text, [columns, *rows])
    return text.getvalue()


def write_csv_rows(file, rows, *, delimiter=","):
    """Write rows to an open text file as CSV.

    A cell that a spreadsheet would run as a formula is written with a leading apostrophe.

    Parameters
    ----------
    file : open text file
    rows : iterable of rows, each an iterable of values
    delimiter : str, the separator of the cells
    """
    writer = csv.writer(file, lineterminator="\n", delimiter=delimiter)
    for row in rows:
        cells = map(str, row)
        writer.writerow([f"'{c}" if _NEEDS_GUARD.match(c) and not _NUMBER.fullmatch(c) else c for c in cells])


def _find_columns(path, header, required, optional, meant):
    """Return the index in the header (int) of each column in `required + optional`, in this order.

    The index of an optional column that the table lacks is `len(header)`.

    Parameters
    ----------
    path : Path of the table, for error messages
    header : list of str, the names of the columns in the table
    required, optional, meant : as in `read_table`

    Raises
    ------
    InputError
        If a required column is missing, or a column is repeated.
    """
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
    """Make the InputError for a required column that a table lacks.

    Parameters
    ----------
    path : Path of the table
    name : str, the missing column
    header : list of str, the columns of the table
    required : tuple of str, the names of all required columns
    meant : tuple of str, other names for the missing column; if the table has one, it is suggested
    """
    named = [column for column in header if _plain_name(column) in meant]
    others = [column for column in header if _plain_name(column) not in required]
    suggestion = f' Did you mean "{named[0]}"?' if named else did_you_mean(name, others)
    rename = f'rename the column "{named[0]}" to "{name}"; ' if named else ""
    return InputError(
        f'{path} has no column "{name}", only {_list_columns(header)}.{suggestion}',
        fix=f"{rename}its first line must name the columns {', '.join(required)}, separated by commas",
    )


def _row_error(where, n_cells, n_columns, named, needed):
    """Make the InputError for a row with too many cells, a control character or an empty required cell.

    Parameters
    ----------
    where : str, the path and line of the row, for the message
    n_cells : int, the number of cells in the row
    n_columns : int, the number of columns of the table
    named : dict, name of a column -> cell of the row
    needed : list of the names of columns that have no empty cell
    """
    if n_cells > n_columns:
        return InputError(
            f"{where}: {pluralise(n_cells, 'cell')} under {pluralise(n_columns, 'column')}",
            fix="put a cell that contains a comma, or another separator, in double quotes",
        )
    if unfit := next((name for name, cell in named.items() if not is_valid_cell(cell)), ""):
        return InputError(
            f'{where}, column "{unfit}": a control character in {named[unfit]!r}',
            fix="delete it, or rename the file it names",
        )
    empty = next(name for name in needed if not named[name])
    return InputError(f'{where}, column "{empty}": empty', fix="fill it in or delete the row")


def _list_columns(header):
    """Format the column names of a table for an error message.

    At most 30 names are shown, with at most 30 characters of each; unprintable characters are escaped.
    """
    shown = [escape_unprintable(name[:_COLUMNS_SHOWN], keep="") for name in header[:_COLUMNS_SHOWN]]
    return ", ".join(shown) + ", ..." * (len(header) > _COLUMNS_SHOWN)


_SAVE_AS = "save the table as CSV UTF-8 (in Excel: File > Save As > CSV UTF-8)"
_ZIP_SIGNATURE = b"PK\x03\x04"
_OTHER_FORMATS = {  # first bytes of other files -> (what they are, the remedy)
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook (.xls)", f"{_SAVE_AS}, or as .xlsx"),
    b"\x89HDF": ("an HDF5 file, not a table", "name a table, such as a .csv"),
    b"\xff\xfe": ('UTF-16 text, such as Excel\'s "Unicode Text"', _SAVE_AS),
    b"\xfe\xff": ('UTF-16 text, such as Excel\'s "Unicode Text"', _SAVE_AS),
}
_SEPARATORS = ",;\t"
_MAX_WORKBOOK_BYTES = 2**29  # of an unpacked workbook
_MAX_WORKBOOK_CELLS = 2**24  # including empty cells


def _read_cells(path, required):
    """Read a table, and yield (line number, list of str) for every row, including the header in line 1.

    Parameters
    ----------
    path : Path of a CSV file in UTF-8, gzipped or not, or of an Excel workbook (.xlsx)
    required : tuple of column names, by which the separator of a CSV file is found

    Raises
    ------
    InputError
        If the file is neither, or is malformed.
    """
    try:
        signature = read_first_bytes(path, 4)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if signature == _ZIP_SIGNATURE:
        yield from _sheet_rows(path)
        return
    for start, (what, fix) in _OTHER_FORMATS.items():
        if signature.startswith(start):
            raise InputError(f"{path} is {what}", fix=fix)
    lines = read_lines(path, fix=_SAVE_AS)
    first = next(lines, "")
    for line, row, fault in parse_csv_rows(chain([first], lines), _find_separator(first, required)):
        if fault:
            fix = 'close every double quote, and write one inside a cell as ""'
            raise InputError(f"{path}, line {line}: {fault}", fix=fix)
        yield line, row


def parse_csv_rows(lines, separator=","):
    """Parse lines of CSV text, and yield one item for every row, also for a row that cannot be parsed.

    Parameters
    ----------
    lines : iterable of str, with line ends
    separator : str, one character

    Yields
    ------
    line : int, the number of the first line of the row; the first line is 1
    cells : list of str; empty if the row cannot be parsed
    fault : str, why the row cannot be parsed; "" if it can
    """
    reader = csv.reader(lines, strict=True, delimiter=separator)
    line = 1
    while True:
        row: list = []
        fault = ""
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fault = str(error)
        yield line, row, fault
        line = reader.line_num + 1


def _plain_name(name):
    """Normalise the name of a column: lower case, with underscores for spaces and dashes."""
    return name.strip().casefold().replace(" ", "_").replace("-", "_")


def _find_separator(first, required):
    """Find the separator of a CSV file: a comma, semicolon or tab.

    Parameters
    ----------
    first : str, the first line of the file
    required : tuple of column names; by the right separator the line has all of them

    Returns
    -------
    str
        The separator; a comma if no separator gives all columns.
    """
    for separator in _SEPARATORS:
        names = {_plain_name(name.strip('"')) for name in first.split(separator)}
        if names.issuperset(required):
            return separator
    return ","


def _sheet_rows(path):
    """Read the first sheet of an Excel workbook, and yield (line number, list of str) for every row.

    Empty rows are skipped, except the first row, which is the header.

    Raises
    ------
    InputError
        If openpyxl is not installed, or the workbook is damaged or too large.
    """
    try:
        openpyxl = import_optional("openpyxl", "excel", f"{path} is an Excel workbook; reading it needs")
    except InputError as absent:
        raise InputError(absent.message, fix=f"{_SAVE_AS}; or {absent.fix}") from None
    try:
        file = open_regular_file(path)  # stays open while rows are read
        with zipfile.ZipFile(file) as archive:
            n_bytes = sum(member.file_size for member in archive.infolist())
        if n_bytes > (most := unpacked_size_limit(path, _MAX_WORKBOOK_BYTES)):
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
            if n_cells > _MAX_WORKBOOK_CELLS:
                raise InputError(
                    f"{path} has more than {_MAX_WORKBOOK_CELLS:,} cells, or claims to", fix=_SAVE_AS
                )
            if line == 1 or row.count(None) < len(row):
                yield line, [_cell_to_text(value) for value in row]
    except (InputError, GeneratorExit):
        raise
    except Exception as error:  # a damaged workbook may raise any exception
        raise InputError(f"{path} cannot be read as an Excel workbook: {error}", fix=_SAVE_AS) from None


def _cell_to_text(value):
    """Convert the value of an Excel cell to text.

    A whole float is written without a decimal point, an empty cell is "", and a date is 2023-04-06 00:00:00.
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
