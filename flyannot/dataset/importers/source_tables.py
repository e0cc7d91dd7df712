"""Rows of CSV tables as others publish them; a row that cannot be used is reported, and is no error."""

import ast
import warnings

from flyannot.base.text import escape_unprintable, is_valid_cell
from flyannot.files.tables import parse_csv_rows
from flyannot.files.text_files import read_lines

_MOST_TEXT = 100_000  # letters of a cell with a tuple
_MOST_SHOWN = 100  # letters of a cell in a row that cannot be used

BAD_ROW = "not a row of a table"
CONTROL = "a control character"
NO_TUPLE = "not a tuple of texts"


def read_source_rows(path):
    """Yield every row of a CSV file that is not empty.

    The file may be gzipped.  A line that is not UTF-8 is read as Latin-1.

    Yields
    ------
    line : int, the first line of the row
    cells : list of str without surrounding white space.  In a row with a fault, control characters are
        written as escapes and long cells are cut
    fault : str, why the row cannot be used; "" if it can

    Raises
    ------
    InputError
        If the file does not exist or cannot be unpacked.
    """
    lines = read_lines(path, fix="is this the table? Then download it again", is_latin1=True)
    for line, row, fault in parse_csv_rows(lines):
        cells = [cell.strip() for cell in row]
        if not is_valid_cell("".join(cells)):
            fault = CONTROL
        if fault:
            cells = [escape_unprintable(cell[:_MOST_SHOWN], keep="") for cell in cells]
        if fault or any(cells):
            yield line, cells, fault


def parse_python_texts(text):
    """Return the texts of a tuple or list that is written as Python prints it; no code is run.

    Raises
    ------
    ValueError
        With the text NO_TUPLE, if it is anything else.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns about backslashes
            texts = ast.literal_eval(text[:_MOST_TEXT])  # a longer text is cut, and then is no tuple
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        texts = None
    if not isinstance(texts, tuple | list) or not all(isinstance(word, str) for word in texts):
        raise ValueError(NO_TUPLE)
    texts = [" ".join(word.split()) for word in texts]
    if not is_valid_cell("".join(texts)):
        raise ValueError(NO_TUPLE)
    return texts
