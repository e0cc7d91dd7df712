"""Reader of workbooks of spreadsheet programs (.xlsx): the rows of one sheet, as text.

Such a file is an archive of XML, which is read here row by row. All cells are read, whatever size the file
says that the sheet has. A cell with an error, such as #N/A, is read as its text. A formula whose result is
not stored is read as `NO_RESULT`.
"""

import logging
import re
from datetime import datetime, timedelta
from pathlib import Path
from posixpath import join, normpath

from flyannot.base.errors import InputError
from flyannot.files.text_files import open_regular_file, row_limit, unpacked_size_limit

log = logging.getLogger("flyannot")
NO_RESULT = "\0formula"  # no text of a workbook has this character
SAVE_AS = "save the table as CSV UTF-8 (in Excel: File > Save As > CSV UTF-8)"
_MAX_BYTES = 2**29  # of an unpacked workbook
_MAX_CELLS = 2**24  # including empty cells
_MAX_COLUMNS = 2**14
_MAX_ELEMENTS = 2**18  # of XML that are kept at once: a row has a few for each cell
_MAX_XML_PIECE = 2**20  # bytes of XML in which no element begins
_ENTITY = b"<!ENTITY"
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
SIGNATURES = (b"PK\x03\x04", _OLD_EXCEL)
_DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}  # numbers of Excel
_LITERALS = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|[_*].')  # parts of a number format that are no codes
_EPOCHS = datetime(1899, 12, 30), datetime(1904, 1, 1)  # of serial dates; the second is of old Macs
_SAVE_AS_XLSX = "save it in a spreadsheet program as .xlsx, without a password"


def read_sheet(path):
    """Read the first sheet of a workbook that is not hidden and not empty.

    A sheet with the name of the file, such as images, is taken first.

    Parameters
    ----------
    path : Path of the workbook

    Yields
    ------
    line : int, the number of the row in the sheet, from 1; empty rows may be left out
    cells : list of str

    Raises
    ------
    InputError
        If the file is no workbook, has a password, is damaged, or would take too much memory.
    """
    try:
        with open_regular_file(path) as file:
            if file.peek(4)[:4] == _OLD_EXCEL:
                raise InputError(f"{path} is an old workbook (.xls), or has a password", fix=_SAVE_AS_XLSX)
            yield from _first_rows(path, _packed_sheets(path, file))
    except (InputError, GeneratorExit, MemoryError):
        raise
    except Exception as error:  # a damaged workbook may raise any exception
        fix = f"copy it again or, if a spreadsheet program opens it, {SAVE_AS}"
        reason = getattr(error, "strerror", None) or "it is damaged or cut short"
        raise InputError(f"{path} cannot be read as a workbook: {reason}", fix=fix) from error


def _first_rows(path, sheets):
    """Yield the rows of the sheet with the name of the file, or of the first sheet, that has any.

    Parameters
    ----------
    path : Path of the workbook, for messages
    sheets : list of (name, iterator of rows) of the sheets that are not hidden
    """
    n_cells = n_rows = n_letters = 0
    most_rows = row_limit(path)
    most_letters = unpacked_size_limit(path, _MAX_BYTES)  # a shared text may stand in every row
    wanted = Path(path).stem.casefold()
    for name, rows in sorted(sheets, key=lambda sheet: str(sheet[0]).casefold() != wanted):
        is_empty = True
        for line, cells in rows:
            n_cells += len(cells) + 1
            n_rows += 1
            if n_cells > _MAX_CELLS or n_rows > most_rows:
                raise InputError(f"{path} has more than {_MAX_CELLS:,} cells, or claims to", fix=SAVE_AS)
            n_letters += sum(map(len, cells))
            if n_letters > most_letters:
                raise InputError(f"{path} unpacks to more than {most_letters:,} letters", fix=SAVE_AS)
            if is_empty and any(cells) and len(sheets) > 1:
                log.info('note: %s has %d sheets; only "%s" is read', Path(path).name, len(sheets), name)
            is_empty &= not any(cells)
            yield line, cells
        if not is_empty:
            return


def _packed_sheets(path, file):
    """Return the sheets of an .xlsx file that are not hidden as a list of (name, iterator of rows).

    Parameters
    ----------
    path : Path of the file, for messages
    file : the file, open for reading bytes
    """
    from zipfile import ZipFile  # on demand, as few tables are workbooks

    archive = ZipFile(file)
    names = set(archive.namelist())
    if sum(member.file_size for member in archive.infolist()) > unpacked_size_limit(path, _MAX_BYTES):
        raise InputError(
            f"{path} unpacks to more than {unpacked_size_limit(path, _MAX_BYTES):,} bytes", fix=SAVE_AS
        )
    if "xl/workbook.xml" in names:
        return _xlsx_sheets(archive)
    if "content.xml" in names:
        raise InputError(f"{path} is a workbook of OpenDocument (.ods)", fix=_SAVE_AS_XLSX)
    if "xl/workbook.bin" in names:
        raise InputError(f"{path} is a binary workbook (.xlsb)", fix=f"{SAVE_AS}, or as .xlsx")
    if any(name.endswith(".iwa") for name in names):
        raise InputError(f"{path} is a file of Numbers", fix="export it from Numbers as CSV or Excel")
    raise InputError(f"{path} is a zip archive, not a table", fix="unpack it, and give the table in it")


