"""Tables: a reader that reports the line and column of every error, and an atomic writer.

A table is CSV, or a sheet of a workbook (.xlsx). CSV has quotes as in RFC 4180, any encoding of
`read_lines`, and may be gzipped. Commas, semicolons, tabs or bars separate its cells; a first line such as
sep=; says which. Lines above the names of the columns are skipped. Columns may be in any order, and the case
of their names is ignored. Columns that the caller does not name are ignored.

A spreadsheet would run a cell that begins with = + - or @ and is not a number. Such a cell is written with a
leading apostrophe, which is removed when the table is read.
"""

import csv
import io
import logging
import re
from collections import deque
from itertools import chain, islice
from pathlib import Path

from flyannot.base.errors import InputError, did_you_mean
from flyannot.base.text import clean_name, escape_unprintable, is_valid_cell, pluralise
from flyannot.files.atomic_file import write_text
from flyannot.files.content_kind import HEAD_BYTES, WEB_PAGE, ContentKind, recognise_content
from flyannot.files.text_files import WAY_IN, read_first_bytes, read_lines
from flyannot.files.workbooks import MAX_COLUMNS, NO_RESULT, SAVE_AS, SIGNATURES, read_sheet

log = logging.getLogger("flyannot")
_GUARDED = re.compile(r"'+[=+\-@＝＋－＠\t\r]")  # cells whose apostrophe is removed when they are read
_GUARDS = "'=+-@＝＋－＠\t\r"  # first characters of cells that may need an apostrophe
# Cells that a spreadsheet would run; a negative number is not a formula.
_NEEDS_GUARD = re.compile(r"(?![+-]?\d+(\.\d*)?([eE][+-]?\d+)?\Z)'*[=+\-@＝＋－＠\t\r]")
_LINE_END = re.compile(r"\r\n?")
_BREAK = re.compile(r"[\n\t]")  # in the text of a note
_NO_NAME = re.compile(r"|Unnamed: \d+")  # the second is by pandas
_COLUMNS_SHOWN = 30  # names of columns in a message, and characters of each name
_SEPARATORS = ",;\t|"
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?', re.IGNORECASE)  # Excel reads this line and hides it
_MARK = "ï»¿"  # a byte-order mark that a program read as Windows-1252
_MAX_ROWS_ABOVE = 20  # rows among which the names of the columns are searched
_MAX_LINES_OF_ROW = 100
_MOST_LONGER = 1.5  # times the length of a column's name that a similar name may have
_MIN_CELLS = 3  # of a line that is surely a row of its own
_LONG_CELL = f"a cell of more than {csv.field_size_limit():,} characters"
_MAX_FAULTS = 10_000  # rows that are reported before the rest of a table is not read
_QUOTES = 'close every double quote, and write one inside a cell as ""'
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*(\[\s*)?\{\s*"')  # the start of an object, or of a list of them
_TEXTS = ("", "UTF-16 text", "a gzip file", "an empty file")  # kinds of contents that may be CSV


class RowError(InputError):
    """The error for a row of a table that cannot be used.

    line : int, its line in the file; cells : dict, column -> cell, as far as it is known
    """

    def __init__(self, message, *, fix, line, cells=()):
        super().__init__(message, fix=fix)
        self.line = line
        self.cells = dict(cells)


class MissingColumnsError(InputError):
    """The error raised if a table lacks columns; other columns of the table may be them.

    words : dict, missing column -> the column of the table that may be it
    """

    def __init__(self, message, *, words, fix):
        super().__init__(message, fix=suggest_header_words(words) if words else fix)
        self.words = words


def suggest_header_words(words):
    """Return the remedy (str) for columns with other names: the option --columns that names them.

    words : dict, column -> its name in the table
    """
    pairs = ",".join(map("=".join, words.items()))
    quote = "'" if re.search(r"[^\w=,.-]", pairs) else ""
    return f"add --columns {quote}{pairs}{quote}"


def read_table(
    path,
    required,
    optional=(),
    *,
    columns=None,
    meant=None,
    faults=None,
    may_be_empty=(),
    may_lack=(),
    free=(),
    others=None,
):
    """Read the named columns of a table (CSV or workbook), and yield one item for each row.

    Empty rows are skipped, and so are rows that repeat the names of the columns. Cells are stripped of white
    space; cells of optional columns that the table lacks are "".

    Parameters
    ----------
    path : Path of the table
    required : tuple of column names that the table must have, without empty cells
    optional : tuple of column names that the table may have
    columns : dict, column -> name that it may also have in the table; None for the usual names
    meant : dict, column -> tuple of other names that people write for it, which error messages suggest
    faults : list or None; if it is a list, the RowErrors of faulty rows are appended to it and the rows are
        skipped. If it is None, the first faulty row raises its error
    may_be_empty : names of required columns whose cells may be empty
    may_lack : names of required columns that may be missing, unless another column may be meant
    free : names of columns whose cells may have line breaks
    others : list or None; a list gets the names of all other columns, whose cells may have line breaks, too

    Yields
    ------
    line : int, the line number of the row in the file
    cells : list of str, in the order of `required + optional + others`

    Raises
    ------
    InputError
        If the file is missing or cannot be read, or a column is missing or repeated. A row is faulty if a
        double quote is not closed, or if it has too many cells. It is also faulty if a named column has an
        empty cell that must be filled, a control character, or a formula without a result.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no such table: {path}", fix=f"create it with the columns {', '.join(required)}")
    words = {column: _plain_name(word) for column, word in (columns or {}).items()}
    certain = [{name, words.get(name, name)} for name in required if name not in may_lack]
    is_workbook, rows = _open_rows(path, certain)
    header, rows = _find_header(path, rows, certain)
    places = _find_columns(path, header, required, optional, words, meant or {}, may_lack)
    n_columns = len(header)
    names = [(header + [""])[place] for place in places]
    unnamed = [k for k in range(min(places), n_columns) if _NO_NAME.fullmatch(header[k])]
    breaks = [k for k, name in enumerate(required + optional) if name in free]
    if others is not None:
        own = [k for k, name in enumerate(header) if k not in places and not _NO_NAME.fullmatch(name)]
        others.extend(_remove_guard(header[k]) for k in own)
        breaks += [len(places) + k for k in range(len(own))]
        places += own
        names += [header[k] for k in own]
    n_unread = 0  # rows with cells to the right of the first column, in columns without a name
    filled = [column for column, name in enumerate(required) if name not in may_be_empty]
    for line, row, fault in rows:
        if len(faults or ()) > _MAX_FAULTS:
            what = f"more than {_MAX_FAULTS:,} faulty rows: {faults[0].message}"
            raise InputError(f"{path} has {what}", fix=faults[0].fix)
        n_cells = len(row)
        is_long = not is_workbook and n_cells > n_columns and any(map(str.strip, row[n_columns:]))
        row += [""] * (n_columns + 1 - n_cells)  # the last cell is read for columns that the table lacks
        cells = [row[place].strip() if place < n_columns else "" for place in places]
        if cells == names:
            continue
        checked = cells.copy() if breaks else cells
        for k in breaks:
            cells[k] = _LINE_END.sub("\n", cells[k])
            checked[k] = _BREAK.sub("", cells[k])
        if fault or is_long or not all(cells[k] for k in filled) or not is_valid_cell("".join(checked)):
            named = dict(zip((*required, *optional, *(others or ())), checked))
            needed = [required[k] for k in filled]
            too_long = is_long and (n_cells, n_columns)
            what, fix = _describe_row_fault(f"{path}, line {line}", fault, too_long, named, needed)
            error = RowError(what, fix=fix, line=line, cells=named)
            if faults is None:
                raise error
            faults.append(error)
            continue
        if beside := " ".join([row[k] for k in unnamed] + row[n_columns:]).strip():
            n_unread += 1
            if n_unread == 1:
                first = f'"{escape_unprintable(beside[:_COLUMNS_SHOWN], keep="")}" in line {line}'
        yield line, [_remove_guard(cell) if cell[:1] == "'" else cell for cell in cells]
    if n_unread:
        what = f"cells in columns without a name are not read ({pluralise(n_unread, 'row')}), such as {first}"
        log.warning("warning: %s: %s", path.name, what)


def _remove_guard(cell):
    return cell[1:] if _GUARDED.match(cell) else cell


def is_table_of(path, columns):
    """Return True if a file is a CSV table with these columns, none of them empty in its first row.

    Such a table was written by us.
    """
    try:
        next(read_table(path, columns), None)
    except InputError:
        return False
    return True


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


def write_csv_rows(file, rows):
    """Write rows to an open text file as CSV.

    A cell that a spreadsheet would run as a formula is written with a leading apostrophe.

    Parameters
    ----------
    file : open text file
    rows : iterable of rows, each an iterable of values
    """
    writer = csv.writer(file, lineterminator="\n")
    for row in rows:
        cells = map(str, row)
        writer.writerow([f"'{c}" if c and c[0] in _GUARDS and _NEEDS_GUARD.match(c) else c for c in cells])


def _find_header(path, rows, required):
    """Find the row that names the columns: the first row with all required names, otherwise the first row.

    Rows above it are skipped, with a note.

    Parameters
    ----------
    path : Path of the table
    rows : iterator of (line, cells, fault)
    required : list of sets, as in `_open_rows`

    Returns
    -------
    header : list of str, the names of the columns
    rows : iterator of the rows below
    """
    first = list(islice(rows, _MAX_ROWS_ABOVE))
    number = next((n for n, (_, cells, _) in enumerate(first) if _has_columns(cells, required)), 0)
    if number:
        said = "note: %s: line %d has the names of the columns; the lines above are left out"
        log.info(said, path.name, first[number][0])
    header = [name.strip() for name in first[number][1]] if first else []
    return header, chain(first[number + 1 :], rows)


def _has_columns(cells, required):
    """Return True if a row has a name of every required column, among the first MAX_COLUMNS cells."""
    plain = set(map(_plain_name, cells[:MAX_COLUMNS]))
    return all(map(plain.intersection, required))


def _find_columns(path, header, required, optional, words, meant, may_lack):
    """Return the index in the header (int) of each column in `required + optional`, in this order.

    The index of an optional column that the table lacks is `len(header)`.

    Parameters
    ----------
    path : Path of the table, for error messages
    header : list of str, the names of the columns in the table
    words : dict, column -> its other name, as `_plain_name` normalises it
    required, optional, meant, may_lack : as in `read_table`

    Raises
    ------
    InputError
        If a required column is missing, or a column is repeated.
    """
    if len(header) > MAX_COLUMNS:
        what = f"{path} has {len(header):,} columns; a table has at most {MAX_COLUMNS:,}"
        raise InputError(what, fix="leave out the columns that flyannot does not read")
    if not any(header):
        raise InputError(f"{path} is empty", fix=f"its first line must be {','.join(required)}")
    plain = [_plain_name(name) for name in header]
    places = []
    for name in required + optional:
        word = words[name] if words.get(name) in plain else name
        same = [column for column, plain_column in zip(header, plain) if plain_column == word]
        if len(same) > 1:
            named = '" and "'.join(same)
            what = f'{path}: the columns "{named}" have one name'
            raise InputError(f"{what}: capitals and spaces do not count", fix="rename or delete one of them")
        places.append(plain.index(word) if same else len(header))
    others = [column for place, column in enumerate(header) if place not in places]
    missing = [name for name, place in zip(required + optional, places) if place == len(header)]
    unsure = [name for name in others if not any(_plain_name(name) in words for words in meant.values())]
    found = {}  # missing column -> the column that may be it
    for name in missing:
        alike = [column for column in others if _plain_name(column) in meant.get(name, ())]
        if not alike and name in required:
            short = [column for column in unsure if len(column) < _MOST_LONGER * len(name)]
            alike = [column for column in short if did_you_mean(name, [_plain_name(column)])]
        numbered = [column for column in others if re.fullmatch(rf"{name}_?\d+", _plain_name(column))]
        if len(numbered) > 1:
            what = f"{path} has several columns for {name}: {', '.join(numbered)}"
            raise InputError(what, fix=f"write a row for each, with one column called {name}")
        if alike:
            found[name] = alike[0]
    may_be = ", ".join(f'"{column}" may be "{name}"' for name, column in found.items())
    needed = [name for name in missing if name in required and (name in found or name not in may_lack)]
    if needed:
        shown = [escape_unprintable(name[:_COLUMNS_SHOWN], keep="") for name in header[:_COLUMNS_SHOWN]]
        only = ", ".join(shown) + ", ..." * (len(header) > _COLUMNS_SHOWN)
        only += f". The column {may_be}" if found else ""
        words = found if meant and found.keys() >= set(needed) else {}  # other tables have no --columns
        fix = f"write the names of the columns, {', '.join(required)} in one line of the table"
        raise MissingColumnsError(f'{path} has no column "{needed[0]}", only {only}', words=words, fix=fix)
    if found:
        log.warning("warning: %s: the column %s; %s", path.name, may_be, suggest_header_words(found))
    return places


def _describe_row_fault(where, fault, too_long, named, needed):
    """Return what is wrong with a faulty row, and the remedy.

    Parameters
    ----------
    where : str, the path and line of the row, for the message
    fault : str, why the row cannot be parsed, or ""
    too_long : (number of cells, number of columns) if the row has too many cells, otherwise False
    named : dict, name of a column -> cell of the row
    needed : list of the names of columns that have no empty cell
    """
    if fault:
        fix = f"shorten it, or {_QUOTES}" if fault == _LONG_CELL else _QUOTES
        return f"{where}: {fault}", fix
    if too_long:
        n_cells, n_columns = too_long
        fix = "put a cell that contains a comma, or another separator, in double quotes; "
        fix += "in R, write the table with row.names = FALSE"
        return f"{where}: {pluralise(n_cells, 'cell')} under {pluralise(n_columns, 'column')}", fix
    if unfit := next((name for name, cell in named.items() if not is_valid_cell(cell)), ""):
        where = f'{where}, column "{unfit}"'
        if named[unfit] == NO_RESULT:
            fix = "open the workbook in Excel or LibreOffice, and save it again"
            return f"{where}: a formula whose result is not stored", fix
        is_split = "\n" in named[unfit]
        fix = f"write it in one line, and {_QUOTES}" if is_split else "delete it, or rename that file"
        return f"{where}: a control character in {named[unfit]!r}", fix
    empty = next(name for name in needed if not named[name])
    fix = "fill it in or delete the row (of merged cells, only the first has the text)"
    return f'{where}, column "{empty}": empty', fix


def read_rows(path):
    """Read a table (CSV or workbook), and yield one item for every row that is not empty.

    The separator of a CSV file is the one that gives the first line most cells.

    Yields
    ------
    line : int, the number of the first line of the row, from 1
    cells : list of str, as far as the row can be parsed
    fault : str, why the row cannot be parsed; "" if it can

    Raises
    ------
    InputError
        If the file is no table or cannot be read.
    """
    return _open_rows(path, ())[1]


def _open_rows(path, required):
    """Return whether a table is a workbook, and the iterator of its rows, as `read_rows` yields them.

    required : list of sets, the names of each column by which the separator of a CSV file is found
    """
    fix = "give a table, such as a .csv"
    try:
        start = read_first_bytes(path, HEAD_BYTES)
    except OSError as error:
        fix = WAY_IN.get(type(error), fix)
        raise InputError(f"cannot read {path}: {error.strerror or error}", fix=fix) from error
    is_json = _JSON.match(start)
    kind = ContentKind("JSON", "save what it holds as CSV") if is_json else recognise_content(start)
    is_workbook = start.startswith(SIGNATURES)
    if is_workbook:
        rows = ((line, cells, "") for line, cells in read_sheet(path))
    elif kind.name in _TEXTS:
        rows = _csv_rows(path, required)
    else:  # some programs write web pages that are called .xls
        by_hand = "; if a spreadsheet program opens it, save it from there as .xlsx" * (kind is WEB_PAGE)
        raise InputError(f"{path} is {kind.name}, not a table", fix=(kind.fix or fix) + by_hand)
    return is_workbook, (row for row in rows if row[2] or "".join(row[1]).strip())


def _csv_rows(path, required):
    """Yield (line, cells, fault) for every row of a CSV file; the parameters are as in `_open_rows`."""
    lines = read_lines(path, fix=SAVE_AS)
    head = list(islice(lines, _MAX_ROWS_ABOVE))
    named = _SEPARATOR_LINE.fullmatch(head[0].strip(" \r\n")) if head else None
    separator = named[1] if named else _find_separator(head, required)
    lines = chain(head, lines)
    _, first, _ = next(parse_csv_rows(head, separator), (0, [], ""))
    if len(first) == 1 and separator in first[0] and _has_columns(first[0].split(separator), required):
        # Excel writes each row of a file with another separator than its own as one quoted cell.
        lines = ("".join(cells) for _, cells, _ in parse_csv_rows(lines, separator))
    rows = parse_csv_rows(lines, separator)
    return islice(rows, 1, None) if named else rows


def parse_csv_rows(lines, separator=","):
    """Parse lines of CSV text, and yield one item for every row, also for a row that cannot be parsed.

    A double quote that is not closed makes only the row in which it stands faulty. The quote is not closed
    if the text up to the next quote cannot be parsed, or contains a line with as many cells as a row.

    Parameters
    ----------
    lines : iterable of str, with line ends
    separator : str, one character

    Yields
    ------
    line : int, the number of the first line of the row; the first line is 1
    cells : list of str, as far as the row can be parsed
    fault : str, why the row cannot be parsed; "" if it can
    """
    lines = iter(lines)
    waiting: deque = deque()  # lines that were read behind an open quote
    n_cells = set()  # numbers of cells of the rows so far
    number = 1

    def parse(some, *, strict=True):
        """Return the cells of the first row of some lines, and the fault."""
        try:
            return next(csv.reader(some, strict=strict, delimiter=separator, skipinitialspace=True), []), ""
        except csv.Error as error:
            return [], _LONG_CELL if "limit" in str(error) else str(error)

    while line := waiting.popleft() if waiting else next(lines, ""):
        if '"' not in line and len(line) < csv.field_size_limit():
            cells = line.rstrip("\r\n").split(separator)
            n_cells.add(len(cells))
            yield number, cells, ""
            number += 1
            continue
        taken = [line]
        cells, fault = parse(_record_lines(taken, waiting, lines))
        alone = (len(parse([other])[0]) for other in taken[1:] if other.count('"') % 2 == 0)
        if len(taken) > 1 and (fault or any(n >= _MIN_CELLS and n in n_cells for n in alone)):
            waiting.extendleft(reversed(taken[1:]))
            del taken[1:]
            fault = "a double quote is not closed"
        if fault:
            cells, _ = parse([line], strict=False)
        else:
            n_cells.add(len(cells))
        yield number, cells, fault
        number += len(taken)


def _record_lines(taken, waiting, lines):
    """Yield the line in the list `taken`, and further lines, which are added to that list.

    They are first the lines of the deque `waiting`, then the lines of an iterator; at most 100.
    """
    yield taken[0]
    while len(taken) < _MAX_LINES_OF_ROW and (line := waiting.popleft() if waiting else next(lines, "")):
        taken.append(line)
        yield line


def _plain_name(name):
    """Normalise the name of a column: lower case, with underscores for spaces and dashes, without #."""
    return re.sub(r"[\s-]+", "_", clean_name(name).removeprefix(_MARK).strip().strip('"#').strip().casefold())


def _find_separator(head, required):
    """Find the separator of a CSV file: a comma, semicolon, tab or bar.

    Parameters
    ----------
    head : list of str, the first lines of the file
    required : list of sets, as in `_open_rows`; by the right separator, a line has a name of each

    Returns
    -------
    str
        The separator; if no line has all columns, the one that gives the first line most cells.
    """
    for line in head if required else ():
        for separator in _SEPARATORS:
            if _has_columns(line.split(separator), required):
                return separator
    first = next((line for line in head if line.strip(" \r\n,;")), "")
    return max(",;\t", key=lambda separator: len(next(parse_csv_rows([first], separator), (0, []))[1]))
