"""Options, each declared once as a field of a dataclass, with its default, kind and help.

An options class defines the options of a command, the keys of a table in configurations, and the options in
the header of a file. To add an option, add a field:

    @dataclass(frozen=True, kw_only=True)
    class ExtractOptions(Options):
        stride_px: int = option(16, Count(), "From one patch to the next.")

The kind of an option parses its value, whether it comes from a command line, a TOML file, a header or Python.
The values of an options object are therefore valid and have one form.
"""

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

from flyannot.base.errors import InputError, did_you_mean

UNLESS_DEFAULT = "unless default"
_FIX = "see the valid values: flyannot COMMAND --help"


class Kind:
    """Base of the kinds of values that an option can take.

    Attributes
    ----------
    name : what help shows for the value
    words : which values are valid, in words that follow "must be"
    choices : tuple of the valid values, if they can be listed
    is_repeatable : whether the option may be given several times
    """

    is_repeatable = False
    name: Any = "TEXT"
    words: Any = "text"
    choices: Any = ()

    def parse(self, value):
        """Return the value in its one form.

        Raises
        ------
        ValueError
            If the value is not valid. Its message follows "must be".
        """
        raise NotImplementedError

    def to_json(self, value):
        """Return the value as JSON, from which `parse` restores it."""
        return value

    def to_text(self, value):
        """Return the value as it is typed on a command line."""
        return str(value)


@dataclass(frozen=True)
class Text(Kind):
    """Any text."""

    name: str = "TEXT"

    def parse(self, value):
        if not isinstance(value, str):
            raise ValueError(self.words)
        return value


@dataclass(frozen=True)
class FilePath(Kind):
    """A path; in a configuration it is relative to the file."""

    name = "FILE"
    words = "a path"

    def parse(self, value):
        if not isinstance(value, str | Path) or not str(value):
            raise ValueError(self.words)
        return Path(value)

    def to_json(self, value):
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
    """A whole number from `least` to `most` that is a multiple of `of`."""

    least: int = 1
    most: int = 2**63 - 1  # the largest size of an array
    of: int = 1
    name = "INTEGER"

    def parse(self, value):
        number = _parse_number(int, value)
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
    """A finite number from `least` to `most` that is greater than `above` and less than `below`."""

    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    below: float = math.inf
    name = "FLOAT"

    def parse(self, value):
        number = _parse_number(float, value)
        fits = number is not None and math.isfinite(number)
        if not fits or not self.least <= number <= self.most or not self.above < number < self.below:
            raise ValueError(self.words)
        return number

    @property
    def words(self):
        ends = {"of at least": self.least, "above": self.above, "of at most": self.most, "below": self.below}
        named = [f"{words} {end:g}" for words, end in ends.items() if math.isfinite(end)]
        return " ".join(["a number", " and ".join(named)]).strip()


class OrAuto(Kind):
    """The word "auto", or a value of another kind."""

    def __init__(self, kind):
        self.kind = kind
        self.name = f"{kind.name}|auto"
        self.words = f"auto, or {kind.words}"

    def parse(self, value):
        if value == "auto":
            return value
        try:
            return self.kind.parse(value)
        except ValueError:
            raise ValueError(self.words) from None


class Choice(Kind):
    """One of several names; `choices` may be a registry that grows later."""

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


class Several(Kind):
    """A tuple of values of one kind; a single value becomes a tuple of length 1."""

    is_repeatable = True

    def __init__(self, kind):
        self.kind = kind
        self.name = kind.name
        self.words = kind.words
        self.choices = kind.choices

    def parse(self, value):
        values = value if isinstance(value, list | tuple) else (value,)
        return tuple(map(self.kind.parse, values))

    def to_json(self, value):
        return list(map(self.kind.to_json, value))

    def to_text(self, value):
        return ", ".join(map(self.kind.to_text, value))


def _parse_number(kind, value):
    """Convert a value or its text to a number; return None if that is not possible."""
    if isinstance(value, bool):
        return None
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if not isinstance(value, str) and number != value else number


