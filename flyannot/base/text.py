"""Text for people: counts in words, and escapes of control characters."""

import json
import re
import unicodedata
from functools import cache, lru_cache

_UNFIT_FOR_CELLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # control characters, half pairs
_ENTITY = re.compile(r"&#?\w+;")
_TAG = re.compile(r"</?(?:i|b|em|u|sub|sup|up|down)>", re.IGNORECASE)  # FlyBase writes <up> for sup
_LETTERS = re.findall(r"\w+", "a b g d e z ee th i k l m n x o p r sf s t u ph kh ps oh")  # alpha to omega
GREEK = {f"&{name}gr;": chr(0x3B1 + n) for n, name in enumerate(_LETTERS)}  # FlyBase's entities
GREEK |= {entity.replace(entity[1], entity[1].upper(), 1): c.upper() for entity, c in GREEK.items()}
_RAISED = re.compile(r"<(?:sup|up)>(.*?)</(?:sup|up)>", re.IGNORECASE)
_QUOTATION_MARKS = "“”„‟«»"
# Also FB:FBgn0000490, FBgn0000490.1 and https://flybase.org/reports/FBgn0000490.
_FLYBASE_NUMBER = re.compile(
    r"(?:(?:https?://|www\.|flybase\.org)\S*[/:=]|(?:fb|flybase) ?[:|_]? ?)?fbgn[ :_-]?(\d+)(?:\.\w+)?/?",
    re.IGNORECASE | re.ASCII,
)
_ERROR_VALUES = [  # in any language: ###, #REF!, #n/a, #N/A N/A, Err:502; others only in capitals: #NV
    re.compile(r"#+|#[¡¿]?[^\W\d_].*[!?]|#[^\W\d_]{1,2}/[^\W\d_]+( .*)?"),
    re.compile(r"(?:err[^\W\d]*|fehler|fout|fel|feil|hiba|b[lł]ad|chyba|virhe|hata|ошибка) ?: ?5\d\d"),
]
_ERROR_IN_CAPITALS = re.compile(r"#[^\W\d_][\w./]*")
_DIGIT = re.compile(r"\d")
_NOTHING = {"na", "nan", "none", "null", "nat", "nil", "nd", "tbd", "tba", "unk"}  # na, nan and unk are genes
_ABBREVIATIONS = _NOTHING | {"ka", "oa", "sd", "nv", "unkn", "desc"}  # with signs, such as k.A. or s/d
_SUBJECTS = {"gene", "protein", "term", "stage", "view", "symbol", "name", "gen"}  # words beside an unknown


def is_valid_cell(text):
    """Return True if a text can be stored as a cell of a table.

    A cell must not have control characters or unpaired surrogates.
    """
    return _UNFIT_FOR_CELLS.search(text) is None


def fold(text):
    """Return a text in a form to compare: small letters without accents, plain dashes, single spaces."""
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text.replace("−", "-"))
        kinds = [(part, unicodedata.category(part)) for part in parts]
        kept = ("-" if kind == "Pd" else part for part, kind in kinds if kind not in ("Mn", "Mc", "Cf"))
        text = unicodedata.normalize("NFC", "".join(kept))
    return " ".join(text.casefold().split())


def is_error_value(text):
    """Return True if a text is an error that a spreadsheet shows in a cell, such as #N/A, #NV or Err:502."""
    if "#" not in text and ":" not in text:
        return False
    if text == text.upper() and _ERROR_IN_CAPITALS.fullmatch(text):
        return True
    return any(pattern.fullmatch(fold(text)) for pattern in _ERROR_VALUES)


@lru_cache(maxsize=2**14)
def is_unknown(text, column=""):
    """Return True if the text of a cell means that a value is not known: unknown, ?, -, n/a, or an error.

    Capitals, accents, brackets and other signs are ignored. Short words such as na, nan and unk are genes
    if they are in small letters without signs.

    column : str, name of the column; the answer for some texts is different in gene and term
    """
    if is_error_value(text):
        return True
    if _DIGIT.search(text) or "+" in text[1:]:  # the wild type of a gene is written sd+
        return text == "0" and column in ("gene", "term")
    if text in _unknown_words() or not any(map(str.isalnum, text)):
        return True
    words = re.findall(r"[^\W_]+", fold(text))
    words = [word for word in words if word not in _SUBJECTS] or words
    short = "".join(words)
    if text.isalpha() and short in _NOTHING:
        return column != "gene" or not text.islower()
    return " ".join(words) in _unknown_words() or short in (_NOTHING if text.isalpha() else _ABBREVIATIONS)


@cache
def _unknown_words():
    """Return the words that mean that a value is not known, as a frozenset.

    Words in capitals count only in capitals; the others are in the form of `fold`.
    """
    words = "|".join(read_word_lines("unknown.txt")).split("|")
    return frozenset(word if word.isupper() else fold(word) for word in words)


def read_word_lines(name):
    """Read the lines of a list of words in the folder of this module, such as months.txt; skip comments."""
    from importlib.resources import files  # on demand, for a quick `--help`

    lines = (files("flyannot.base") / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def is_flybase_number(text):
    """Return True if a text is the FlyBase number of a gene in the form of `clean_name`: FBgn and digits."""
    return text.startswith("FBgn") and text[4:].isdecimal() and text.isascii()


def clean_name(text):
    """Return a name of a gene or term in one spelling, so that two spellings of one name are equal.

    HTML's entities, such as &alpha;, and FlyBase's, such as &agr;, are decoded.  Letters and their accents
    are composed.  Invisible characters, HTML tags such as <i>, and quotation marks around it are removed.
    Raised text gets brackets, as FlyBase writes alleles: l(1)sc[1].  Every run of spaces, of any kind,
    becomes one space.  A FlyBase number begins with FBgn, and loses its address and version.  A name that
    no table can hold stays as it was.
    """
    if found := _FLYBASE_NUMBER.fullmatch(text):
        return f"FBgn{found[1]}"
    if text.isascii() and "&" not in text and "<" not in text and "  " not in text:
        return text
    from html import unescape  # on demand, for a quick `--help`

    decoded = _ENTITY.sub(lambda entity: GREEK.get(entity[0]) or unescape(entity[0]), text)
    decoded = unicodedata.normalize("NFC", _TAG.sub("", _RAISED.sub(r"[\1]", decoded)))
    visible = "".join(c for c in decoded if unicodedata.category(c) != "Cf")
    return " ".join(visible.strip(_QUOTATION_MARKS).split()) if is_valid_cell(decoded) else text


def spell_greek(text):
    """Return a text with Greek letters replaced by their English names, such as beta for β."""
    if text.isascii():
        return text
    names = [unicodedata.name(c, "").partition(" WITH ")[0] if c.isalpha() else "" for c in text]
    words = [name.rpartition(" ")[2].lower() if name.startswith("GREEK ") else "" for name in names]
    return "".join(word.replace("lamda", "lambda") or c for word, c in zip(words, text))


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


def escape_file_name(name):
    r"""Return a file's name in a form that a table can store: bytes that are no UTF-8 become \xe9, say."""
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return escape_unprintable(name, keep="")


def pluralise(n, one, many=None):
    """Format a number with its noun, such as "1 image" or "1,200 images".

    Parameters
    ----------
    n : int
    one : str, the text after the number 1, such as "image" or "image is missing"
    many : str, the text after other numbers; by default `one` with an s
    """
    return f"1 {one}" if n == 1 else f"{n:,} {many or f'{one}s'}"
