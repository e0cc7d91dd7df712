"""Text for people: counts in words, short forms of objects, and escapes of control characters."""

import html
import json
import re
import unicodedata
from dataclasses import fields

_MAX_LENGTH = 60  # characters of one value
_UNFIT_FOR_CELLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # control characters, half pairs
_ERROR_VALUE = re.compile(r"#+|#[¡¿]?[^\W\d_][^\W_]*(?:[/_ ][^\W_]+)?[!?]?")  # in any language
_ENTITY = re.compile(r"&#?\w+;")
_UNKNOWN = {
    "n/a",
    "n.a.",
    "n.d.",
    "#n/a n/a",
    "(null)",
    "<na>",
    "not known",
    "unknown",
    "unbekannt",
    "onbekend",
    "inconnu",
    "desconocido",
    "desconhecido",
}
_UNKNOWN |= {"sconosciuto", "nieznany", "okänd", "ukendt", "ukjent", "неизвестно", "不明", "未知"}


def short_repr(thing):
    """Return the repr of a dataclass instance with long values shortened.

    An array is shown by its type and shape, and a long list by its length. Classes use it as `__repr__`.
    """
    shown = {field.name: getattr(thing, field.name) for field in fields(thing) if field.repr}
    return format_call(type(thing).__name__, shown)


def format_call(name, values):
    """Format a name and a dict of values as `name(key=value, ...)`, with long values shortened."""
    return f"{name}({', '.join(f'{key}={short_value(value)}' for key, value in values.items())})"


def short_value(value):
    """Return the repr of a value if it has at most 60 characters; otherwise return a shorter text.

    An array becomes its type and shape, such as <float32 100 x 128>. A long list, tuple, dict or set becomes
    its length, such as <1,000 items>. Any other long repr is cut.
    """
    shape = getattr(value, "shape", None)
    if shape:
        return f"<{value.dtype} {' x '.join(map(str, shape))}>"
    text = repr(value)
    if len(text) <= _MAX_LENGTH:
        return text
    return f"<{len(value):,} items>" if isinstance(value, list | tuple | dict | set) else f"{text[:57]}..."


def is_valid_cell(text):
    """Return whether a text can be a cell of a table.

    A cell must not have control characters or unpaired surrogates.
    """
    return _UNFIT_FOR_CELLS.search(text) is None


def is_error_value(text):
    """Return whether a text is what a spreadsheet shows for an error, such as #N/A, #NV, #REF! or Err:502."""
    if text[:4] == "Err:":
        return text[4:].isdigit()
    return text[:1] == "#" and text == text.upper() and _ERROR_VALUE.fullmatch(text) is not None


def is_unknown(text):
    """Return whether a text says that something is not known: unknown, ?, -, n/a, or an error value."""
    return not any(map(str.isalnum, text)) or text.casefold() in _UNKNOWN or is_error_value(text)


def clean_name(text):
    """Return a name with its HTML entities decoded, such as &alpha;, and without invisible characters.

    Every run of spaces, also of other kinds, becomes one space.  A name that no table can hold stays as it
    was.
    """
    if text.isascii() and "&" not in text and "  " not in text:
        return text
    decoded = html.unescape(text) if _ENTITY.search(text) else text
    visible = "".join(c for c in decoded if unicodedata.category(c) != "Cf")
    return " ".join(visible.split()) if is_valid_cell(decoded) else text


def escape_unprintable(text, *, keep="\n\t"):
    r"""Replace characters that could control a terminal by their JSON escapes, such as \u001b.

    These are control characters and marks that change the direction of writing. Texts from files are printed
    only in this form.

    Parameters
    ----------
    text : str
    keep : str, the unprintable characters that are not replaced
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else json.dumps(c)[1:-1] for c in text)


def pluralise(n, one, many=None):
    """Format a number with its noun, such as "1 image" or "1,200 images".

    Parameters
    ----------
    n : int
    one : str, the text after the number 1, such as "image" or "image is missing"
    many : str, the text after other numbers; by default `one` with an s
    """
    return f"1 {one}" if n == 1 else f"{n:,} {many or f'{one}s'}"