def option(
    default, kind, help, *, stands_for="", more=False, in_header=True, in_files=True, variable="", kept_as=""
):
    """Declare a field of an options class.

    Parameters
    ----------
    default : its value, or None for an option that may be left open
    kind : Kind
    help : one or two sentences
    stands_for : what help shows as the default, if the option may be left open
    more : whether help lists it under "More options"
    in_header : whether the headers of files contain it. Paths are left out; headers have the digests of the
        files instead. UNLESS_DEFAULT leaves out the default value, so that older files, which lack the
        option, remain valid
    in_files : whether a configuration may set it. An option that lets others run code may not
    variable : the environment variable that sets it, unless the name follows from table and option
    kept_as : its name in the headers of files, if that is another one
    """
    metadata = {name: value for name, value in locals().items() if name != "default"}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base of all options classes; the values are parsed when an object is made.

    Attributes
    ----------
    table : the name of the table in configurations and, after FLYANNOT_, of environment variables
    removed : dict, removed option -> its value without effect, which old configurations may still contain
    """

    table: ClassVar[str] = ""
    removed: ClassVar[Mapping] = {}

    def __post_init__(self):
        for entry in fields(self):
            object.__setattr__(self, entry.name, parse_option(entry, getattr(self, entry.name), entry.name))

    @classmethod
    def from_table(cls, table, where, *, spelled=None):
        """Make an options object from a table of a configuration; options not in it keep their defaults.

        Parameters
        ----------
        table : dict, with names in kebab or snake case
        where : how messages name the table, such as "[extract]"
        spelled : function that spells a name for messages; by default `kebab`

        Raises
        ------
        InputError
            If an option does not exist or its value is not valid.
        """
        known = {entry.name: entry for entry in fields(cls)}
        spelled = spelled or to_kebab_case
        values = {}
        for name, value in cls.drop_removed(table).items():
            plain = name.replace("-", "_")
            if plain not in known:
                names = [spelled(entry) for entry in known]
                meant = did_you_mean(spelled(plain), names)
                raise InputError(f'{where} has no option "{name}".{meant}', fix=f"use {', '.join(names)}")
            values[plain] = parse_option(known[plain], value, f"{where} {spelled(plain)}")
        return cls(**values)

    @classmethod
    def drop_removed(cls, table):
        """Return a table without the removed options that had no effect."""
        return {
            name: value
            for name, value in table.items()
            if name not in cls.removed or value != cls.removed[name]
        }

    @classmethod
    def from_header(cls, header):
        """Make an options object from the header of a file, which may contain other entries.

        Raises
        ------
        KeyError, ValueError
            If an option is missing or its value is not valid.
        """
        return cls(
            **{
                entry.name: header[name]
                for entry in _header_fields(cls)
                if (name := _header_name(entry)) in header or entry.metadata["in_header"] != UNLESS_DEFAULT
            }
        )

    def to_header(self):
        """Return the options as a dict of JSON values, for the header of a file."""
        return {
            _header_name(entry): _as_json(entry, value)
            for entry in _header_fields(self)
            if (value := getattr(self, entry.name)) != entry.default
            or entry.metadata["in_header"] != UNLESS_DEFAULT
        }


def parse_option(entry, value, where):
    """Parse a value for a field of an options class.

    Parameters
    ----------
    entry : dataclasses.Field, as `option` makes it
    value : the value in any spelling
    where : how messages name the option

    Raises
    ------
    InputError
        If the value is not valid.
    """
    if value is None and _field_default(entry) is None:
        return None
    try:
        return entry.metadata["kind"].parse(value)
    except InputError:
        raise  # its message is complete
    except ValueError as error:
        raise InputError(f"{where} is {value!r}, and must be {error}", fix=_FIX) from None


def _field_default(entry):
    """Return the default of a field of an options class."""
    return entry.default_factory() if entry.default is MISSING else entry.default


def format_default(entry):
    """Return the default of a field as help shows it, or "" if there is none to show."""
    kind = entry.metadata["kind"]
    default = _field_default(entry)
    is_shown = not isinstance(kind, Flag) and default not in (None, (), {})
    return entry.metadata["stands_for"] or (kind.to_text(default) if is_shown else "")


def environment_variable(options, entry):
    """Return the name of the environment variable that sets a field of an options class."""
    return entry.metadata["variable"] or f"FLYANNOT_{options.table}_{entry.name}".replace("-", "_").upper()


def to_kebab_case(name):
    """Convert a name to kebab case, as in command lines and configurations."""
    return name.replace("_", "-")


def _header_fields(options):
    return [entry for entry in fields(options) if entry.metadata["in_header"]]


def _header_name(entry):
    return entry.metadata["kept_as"] or entry.name


def _as_json(entry, value):
    return None if value is None else entry.metadata["kind"].to_json(value)
