"""Options, each declared once as a field of a dataclass, with its default, type and help.

An options class defines the options of a command, the keys of a table in configurations, and the options in
the header of a file. To add an option, add a field:

    @dataclass(frozen=True, kw_only=True)
    class ExtractOptions(Options):
        stride_px: int = option(16, IntegerType(), "From one patch to the next.")

The type of an option is an `OptionType`. It parses the value, which may be text from a command line, or
a value from a TOML file, a header or Python. The values of an options object are always valid, and always
have the same Python type.
"""

import math
from dataclasses import MISSING, dataclass, field, fields
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar

from flyannot.base.errors import InputError, did_you_mean


class OptionType:
    """Base class of the types of options, which parse, validate and print the value of an option.

    Attributes
    ----------
    name : str, the placeholder for the value in help, such as "INTEGER"
    words : str, the valid values, as they follow "must be" in a message
    choices : tuple of the valid values; empty if they cannot be listed
    is_repeatable : bool, whether the option may be given several times
    """

    is_repeatable = False
    name: Any = "TEXT"
    words: Any = "text"
    choices: Any = ()

    def parse(self, value):
        """Validate a value, or its text, and convert it to the Python type of the option.

        Raises
        ------
        ValueError
            If the value is not valid. The message says which values are, as it follows "must be".
        """
        raise NotImplementedError

    def to_json(self, value):
        """Convert a parsed value to a JSON value, from which `parse` restores it."""
        return value

    def to_text(self, value):
        """Format a parsed value as it is typed on a command line."""
        return str(value)


@dataclass(frozen=True)
class TextType(OptionType):
    """The type of an option whose value is any text."""

    name: str = "TEXT"

    def parse(self, value):
        if not isinstance(value, str):
            raise ValueError(self.words)
        return value


class PathType(OptionType):
    """The type of an option whose value is a path.

    `parse` returns a Path. In a configuration file a path is relative to the folder of that file.
    """

    name = "FILE"
    words = "a path"

    def parse(self, value):
        if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
            raise ValueError(self.words)
        return Path(value)

    def to_json(self, value):
        return str(value)


class FlagType(OptionType):
    """The type of an option that is true or false.

    `parse` accepts a bool, "true", "false", "1" and "0".
    """

    name = ""
    words = "true or false"

    def parse(self, value):
        known = {True: True, False: False, "true": True, "false": False, "1": True, "0": False}
        if not isinstance(value, bool | str) or value not in known:
            raise ValueError(self.words)
        return known[value]


@dataclass(frozen=True)
class IntegerType(OptionType):
    """The type of an option whose value is an integer.

    The integer must lie between `least` and `most` (both included) and be a multiple of `of`.
    """

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
        """The valid integers in words, such as "a whole number, 1 or more"."""
        upper = f" to {self.most}" if self.most < 2**63 - 1 else " or more"
        multiple = f", a multiple of {self.of}" if self.of > 1 else ""
        return f"a whole number, {self.least}{upper}{multiple}"


@dataclass(frozen=True)
class FloatType(OptionType):
    """The type of an option whose value is a finite float.

    The float must lie between `least` and `most` (both included) and between `above` and `below` (both
    excluded).
    """

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
        """The valid numbers in words, such as "a number above 0 and of at most 1"."""
        ends = {"of at least": self.least, "above": self.above, "of at most": self.most, "below": self.below}
        named = [f"{words} {end:g}" for words, end in ends.items() if math.isfinite(end)]
        return " ".join(["a number", " and ".join(named)]).strip()


class WordOrType(OptionType):
    """The type of an option whose value is one of some words or a value of another type."""

    def __init__(self, kind, *listed):
        """Make the type from the `OptionType` of the other values and the words."""
        self.kind = kind
        self.listed = listed
        self.name = "|".join((kind.name, *listed))
        self.words = ", ".join((*listed, f"or {kind.words}"))

    def parse(self, value):
        if value in self.listed:
            return value
        try:
            return self.kind.parse(value)
        except ValueError:
            raise ValueError(self.words) from None


class ChoiceType(OptionType):
    """The type of an option whose value is one of several names."""

    def __init__(self, choices):
        """Make the type from the valid names: a sequence, or a `Registry` that may grow later."""
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


class TupleType(OptionType):
    """The type of an option whose value is a tuple of values of one type.

    A single value is parsed to a tuple of length 1.
    """

    is_repeatable = True

    def __init__(self, kind):
        """Make the type from the `OptionType` of one value of the tuple."""
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
    """Convert a value or its text to an int or float without loss; return None if that is not possible.

    Parameters
    ----------
    kind : int or float, the type to convert to
    value : any object; a bool is not a number here, and 2.5 is not an int
    """
    if isinstance(value, bool):
        return None
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if not isinstance(value, str) and number != value else number


