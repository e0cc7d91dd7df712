"""Options, written down once: default, kind and help in the field of a dataclass.

From an options class come the options of a command, the keys of a configuration's table, the options in a
file's header and their check when it is read, the check of values given from Python, and the page of all
options.  To add an option is to add a field:

    @dataclass(frozen=True, kw_only=True)
    class ExtractOptions(Options):
        stride_px: int = option(16, Count(), "From one patch to the next.")

A value is parsed by its kind, from the text of a command line as from the value of a TOML file or of a call:
whoever holds an options object holds legal values, in one form.
"""

import math
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import ClassVar

from flyannot.errors import InputError, did_you_mean

_FIX = "see what options there are: flyannot info --options"


class Kind:
    """What values an option takes: `name` in help, `words` in full, `parse` from any spelling, `as_json`."""

    is_repeatable = False  # given several times, the values make one

    @property
    def name(self):
        return "TEXT"

    @property
    def words(self):
        return "text"

    @property
    def choices(self):
        """The values, where they can be listed."""
        return ()

    def parse(self, value):
        """The value in its one form; ValueError, in words that follow "must be", if it is none."""
        raise NotImplementedError

    def as_json(self, value):
        """What `parse` takes back, in JSON."""
        return value

    def as_text(self, value):
        """The value as a command line has it."""
        return str(value)


@dataclass(frozen=True)
class Text(Kind):
    """Any text."""

    name: str = "TEXT"

    def parse(self, value):
        if not isinstance(value, str):
            raise ValueError(self.words)
        return value


class FilePath(Kind):
    """A path; of a configuration, relative to the file."""

    name = "FILE"
    words = "a path"

    def parse(self, value):
        if not isinstance(value, str | Path) or not str(value):
            raise ValueError(self.words)
        return Path(value)

    def as_json(self, value):
        return str(value)


@dataclass(frozen=True)
class Flag(Kind):
    """True or false."""

    name = ""
    words = "true or false"

    def parse(self, value):
        known = {True: True, False: False, "true": True, "false": False, "1": True, "0": False}
        if not isinstance(value, bool | str) or value not in known:
            raise ValueError(self.words)
        return known[value]


@dataclass(frozen=True)
class Count(Kind):
    """A whole number from `least`, up to `most`, a multiple of `of`."""

    least: int = 1
    most: int | None = None
    of: int = 1
    name = "INTEGER"

    def parse(self, value):
        number = _number(int, value)
        fits = number is not None and number >= self.least and number % self.of == 0
        if not fits or self.most is not None and number > self.most:
            raise ValueError(self.words)
        return number

    @property
    def words(self):
        upper = f" to {self.most}" if self.most is not None else " or more"
        multiple = f", a multiple of {self.of}" if self.of > 1 else ""
        return f"a whole number, {self.least}{upper}{multiple}"


@dataclass(frozen=True)
class Real(Kind):
    """A finite number in a range whose ends belong to it, but for those named `above` and `below`."""

    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    below: float = math.inf
    name = "FLOAT"

    def parse(self, value):
        number = _number(float, value)
        fits = number is not None and math.isfinite(number)
        if not fits or not self.least <= number <= self.most or not self.above < number < self.below:
            raise ValueError(self.words)
        return number

    @property
    def words(self):
        ends = (
            (self.least, "of at least"), (self.above, "above"),
            (self.most, "of at most"), (self.below, "below"),
        )  # fmt: skip
        named = [f"{words} {end:g}" for end, words in ends if math.isfinite(end)]
        return " ".join(["a number", " and ".join(named)]).strip()


class Choice(Kind):
    """One of some names; `choices` may be a registry, which is asked anew each time."""

    def __init__(self, choices):
        self._choices = choices

    @property
    def choices(self):
        return tuple(self._choices)

    @property
    def name(self):
        return "|".join(self.choices)

    def parse(self, value):
        if value not in self.choices:
            raise ValueError(f"{self.words}.{did_you_mean(value, self.choices)}")
        return value

    @property
    def words(self):
        return f"one of {', '.join(self.choices)}"