def _read_elements(archive, name, *wanted):
    """Yield the XML elements of one part of an archive that have a wanted tag, each when it is complete.

    The element is emptied afterwards, so that a long part takes little memory. A wanted element that has too
    many parts raises ValueError.

    Parameters
    ----------
    archive : ZipFile
    name : str, the part
    wanted : tags without their namespace
    """
    from xml.etree.ElementTree import iterparse

    around = []
    n_wanted = 0  # elements around this one that are still needed as a whole
    n_kept = 0
    with archive.open(name) as part:
        for event, element in iterparse(_CheckedXml(part), ("start", "end")):
            tag = _tag(element)
            if event == "start":
                n_kept += 1
                if n_kept > _MAX_ELEMENTS:
                    raise ValueError(f"a row or text of more than {_MAX_ELEMENTS:,} elements")
                around.append(element)
                n_wanted += tag in wanted
                continue
            around.pop()
            if tag in wanted:
                yield element
                n_wanted -= 1
            if not n_wanted:
                n_kept = len(around)
                for emptied in (element, *around[-1:]):
                    del emptied[:]


class _CheckedXml:
    """A part of an archive whose `read` raises ValueError for XML that takes much more memory than its size.

    Such XML has entities, or elements with very many attributes.
    """

    def __init__(self, part):
        self._part = part
        self._n_bytes = 0  # since the last beginning of an element
        self._end = b""

    def read(self, n_bytes=-1, /):
        block = self._part.read(n_bytes)
        self._n_bytes = 0 if b"<" in block else self._n_bytes + len(block)
        plain = (self._end + block).replace(b"\0", b"")
        self._end = plain[-len(_ENTITY) :]
        if self._n_bytes > _MAX_XML_PIECE or _ENTITY in plain:
            raise ValueError("a text or element of too many bytes, or entities")
        return block


def _tag(element):
    return element.tag.rpartition("}")[2]


def _xlsx_sheets(archive):
    """Return the sheets of an .xlsx file that are not hidden as a list of (name, iterator of rows)."""
    parts = {}
    targets = {}
    for link in _read_elements(archive, "xl/_rels/workbook.xml.rels", "Relationship"):
        kind = link.get("Type", "").rpartition("/")[2]
        targets[link.get("Id")] = kind, normpath(join("/xl", link.get("Target", ""))).lstrip("/")
        parts[kind] = targets[link.get("Id")][1]
    texts = []
    if "sharedStrings" in parts:
        texts = [_join_text(text) for text in _read_elements(archive, parts["sharedStrings"], "si")]
    date_styles = _date_styles(archive, parts["styles"]) if "styles" in parts else ()
    epoch = _EPOCHS[0]
    is_stale = False
    sheets = []
    for element in _read_elements(archive, "xl/workbook.xml", "sheet", "workbookPr", "calcPr"):
        if _tag(element) == "workbookPr" and element.get("date1904") in ("1", "true"):
            epoch = _EPOCHS[1]
        is_stale |= element.get("fullCalcOnLoad") in ("1", "true")
        link = next((value for key, value in element.items() if key.rpartition("}")[2] == "id"), "")
        kind, part = targets.get(link, ("", ""))
        if kind == "worksheet" and element.get("state", "visible") == "visible":
            sheets.append((element.get("name"), part))

    def cell_text(cell):
        """Return the text of a cell."""
        value = next((part.text or "" for part in cell if _tag(part) == "v"), "")
        kind = cell.get("t", "n")
        is_formula = any(_tag(part) == "f" for part in cell)
        if is_formula and kind == "n" and (not value or (is_stale and value == "0")):
            return NO_RESULT
        if kind == "s":
            return texts[int(value)]
        if kind == "inlineStr":
            return _join_text(cell)
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind != "n" or not value:
            return value
        number = float(value)
        return str(epoch + timedelta(number)) if cell.get("s") in date_styles else _format_number(number)

    return [(name, _xlsx_rows(archive, part, cell_text)) for name, part in sheets]


def _xlsx_rows(archive, part, cell_text):
    """Yield (line, cells) of the rows of a sheet of an .xlsx file.

    `cell_text` is a function from the XML element of a cell to its text.
    """
    line = n_hidden = 0
    for row in _read_elements(archive, part, "row"):
        line = int(row.get("r", line + 1))
        n_hidden += row.get("hidden") in ("1", "true")
        cells = []
        for cell in row:
            column = _column_index(cell.get("r", "")) if cell.get("r") else len(cells)
            cells += [""] * (column + 1 - len(cells))
            cells[column] = cell_text(cell)
        yield line, cells
    if n_hidden:
        what = f"hidden rows ({n_hidden:,}) are read, too; delete them if they do not count"
        log.warning("warning: %s: %s", Path(archive.filename).name, what)


def _column_index(place):
    """Return the index of the column of a cell, from 0, by its place such as "AB12"."""
    column = 0
    for letter in place.rstrip("0123456789"):
        column = 26 * column + ord(letter) - ord("A") + 1
    if not 0 < column <= _MAX_COLUMNS:
        raise ValueError(f'no cell is called "{place}"')
    return column - 1


def _join_text(element):
    """Return the text of an XML element of an .xlsx file, without phonetic hints."""
    runs = (run for run in element.iter() if _tag(run) in ("r", "si", "is"))
    return "".join(part.text or "" for run in runs for part in run if _tag(part) == "t")


def _date_styles(archive, part):
    """Return the cell styles that show dates, as a set of their numbers in text, such as "14"."""
    dates = {str(number) for number in _DATE_FORMATS}
    styles = []
    for element in _read_elements(archive, part, "numFmt", "cellXfs"):
        if _tag(element) == "numFmt":
            code = _LITERALS.sub("", element.get("formatCode", "")).lower()
            change = dates.add if re.search("[dmyh]", code) else dates.discard
            change(element.get("numFmtId"))
        else:
            styles = [style.get("numFmtId") for style in element]
    return {str(number) for number, form in enumerate(styles) if form in dates}


def _format_number(number):
    """Format a number without a decimal point if it is whole."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else str(number)
