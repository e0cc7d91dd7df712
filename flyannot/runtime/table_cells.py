"""The rows of a table as cells of text: CSV separated by commas, semicolons or tabs, or an Excel workbook."""

import csv
import logging
import zipfile
from pathlib import Path

from flyannot.errors import InputError
from flyannot.runtime.optional_package import package

log = logging.getLogger("flyannot")

_SAVE_AS = "save the table as CSV UTF-8 (in Excel: File > Save As > CSV UTF-8)"
_ZIP, _OLD_EXCEL, _UTF_16 = b"PK\x03\x04", b"\xd0\xcf\x11\xe0", (b"\xff\xfe", b"\xfe\xff")
_HDF5 = b"\x89HDF"
_SEPARATORS = ",;\t"
_MOST_HEADER = 100_000  # letters
_MOST_BYTES = 2**29  # of a workbook, unpacked
_MOST_SHOWN = 40  # letters of a line that cannot be read


def read_cells(path, required):
    """Every row of a table as (line number, list of str); line 1 is the first.

    Parameters
    ----------
    path : Path of a CSV file in UTF-8, or of a workbook (.xlsx), of which the first sheet is read
    required : names of columns; that by which the first line splits into these is the separator

    Raises
    ------
    InputError
        If it is neither, or not written as it should be; names the line.
    """
    try:
        with open(path, "rb") as file:
            begins = file.read(4)
        if begins == _ZIP:
            yield from _sheet_rows(path)
            return
        if begins == _OLD_EXCEL:
            raise InputError(f"{path} is an old Excel workbook (.xls)", fix=f"{_SAVE_AS}, or as .xlsx")
        if begins == _HDF5:
            raise InputError(f"{path} is an HDF5 file, not a table", fix="name a table, such as a .csv")
        if begins.startswith(_UTF_16):
            raise InputError(f'{path} is UTF-16 text, as Excel\'s "Unicode Text"', fix=_SAVE_AS)
        with open(path, newline="", encoding="utf-8-sig") as file:
            yield from _csv_rows(path, file, _separator(file, required))
    except UnicodeDecodeError:
        line, text = _undecodable(path)
        raise InputError(
            f'{path}, line {line}: not UTF-8 text, but perhaps Latin-1: "{text}"', fix=_SAVE_AS
        ) from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def folded(name):
    """The name of a column but for capitals, spaces and dashes."""
    return name.strip().casefold().replace(" ", "_").replace("-", "_")


def _separator(file, required):
    """A comma, unless the first line has the required columns only when it is split by another one."""
    first = file.readline(_MOST_HEADER)
    file.seek(0)
    for separator in _SEPARATORS:
        names = {folded(name.strip('"')) for name in first.split(separator)}
        if names.issuperset(required):
            return separator
    return ","


def _csv_rows(path, file, separator):
    reader = csv.reader(file, strict=True, delimiter=separator)
    begins = 1
    try:
        for row in reader:
            yield begins, row
            begins = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path}, line {begins}: {error}",
            fix='close every double quote, and write one inside a cell as ""',
        ) from None


def _sheet_rows(path):
    try:
        openpyxl = package("openpyxl", "excel", f"{path} is an Excel workbook; reading it needs")
    except InputError as absent:
        raise InputError(absent.message, fix=f"{_SAVE_AS}; or {absent.fix}") from None
    try:
        with zipfile.ZipFile(path) as archive:
            n_bytes = sum(member.file_size for member in archive.infolist())
        if n_bytes > _MOST_BYTES:
            raise InputError(f"{path} unpacks to more than {_MOST_BYTES:,} bytes", fix=_SAVE_AS)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        if len(book.worksheets) > 1:
            log.info('note: %s has %d sheets; "%s", the first, is read',
                     Path(path).name, len(book.worksheets), sheet.title)  # fmt: skip
        for line, row in enumerate(sheet.iter_rows(values_only=True), start=1):
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


def _undecodable(path):
    """The number of the first line that is not UTF-8, and how it begins as Latin-1."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                text = line.decode("latin-1").strip()[:_MOST_SHOWN]
                return number, text if text.isprintable() else repr(text)
    return 1, ""  # a sequence cut by the end of the file, or changed meanwhile
