"""Text for people: a count in words, an object in a line, and what is not to be printed as it is."""

import json
import re
from dataclasses import fields

_MOST_LETTERS = 60  # of one value
_UNFIT_FOR_CELLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # control characters, half pairs


def short_repr(thing):
    """The repr of a dataclass instance: its fields; of arrays the type and shape, of lists the length."""
    shown = {field.name: getattr(thing, field.name) for field in fields(thing) if field.repr}
    return named_values(type(thing).__name__, shown)


def named_values(name, values):
    """`name(key=value, ...)` of a dict, by `short_value`."""
    return f"{name}({', '.join(f'{key}={short_value(value)}' for key, value in values.items())})"


def short_value(value):
    """One value in at most 60 letters or so."""
    shape = getattr(value, "shape", None)
    if shape:
        return f"<{value.dtype} {' x '.join(map(str, shape))}>"
    text = repr(value)
    if len(text) <= _MOST_LETTERS:
        return text
    return f"<{len(value):,} items>" if isinstance(value, list | tuple | dict | set) else f"{text[:57]}..."


def is_fit_for_cells(text):
    """Whether a text can stand in a cell of a table: it has no control character, and is Unicode."""
    return _UNFIT_FOR_CELLS.search(text) is None


def printable_text(text, *, keep="\n\t"):
    """A text for people, in which JSON's escapes stand for what would direct a terminal: control characters,
    but for those to `keep`, and what turns the direction of letters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else json.dumps(c)[1:-1] for c in text)


def pluralise(n, one, many=None):
    """The number and what is counted: `one` is what a single one is called, with what follows, such as
    "image" or "image is missing"; `many` what several are called, by default `one` with an s."""
    return f"1 {one}" if n == 1 else f"{n:,} {many or f'{one}s'}"
