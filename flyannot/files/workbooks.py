"""Reader of workbooks of spreadsheet programs (.xlsx): the rows of one sheet, as text.

Such a file is an archive of XML, which is read here row by row. All cells are read, whatever size the file
says that the sheet has. A cell with an error, such as #N/A, is read as its text. A formula whose result is
not stored is read as `NO_RESULT`.
"""

import logging
import os
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
MAX_COLUMNS = 2**14
_FREE_ELEMENTS = 2**20  # that a part may have, and
_ELEMENTS_PER_BYTE = 2  # of the file; a part has one for each of its own 15 bytes
_FREE_LETTERS = 2**24  # and cells that a table may have, and
_LETTERS_PER_BYTE = 50  # of the file
_MAX_LETTERS = 2**22  # of XML that are kept at once; for so many letters counts
_LETTERS_PER_ELEMENT = 16  # an element, or an attribute
_MAX_TAG = 2**20  # bytes of a tag of XML
_MAX_NAMES = 2**14  # of tags and attributes in one part
_XML_BLOCK = 2**16  # bytes that are unpacked at once
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
SIGNATURES = (b"PK\x03\x04", _OLD_EXCEL)
_DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}  # numbers of Excel
_ESCAPED = re.compile(r"_x([\dA-Fa-f]{4})_")  # letters that XML cannot have
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
    n_rows = n_letters = 0
    most_rows = row_limit(path)
    most_letters = _FREE_LETTERS + _LETTERS_PER_BYTE * os.stat(path).st_size  # a text may stand in every row
    wanted = Path(path).stem.casefold()
    for name, rows in sorted(sheets, key=lambda sheet: str(sheet[0]).casefold() != wanted):
        is_empty = True
        for line, cells in rows:
            n_rows += 1
            n_letters += 1 + len(cells) + sum(map(len, cells))
            if n_rows > most_rows or n_letters > most_letters:
                what = f"{path} has more than {most_letters:,} letters and cells, or claims to"
                raise InputError(what, fix=SAVE_AS)
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
    most = unpacked_size_limit(path, _MAX_BYTES)
    if sum(member.file_size for member in archive.infolist()) > most:
        raise InputError(f"{path} unpacks to more than {most:,} bytes", fix=SAVE_AS)
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

    Elements outside of these are passed over, so that a long part takes little memory.

    Parameters
    ----------
    archive : ZipFile
    name : str, the part
    wanted : tags without their namespace
    """
    from xml.etree.ElementTree import Element
    from xml.parsers import expat

    most = _FREE_ELEMENTS + _ELEMENTS_PER_BYTE * os.stat(archive.filename).st_size
    elements = _Elements(Element, wanted, most)
    parser = expat.ParserCreate()
    parser.buffer_text = True  # a text comes in large pieces, not line by line
    parser.StartElementHandler = elements.start
    parser.EndElementHandler = elements.end
    parser.CharacterDataHandler = elements.add_text
    n_bytes = 0
    with archive.open(name) as part:
        while block := part.read(_XML_BLOCK):
            parser.Parse(block)
            n_bytes += len(block)
            if n_bytes - parser.CurrentByteIndex > _MAX_TAG or len(parser.intern) > _MAX_NAMES:
                raise ValueError("an element of too many bytes, or too many names")
            yield from elements.complete
            elements.complete.clear()
    parser.Parse(b"", True)


class _Elements:
    """Builds the wanted elements of a part of an archive, from the calls of a parser of XML.

    The part may have a limited number of elements, and what is kept at once of elements, attributes and
    letters. ValueError is raised for more.

    make : function of a tag and a dict of attributes, which makes an element
    wanted : tags without their namespace; most : number of elements of the part
    """

    def __init__(self, make, wanted, most):
        self.complete = []
        self._make = make
        self._wanted = wanted
        self._left = most
        self._open = []  # a wanted element, and those within it that contain this place
        self._left_here = _MAX_LETTERS

    def start(self, tag, attributes):
        self._left -= 1
        if self._left < 0 or self._left_here < 0:
            raise ValueError("too many elements, in one row or in all")
        tag = tag.rpartition(":")[2]
        if self._open or tag in self._wanted:
            self._left_here -= _LETTERS_PER_ELEMENT * (1 + len(attributes))
            element = self._make(tag, attributes)
            for around in self._open[-1:]:
                around.append(element)
            self._open.append(element)

    def add_text(self, text):
        if self._open and not len(self._open[-1]):  # otherwise it follows another element, and is not shown
            self._left_here -= len(text)
            if self._left_here < 0:
                raise ValueError("a row or text of too many letters")
            self._open[-1].text = (self._open[-1].text or "") + text

    def end(self, tag):
        if self._open and (element := self._open.pop()).tag in self._wanted:
            self.complete.append(element)
        if not self._open:
            self._left_here = _MAX_LETTERS


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
        if element.tag == "workbookPr" and element.get("date1904") in ("1", "true"):
            epoch = _EPOCHS[1]
        is_stale |= element.get("fullCalcOnLoad") in ("1", "true")
        link = next((value for key, value in element.items() if key.rpartition(":")[2] == "id"), "")
        kind, part = targets.get(link, ("", ""))
        if kind == "worksheet" and element.get("state", "visible") == "visible":
            sheets.append((element.get("name"), part))

    def cell_text(cell):
        """Return the text of a cell."""
        value = next((part.text or "" for part in cell if part.tag == "v"), "")
        kind = cell.get("t", "n")
        is_formula = any(part.tag == "f" for part in cell)
        if is_formula and kind == "n" and (not value or (is_stale and value == "0")):
            return NO_RESULT
        if kind == "s":
            return texts[int(value)]
        if kind == "inlineStr":
            return _join_text(cell)
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind != "n" or not value:
            return _unescape(value)
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
    if not 0 < column <= MAX_COLUMNS:
        raise ValueError(f'no cell is called "{place}"')
    return column - 1


def _join_text(element):
    """Return the text of an XML element of an .xlsx file, without phonetic hints."""
    runs = (run for run in element.iter() if run.tag in ("r", "si", "is"))
    return _unescape("".join(part.text or "" for run in runs for part in run if part.tag == "t"))


def _unescape(text):
    """Return a text of an .xlsx file without Excel's escapes, such as _x000D_ for a line end."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _date_styles(archive, part):
    """Return the cell styles that show dates, as a set of their numbers in text, such as "14"."""
    dates = {str(number) for number in _DATE_FORMATS}
    styles = []
    for element in _read_elements(archive, part, "numFmt", "cellXfs"):
        if element.tag == "numFmt":
            code = _LITERALS.sub("", element.get("formatCode", "")).lower()
            change = dates.add if re.search("[dmyh]", code) else dates.discard
            change(element.get("numFmtId"))
        else:
            styles = [style.get("numFmtId") for style in element]
    return {str(number) for number, form in enumerate(styles) if form in dates}


def _format_number(number):
    """Format a number without a decimal point if it is whole."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else str(number)
