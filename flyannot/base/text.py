"""Text for people: counts in words, short forms of objects, and escapes of control characters."""

import json
import re
from dataclasses import fields

_MAX_LENGTH = 60  # characters of one value
_UNFIT_FOR_CELLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # control characters, half pairs


def short_repr(thing):
    """Return a short repr of a dataclass instance, which shows arrays by shape and long lists by length."""
    shown = {field.name: getattr(thing, field.name) for field in fields(thing) if field.repr}
    return format_call(type(thing).__name__, shown)


def format_call(name, values):
    """Return `name(key=value, ...)` for a dict of values, each shortened by `short_value`."""
    return f"{name}({', '.join(f'{key}={short_value(value)}' for key, value in values.items())})"


def short_value(value):
    """Return the repr of a value, shortened to about 60 characters."""
    shape = getattr(value, "shape", None)
    if shape:
        return f"<{value.dtype} {' x '.join(map(str, shape))}>"
    text = repr(value)
    if len(text) <= _MAX_LENGTH:
        return text
    return f"<{len(value):,} items>" if isinstance(value, list | tuple | dict | set) else f"{text[:57]}..."


def is_valid_cell(text):
    """Return whether a cell of a table can hold a text: valid Unicode without control characters."""
    return _UNFIT_FOR_CELLS.search(text) is None


def escape_unprintable(text, *, keep="\n\t"):
    """Return a text in which characters that would control a terminal are replaced by JSON's escapes.

    These are control characters, except those in `keep`, and marks that turn the direction of writing.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else json.dumps(c)[1:-1] for c in text)


def pluralise(n, one, many=None):
    """Return a number and the noun for it, such as "1 image" or "1,200 images".

    Parameters
    ----------
    n : int
    one : the noun for 1, perhaps with a verb, such as "image is missing"
    many : the noun for other numbers; by default `one` with an s
    """
    return f"1 {one}" if n == 1 else f"{n:,} {many or f'{one}s'}"