@dataclass(frozen=True)
class Several(Kind):
    """A tuple of values of one kind, in their order; a single value is one of one."""

    kind: Kind
    is_repeatable = True

    @property
    def name(self):
        return self.kind.name

    @property
    def choices(self):
        return self.kind.choices

    @property
    def words(self):
        return self.kind.words

    def parse(self, value):
        values = value if isinstance(value, list | tuple) else (value,)
        return tuple(self.kind.parse(one) for one in values)

    def as_json(self, value):
        return [self.kind.as_json(one) for one in value]

    def as_text(self, value):
        return ", ".join(self.kind.as_text(one) for one in value)


def _number(kind, value):
    """The number that a value or its text stands for; None if it stands for none."""
    if isinstance(value, bool):
        return None
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if not isinstance(value, str) and number != value else number


def option(default, kind, help, *, stands_for="", more=False, in_header=True):
    """A field of an options class.

    Parameters
    ----------
    default : its value; None for an option that may be left open
    kind : Kind
    help : one sentence or two
    stands_for : what an open option means, in help
    more : whether help shows it under "More options"
    in_header : whether a file's header has it; a path has no place there, the digest of its file does
    """
    about = {"kind": kind, "help": help, "stands_for": stands_for, "more": more, "in_header": in_header}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=about)
    return field(default=default, metadata=about)


@dataclass(frozen=True, kw_only=True)
class Options:
    """The base of all options classes: values are parsed when one is made.

    table : what holds them in a configuration, and after FLYANNOT_ in the environment
    """

    table: ClassVar[str] = ""

    def __post_init__(self):
        for one in fields(self):
            object.__setattr__(self, one.name, parsed(one, getattr(self, one.name), one.name))

    @classmethod
    def of_table(cls, table, where, *, spelled=None):
        """The options that a table of a configuration gives, other values by default.

        Parameters
        ----------
        table : dict, names in kebab or snake case
        where : how messages name it, such as "[extract]"
        spelled : function of a name in snake case, to how messages spell it; by default `kebab`

        Raises
        ------
        InputError
            If it names an option that there is not, or a value that an option does not take.
        """
        known, spelled = {one.name: one for one in fields(cls)}, spelled or kebab
        values = {}
        for name, value in table.items():
            plain = name.replace("-", "_")
            if plain not in known:
                names = [spelled(one) for one in known]
                meant = did_you_mean(spelled(plain), names)
                raise InputError(f'{where} has no option "{name}".{meant}', fix=f"use {', '.join(names)}")
            values[plain] = parsed(known[plain], value, f"{where} {spelled(plain)}")
        return cls(**values)

    @classmethod
    def of_header(cls, header):
        """The options that a file's header holds among others; KeyError or ValueError if it does not."""
        return cls(**{one.name: header[one.name] for one in _in_header(cls)})

    def as_header(self):
        """The options by name, as JSON."""
        return {one.name: _as_json(one, getattr(self, one.name)) for one in _in_header(self)}


def parsed(one, value, where):
    """A value for a field of an options class, in its one form.

    Raises
    ------
    InputError
        If the option does not take it.
    """
    if value is None and default_of(one) is None:
        return None
    try:
        return one.metadata["kind"].parse(value)
    except InputError:
        raise  # it says all that there is to say
    except ValueError as error:
        raise InputError(f"{where} is {value!r}, and must be {error}", fix=_FIX) from None


def default_of(one):
    """The default of a field of an options class."""
    return one.default_factory() if one.default is MISSING else one.default


def shown_default(one):
    """The default of a field of an options class in help; "" where there is none to show."""
    kind, default = one.metadata["kind"], default_of(one)
    is_shown = not isinstance(kind, Flag) and default not in (None, (), {})
    return one.metadata["stands_for"] or (kind.as_text(default) if is_shown else "")


def environment_name(options, one):
    """The variable of the environment that gives a field of an options class."""
    return f"FLYANNOT_{options.table}_{one.name}".replace("-", "_").upper()


def kebab(name):
    """A name as the command line and configurations write it."""
    return name.replace("_", "-")


def _in_header(options):
    return [one for one in fields(options) if one.metadata["in_header"]]


def _as_json(one, value):
    return None if value is None else one.metadata["kind"].as_json(value)