def require_number(name, value, kind, words=""):
    """Return the value of a parameter of a Python function, converted to its type.

    Parameters
    ----------
    name : str, the parameter
    value : any object; text and bool are not numbers here
    kind : IntegerType or FloatType
    words : str, the valid values, as they follow "must be"; by default those of `kind`

    Raises
    ------
    InputError
        If the value is not a number of this type and range.
    """
    is_number = isinstance(value, Integral if isinstance(kind, IntegerType) else Real)
    try:
        return kind.parse(value if is_number else None)
    except ValueError:
        what = f"{name} is {value!r}, and must be {words or kind.words}"
        raise InputError(what, fix=f"choose another {name}") from None


def option(default, kind, help, *, stands_for="", in_header=True, in_files=True, variable=""):
    """Declare one option, as a dataclass field of a subclass of `Options`.

    Parameters
    ----------
    default : the default value; None if the program chooses the value when the option is not given
    kind : OptionType of the value
    help : str, one or two sentences
    stands_for : str, what help shows as the default if `default` is None
    in_header : bool, whether the headers of output files contain the option. Paths are left out; headers have
        the digests of the files instead
    in_files : bool, whether a configuration file may set it. An option that can run other code may not be set
    variable : str, the environment variable that sets it; "" if there is none
    """
    metadata = {name: value for name, value in locals().items() if name != "default"}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base class of all options classes; values are validated when an object is made.

    Attributes
    ----------
    table : str, the name of the table in configuration files
    """

    table: ClassVar[str] = ""

    def __post_init__(self):
        for entry in fields(self):
            object.__setattr__(self, entry.name, parse_option(entry, getattr(self, entry.name), entry.name))

    @classmethod
    def from_table(cls, table, where, *, spelled=None):
        """Make an options object from one table of a configuration file.

        Options that the table lacks keep their defaults.

        Parameters
        ----------
        table : dict, name of an option -> value
        where : str, how error messages name the table, such as "[extract]"
        spelled : function from the name of a field to its name in the table; by default `to_kebab_case`

        Raises
        ------
        InputError
            If an option does not exist or its value is not valid.
        """
        spelled = spelled or to_kebab_case
        known = {spelled(entry.name): entry for entry in fields(cls)}
        values = {}
        for name, value in table.items():
            if name not in known:
                meant = did_you_mean(name, known)
                raise InputError(f'{where} has no option "{name}".{meant}', fix=f"use {', '.join(known)}")
            values[known[name].name] = parse_option(known[name], value, f"{where} {name}")
        try:
            return cls(**values)
        except InputError as error:  # options that do not go together
            raise InputError(f"{where}: {error.message}", fix=error.fix) from None

    @classmethod
    def from_header(cls, header):
        """Make an options object from the options in the header of an output file.

        `header` is a dict, option -> JSON value, as `to_header` returns it. Other entries are ignored.

        Raises
        ------
        KeyError, ValueError
            If an option is missing or its value is not valid.
        """
        return cls(**{entry.name: header[entry.name] for entry in _header_fields(cls)})

    def to_header(self):
        """Return the options as a dict, option -> JSON value, for the header of an output file.

        Options that are declared with `in_header=False` are left out.
        """
        return {
            entry.name: None if value is None else entry.metadata["kind"].to_json(value)
            for entry in _header_fields(self)
            for value in [getattr(self, entry.name)]
        }


def parse_option(entry, value, where):
    """Validate a value for one option and convert it to the Python type of the option.

    Parameters
    ----------
    entry : dataclasses.Field, the option, as `option` declares it
    value : the value or its text. None is returned unchanged if it is the default
    where : str, how error messages name the option

    Raises
    ------
    InputError
        If the value is not valid.
    """
    if value is None and _field_default(entry) is None:
        return None
    try:
        parsed = entry.metadata["kind"].parse(value)
        if parsed == () and _field_default(entry):
            raise ValueError(f"at least one of: {entry.metadata['kind'].words}")
        return parsed
    except InputError as error:  # its message says what is wrong with the value
        raise InputError(f"{where}: {error.message}", fix=error.fix) from None
    except ValueError as error:
        raise InputError(f"{where} is {value!r}, and must be {error}", fix=f"write {error}") from None


def _field_default(entry):
    """Return the default value of an option; entry : dataclasses.Field of the option."""
    return entry.default_factory() if entry.default is MISSING else entry.default


def format_default(entry):
    """Format the default of an option for help; return "" if there is none to show.

    `entry` is the dataclass field of the option. Defaults of flags and empty values are not shown.
    """
    kind = entry.metadata["kind"]
    default = _field_default(entry)
    is_shown = not isinstance(kind, FlagType) and default not in (None, (), {})
    return entry.metadata["stands_for"] or (kind.to_text(default) if is_shown else "")


def to_kebab_case(name):
    """Replace the underscores of a name by dashes, as in command lines and configuration files."""
    return name.replace("_", "-")


def _header_fields(options):
    """Return the dataclass fields of the options that the headers of output files contain."""
    return [entry for entry in fields(options) if entry.metadata["in_header"]]
