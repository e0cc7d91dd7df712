"""Rows of tables as others publish them; a row that cannot be used is reported, and is no error."""

import ast
import re
import warnings

from flyannot.base.text import escape_unprintable, is_valid_cell
from flyannot.files.tables import read_rows

_MOST_TEXT = 100_000  # letters of a cell with a tuple
_MOST_SHOWN = 100  # letters of a cell in a row that cannot be used

BAD_ROW = "not a row of a table"
CONTROL = "a control character"
NO_TUPLE = "neither one name nor a tuple such as ('a', 'b')"
_ONE_TEXT = re.compile(r"""[^'"()\[\]{},;|\\]+""")


def read_source_rows(path):
    """Yield every row of a table that is not empty.

    Yields
    ------
    line : int, the first line of the row
    cells : list of str without surrounding white space.  In a row with a fault, control characters are
        written as escapes and long cells are cut
    fault : str, why the row cannot be used; "" if it can

    Raises
    ------
    InputError
        If the file does not exist, cannot be unpacked, or is no table.
    """
    for line, row, fault in read_rows(path):
        cells = [cell.strip() for cell in row]
        if not is_valid_cell("".join(cells)):
            fault = CONTROL
        if fault:
            cells = [escape_unprintable(cell[:_MOST_SHOWN], keep="") for cell in cells]
        yield line, cells, fault


def parse_python_texts(text):
    """Return the texts of a tuple or list that is written as Python prints it; no code is run.

    A plain text, such as an address or a term, is the only text of the list.

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
        texts = [text] if _ONE_TEXT.fullmatch(text) else None
    if not isinstance(texts, tuple | list) or not all(isinstance(word, str) for word in texts):
        raise ValueError(NO_TUPLE)
    texts = [" ".join(word.split()) for word in texts]
    if not is_valid_cell("".join(texts)):
        raise ValueError(NO_TUPLE)
    return texts
