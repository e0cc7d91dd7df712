"""Dates, times and serial numbers of dates as spreadsheets write them, also where a name was typed."""

import re
from datetime import date, timedelta
from functools import cache

from flyannot.base.text import fold, read_word_lines

TEXT_COLUMN_ADVICE = (
    "in Excel, format the column as Text before you type or paste, or import the file by "
    "Data > From Text/CSV with the column's type Text"
)
_LEAST_LETTERS = 3  # of a shortened name of a month
_ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]
_A = "(?P<a>0?[1-9]|[12][0-9]|3[01])"  # two of the numbers of a date, of which one is the day
_B = "(?P<b>0?[1-9]|[12][0-9]|3[01])"
_ORDINAL = r"(?:st|nd|rd|th|er|o|\.)?"
_WORD = r"[^0-9\s/,'’-]+"
_MONTH = f"(?P<m>{_WORD})"
_YEAR = "(?:19|20)[0-9]{2}"
_MOST_WORDS = 6  # of a date with its year
DATE_PATTERNS = (  # not compiled here, for a quick `--help`
    # 6-Apr, 06. Apr, 6-Apr-23, 1er sept., Sunday 1 Sep
    rf"(?:[^\W\d]+\.?,? )?{_A}{_ORDINAL}[-/. ] ?(?:de |d['’])?{_MONTH}(?:[-/., ]+[0-9]{{2}})?",
    # Apr-06, Sep-2001 in English only, otherwise lis-01 or lis.1: Lis-1 and mei-38 are genes
    rf"(?P<e>{_WORD})[-/. ](?:20|19)?(?P<a>[0-9]{{1,2}})",
    rf"{_MONTH}(?:[-/ ]0|\.0?)(?P<a>[1-9])",
    # 9月1日, 2024年9月1日, 1 thg 9, 1 tháng 9, 2024
    rf"(?:{_YEAR}[年년] ?)?{_B}[月월] ?{_A}[日일].*",
    rf"{_A}[- ]?th(?:g|ang) ?{_B}(?:[-/, ]+{_YEAR})?",
    # 2023-04-06, 2024. 09. 01., 4/6/2023, 01.09.24
    rf"{_YEAR}[-/.] ?{_A}[-/.] ?{_B}\.?",
    rf"{_A}[-/.] ?{_B}[-/.] ?(?:{_YEAR}|[0-9]{{2}})\D{{0,3}}",
    # 4/6, 01.09, 1.9.; 1.28 is a gene
    rf"{_A}/{_B}",
    rf"(?=0|[0-9]+\.0[1-9]|.*\.$){_A}\.{_B}\.?",
    # 04:06, 04:06:00 PM
    r"(?P<a>[0-9]{1,2}):(?P<b>[0-5][0-9])(?::[0-9]{2})?(?: [ap]\.?m\.?)?",
)


def parse_spreadsheet_date(text):
    """Parse a date or time as a spreadsheet writes it, such as 06-Apr, 4/6/2023 or 04:06:00.

    Names of months are known in 60 languages; capitals and accents do not matter.

    Returns
    -------
    numbers : tuple (int, int), such as (4, 6) for 06-Apr, or None if the text is no date.
        In a date of numbers only, such as 4/6/2023, day and month may be exchanged, so callers sort them.
    """
    plain = fold(str(text)).replace("_", "-")
    plain = re.sub("^1899-12-3[01] ", "", plain)  # spreadsheets write it before a time that has no day
    plain = re.sub("[ t][0-9]{1,2}:[0-9]{2}.*", "", plain)
    numbers = re.findall("[0-9]+", plain)
    years = [number for number in numbers if re.fullmatch(_YEAR, number)]
    if len(numbers) == 2 and len(years) == 1:  # 1 de septiembre de 2024; Sunday, September 1st, 2024
        words = re.findall(_WORD, plain)
        months = [_month_number(word, str(text)) for word in words if len(words) <= _MOST_WORDS]
        day = next(int(number) for number in numbers if number not in years)
        if day <= 31 and any(months):
            return [month for month in months if month][-1], day  # mar. may stand before it for a Tuesday
    for pattern in DATE_PATTERNS:
        if match := re.fullmatch(pattern, plain):
            parts = match.groupdict()
            name = parts.get("m") or parts.get("e")
            number = _month_number(name, str(text), is_english="e" in parts) if name else int(parts["b"])
            if number is not None:
                return number, int(parts["a"])
    return None


def parse_serial_date(plain):
    """Convert a spreadsheet's serial date, such as 45022 (days since 1899-12-30), to an ISO date.

    A fraction, which is the time of the day, is ignored. Returns None if the text is not a number of five
    digits that begins with 3 or 4.
    """
    serial = re.fullmatch(r"([34]\d{4})(?:[.,]\d+)?", plain, re.ASCII)
    return (date(1899, 12, 30) + timedelta(int(serial[1]))).isoformat() if serial else None


def _month_number(word, text, *, is_english=False):
    """Return the number of a month, from 1, by its name or the start of its name; None for another word.

    Parameters
    ----------
    word : str, a word of a date in small letters, from `fold`, with its signs
    text : str, the date as it was written; a Roman number must be in capitals
    is_english : bool, True to accept only English names
    """
    letters = "".join(filter(str.isalpha, word))
    if letters.upper() in _ROMAN and letters.upper() in text:
        return None if is_english else _ROMAN.index(letters.upper()) + 1
    return _month_numbers(is_english).get(letters)


@cache
def _month_numbers(is_english):
    """Return a dict from each name of a month, and each start of a name, to the number of the month.

    is_english : bool, True for names in English, False for names in all languages
    """
    languages = [line.split()[1:] for line in read_word_lines("months.txt")]
    numbers: dict[str, int] = {}
    for months in languages[:1] if is_english else languages:
        for number, names in enumerate(months, start=1):
            for name in names.split("|"):
                letters = "".join(filter(str.isalpha, fold(name)))
                for n in range(len(letters), min(_LEAST_LETTERS, len(letters)) - 1, -1):
                    numbers.setdefault(letters[:n], number)
    return numbers
