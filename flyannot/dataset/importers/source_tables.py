"""CSV tables as others publish them, plain or gzipped: a bad row is handed on as such, never fatal."""

import ast
import warnings

from flyannot.base.text import is_fit_for_cells, printable_text
from flyannot.files.tables import read_csv_rows
from flyannot.files.text_files import read_lines

_MOST_TEXT = 100_000  # letters of one cell that holds a tuple
_MOST_SHOWN = 100  # letters of a cell that cannot be used

BAD_ROW = "not a row of a table"
CONTROL = "holds a control character"
NO_TUPLE = "not a tuple of texts"


def read_source_rows(path):
    """Yield every row of a CSV file that is not empty; a line that is not UTF-8 is read as Latin-1.

    Raises InputError if there is no such file, or it cannot be unpacked.

    Yields
    ------
    line : int, where the row begins
    cells : list of str without surrounding white space; in a row with a fault, what no table can hold is
        written as an escape, and long cells are cut
    fault : str, why the row cannot be used; "" if it can
    """
    lines = read_lines(path, fix="is this the table? Then download it again", is_latin1=True)
    for line, row, fault in read_csv_rows(lines):
        cells = [cell.strip() for cell in row]
        if not is_fit_for_cells("".join(cells)):
            fault = CONTROL
        if fault:
            cells = [printable_text(cell[:_MOST_SHOWN], keep="") for cell in cells]
        if fault or any(cells):
            yield line, cells, fault


def parse_texts(text):
    """Return the texts in a tuple or list that was written as Python prints it; never evaluated.

    Raises ValueError(NO_TUPLE) if it is anything else.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of backslashes
            texts = ast.literal_eval(text[:_MOST_TEXT])  # a longer one lacks its end
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        texts = None
    if not isinstance(texts, tuple | list) or not all(isinstance(word, str) for word in texts):
        raise ValueError(NO_TUPLE)
    texts = [" ".join(word.split()) for word in texts]
    if not is_fit_for_cells("".join(texts)):
        raise ValueError(NO_TUPLE)
    return texts
