"""The six stage ranges of BDGP, their other spellings, and one random generator for each."""

import logging
import re

from flyannot.base.dates import TEXT_COLUMN_ADVICE, parse_serial_date, parse_spreadsheet_date
from flyannot.base.errors import InputError, did_you_mean
from flyannot.base.options import OptionType
from flyannot.base.text import fold

log = logging.getLogger("flyannot")

# In the order of development.  HDF5 sorts names as text (11-12 before 4-6): loop over this instead.
STAGE_RANGES = ("1-3", "4-6", "7-8", "9-10", "11-12", "13-16")

_LAST_STAGES = {name: int(name.partition("-")[2]) for name in STAGE_RANGES} | {"13-16": 17}
_STAGES = re.compile(r"(\d{1,2})(?:-(\d{1,2}))?", re.ASCII)
STAGE_WORDS = "stages stage stadium stadien stade estadio etapa estágio stadio stadie"
# The words that a stage range may have before and between its numbers -> what they stand for.
RANGE_WORDS = dict.fromkeys(f"{fold(STAGE_WORDS)} stg st s range bdgp embryo embryonic embryonal".split(), "")
RANGE_WORDS |= dict.fromkeys(("to", "through", "until", "bis", "a"), "-")
_WORD = re.compile(r"([^\W\d_]+)[.:-]?")
_BETWEEN = re.compile(r"[~〜]|\.{2,}")
_WHOLE_NUMBER = re.compile(r"(?<=\d)\.0+(?![\d.])")  # 5.0, as programs write a column with empty cells
_HOURS = re.compile(r"(?<![^\W\d_])(?:h|hrs?|hours?|hpf|ael|min)(?![^\W\d_])")
_FIX = f"use one of {', '.join(STAGE_RANGES)}, or one stage, such as 5"


def parse_stage_range(text):
    """Convert a stage range, in any accepted spelling, to its BDGP name, such as "4-6".

    Accepted are BDGP's six names, 13-17 (as some papers include stage 17), a single stage such as 5, and
    stages within one range such as 5-6. A leading "stage" (or the word in another language), spaces and any
    kind of dash are allowed.

    Raises
    ------
    InputError
        If the text is no stage range, or has stages of several ranges.
    """
    plain = _plain_range(text)
    lie_in = [name] if (name := match_stage_range_name(plain)) else _find_overlapping_ranges(plain)
    if len(lie_in) == 1:
        return lie_in[0]
    if lie_in:
        what = f'stages "{text}" lie in several stage ranges: {", ".join(lie_in)}'
        raise InputError(what, fix="choose one of them; in a table, give each stage range a row of its own")
    if date_of_text := parse_spreadsheet_date(parse_serial_date(plain) or text):
        meant = "-".join(map(str, sorted(date_of_text)))
        what = f'"{text}" is a date, which a spreadsheet made from {meant}'
        raise InputError(what, fix=f"write {meant}; {TEXT_COLUMN_ADVICE}")
    raise InputError(f'unknown stage range "{text}".{_suggest_stages(fold(str(text)))}', fix=_FIX)


def _suggest_stages(text):
    """Return a sentence that suggests the stages a text may mean, such as ' Did you mean "4-6"?', or "".

    All numbers in the text must lie in one stage range, or the first one begins one that is spelled alike.
    They must not be hours.

    text : str, in small letters
    """
    numbers = sorted(set(map(int, re.findall(r"\d{1,4}", text))))
    stages = "-".join(map(str, dict.fromkeys(numbers[:1] + numbers[-1:])))
    if not numbers or _HOURS.search(text):
        return ""
    if len(_find_overlapping_ranges(stages)) == 1:
        return f' Did you mean "{stages}"?'
    return did_you_mean(text, [name for name in STAGE_RANGES if name.startswith(f"{numbers[0]}-")])


