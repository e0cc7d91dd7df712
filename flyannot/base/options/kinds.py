"""The kinds of values that options take: what is parsed from any spelling, and shown in help."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flyannot.base.errors import did_you_mean


class Kind:
    """Values that an option takes: `name` in help, `words` in full, `parse` from any spelling, `as_json`."""

    is_repeatable = False  # given several times, the values make one
    name: Any = "TEXT"
    words: Any = "text"
    choices: Any = ()  # the values, if they can be listed

    def parse(self, value):
        """Return the value in its one form; raise ValueError, in words that follow "must be", otherwise."""
        raise NotImplementedError

    def as_json(self, value):
        """Return JSON of which `parse` makes the value again."""
        return value

    def as_text(self, value):
        """Return the value as a command line has it."""
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
    most: int = 2**63 - 1  # that arrays can count
    of: int = 1
    name = "INTEGER"

    def parse(self, value):
        number = _number(int, value)
        if number is None or not self.least <= number <= self.most or number % self.of:
            raise ValueError(self.words)
        return number

    @property
    def words(self):
        upper = f" to {self.most}" if self.most < 2**63 - 1 else " or more"
        multiple = f", a multiple of {self.of}" if self.of > 1 else ""
        return f"a whole number, {self.least}{upper}{multiple}"


@dataclass(frozen=True)
class Real(Kind):
    """A finite number in a range whose ends belong to it, except those named `above` and `below`."""

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
        ends = {"of at least": self.least, "above": self.above, "of at most": self.most, "below": self.below}
        named = [f"{words} {end:g}" for words, end in ends.items() if math.isfinite(end)]
        return " ".join(["a number", " and ".join(named)]).strip()


@dataclass(frozen=True)
class OrAuto(Kind):
    """The word "auto", or what another kind takes."""

    kind: Kind

    @property
    def name(self):
        return f"{self.kind.name}|auto"

    @property
    def words(self):
        return f"auto, or {self.kind.words}"

    def parse(self, value):
        if value == "auto":
            return value
        try:
            return self.kind.parse(value)
        except ValueError:
            raise ValueError(self.words) from None


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
        return tuple(map(self.kind.parse, values))

    def as_json(self, value):
        return list(map(self.kind.as_json, value))

    def as_text(self, value):
        return ", ".join(map(self.kind.as_text, value))


def _number(kind, value):
    """Return the number that a value or its text stands for, or None."""
    if isinstance(value, bool):
        return None
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if not isinstance(value, str) and number != value else number