def recover_stage_range(text):
    """Recover the stage range from a date, such as 06-Apr, into which a spreadsheet turned 4-6.

    Returns
    -------
    str or None
        BDGP's name of the stage range. None if the text is no date, or its day and month are no stage range.
    """
    numbers = parse_spreadsheet_date(parse_serial_date(_plain_range(text)) or text)
    try:
        return parse_stage_range("-".join(map(str, sorted(numbers)))) if numbers else None
    except InputError:
        return None


def describe_stage_spellings(texts):
    """Describe how spellings other than BDGP's names were read, such as "stage 5 lies in stage range 4-6".

    BDGP also numbers its stage ranges from 1 to 6. If a table has just these numbers, that is said, too.

    `texts` are valid stage ranges as a user wrote them. Returns "" if all are BDGP's names or 13-17.
    """
    taken = {}
    plains = {_plain_range(text) for text in texts}
    doubt = "; if these number the stage ranges, as BDGP's do, write 1-3 for 1, 4-6 for 2, and so on"
    for plain in sorted(plains, key=lambda plain: (len(plain), plain)):
        if not match_stage_range_name(plain):
            taken.setdefault(parse_stage_range(plain), []).append(plain)
    said = "; ".join(f"{_name_stages(texts)} in stage range {name}" for name, texts in taken.items())
    return said + doubt * (plains == {*"123456"})


def _name_stages(texts):
    """Return the beginning of a sentence about stages: "stage 5 lies" or "stages 5, 6 lie".

    texts : list of str, stages or ranges of stages, such as "5" or "5-6"
    """
    is_one = len(texts) == 1 and texts[0].isdigit()
    return f"stage {texts[0]} lies" if is_one else f"stages {', '.join(texts)} lie"


def match_stage_range_name(text):
    """Return BDGP's name of a stage range if a text is that name, or "13-16" for 13-17; otherwise None.

    A single stage such as 5 returns None. A leading "stage", spaces and any kind of dash are allowed.
    """
    plain = _plain_range(text)
    return "13-16" if plain == "13-17" else plain if plain in STAGE_RANGES else None


def _plain_range(text):
    """Return the text of a stage range in a form to compare: "4-6" from "Stages 4 to 6".

    The result has small letters, plain dashes, no spaces and no words such as "stage".
    """
    plain = fold(str(text)).replace("_", "-")
    plain = _WORD.sub(lambda found: RANGE_WORDS.get(found[1], found[0]), plain)
    plain = _WHOLE_NUMBER.sub("", _BETWEEN.sub("-", plain))
    return plain.replace(" ", "")


def _find_overlapping_ranges(plain):
    """Return the names of the stage ranges that have a stage in common with a text such as 5 or 5-8.

    `plain` is a text from `_plain_range`. The list is empty unless the text is a stage, or two with a dash.
    """
    match = _STAGES.fullmatch(plain)
    if not match:
        return []
    first, last = int(match[1]), int(match[2] or match[1])
    if not 1 <= first <= last <= _LAST_STAGES[STAGE_RANGES[-1]]:
        return []
    return [s for s, end in _LAST_STAGES.items() if int(s.partition("-")[0]) <= last and first <= end]


class StageRangeType(OptionType):
    """The type of an option whose value is a stage range in any accepted spelling.

    `parse_stage_range` defines the spellings.
    """

    name = "STAGES"
    words = f"one of {', '.join(STAGE_RANGES)}"
    choices = STAGE_RANGES

    def parse(self, value):
        """Convert a stage range to its BDGP name.

        A value such as 5 is not BDGP's name of a range; then the range that was chosen is logged.
        """
        stage_range = parse_stage_range(value)
        if note := describe_stage_spellings([value]):
            log.info("note: %s", note)
        return stage_range


def stage_range_rng(seed, stage_range):
    """Make the NumPy random generator of one stage range from the seed of the run.

    Its numbers do not depend on the other stage ranges, so one stage range can be computed alone.
    """
    import numpy as np  # imported here, so that `--help` stays quick

    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=tuple(stage_range.encode())))
