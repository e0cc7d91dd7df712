"""Options, written down once: default, kind and help in the field of a dataclass.

From an options class come the options of a command, the keys of a configuration's table, the options in a
file's header and their check when it is read, the check of values given from Python, and the page of all
options.  To add an option is to add a field:

    @dataclass(frozen=True, kw_only=True)
    class ExtractOptions(Options):
        stride_px: int = option(16, Count(), "From one patch to the next.")

A value is parsed by its kind, from the text of a command line as from the value of a TOML file or of a call:
whoever holds an options object holds valid values, in one form.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import ClassVar

from flyannot.base.errors import InputError, did_you_mean
from flyannot.base.options.kinds import Flag

UNLESS_DEFAULT = "unless default"
_FIX = "see what values there are: flyannot COMMAND --help"


def option(
    default, kind, help, *, stands_for="", more=False, in_header=True, in_files=True, variable="", kept_as=""
):
    """Declare a field of an options class.

    Parameters
    ----------
    default : its value; None for an option that may be left open
    kind : Kind
    help : one sentence or two
    stands_for : what an open option means, in help
    more : whether help shows it under "More options"
    in_header : whether a file's header has it; a path has no place there, the digest of its file does.
        UNLESS_DEFAULT for one that older files do not know: theirs were made by its default; and for one that
        a step fits to the data where it is open
    in_files : whether a configuration may give it; what lets others run code has no place there
    variable : the variable of the environment that gives it, where it is not named by table and option
    kept_as : its name in files' headers, where that is another
    """
    about = {
        "kind": kind,
        "help": help,
        "stands_for": stands_for,
        "more": more,
        "in_header": in_header,
        "in_files": in_files,
        "variable": variable,
        "kept_as": kept_as,
    }
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=about)
    return field(default=default, metadata=about)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base of all options classes; its values are parsed when an object is made.

    table : what holds them in a configuration, and after FLYANNOT_ in the environment
    gone : options of earlier versions, with the one value that a record of such a version may give them
    """

    table: ClassVar[str] = ""
    gone: ClassVar[Mapping] = {}

    def __post_init__(self):
        for entry in fields(self):
            object.__setattr__(self, entry.name, parsed(entry, getattr(self, entry.name), entry.name))

    @classmethod
    def of_table(cls, table, where, *, spelled=None):
        """Make options of a table of a configuration; other values have their defaults.

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
        known, spelled = {entry.name: entry for entry in fields(cls)}, spelled or kebab
        values = {}
        for name, value in cls.without_gone(table).items():
            plain = name.replace("-", "_")
            if plain not in known:
                names = [spelled(entry) for entry in known]
                meant = did_you_mean(spelled(plain), names)
                raise InputError(f'{where} has no option "{name}".{meant}', fix=f"use {', '.join(names)}")
            values[plain] = parsed(known[plain], value, f"{where} {spelled(plain)}")
        return cls(**values)

    @classmethod
    def without_gone(cls, table):
        """Return a table without the options that are gone, where they had no effect."""
        return {
            name: value for name, value in table.items() if name not in cls.gone or value != cls.gone[name]
        }

    @classmethod
    def of_header(cls, header):
        """Make options of a file's header, which may hold others.

        Raises
        ------
        KeyError, ValueError
            If it lacks an option, or has a value that an option does not take.
        """
        return cls(
            **{
                entry.name: header[name]
                for entry in _in_header(cls)
                if (name := _name_in_header(entry)) in header or entry.metadata["in_header"] != UNLESS_DEFAULT
            }
        )

    def to_header(self):
        """Return the options by name, as JSON."""
        return {
            _name_in_header(entry): _as_json(entry, value)
            for entry in _in_header(self)
            if (value := getattr(self, entry.name)) != entry.default
            or entry.metadata["in_header"] != UNLESS_DEFAULT
        }


def parsed(entry, value, where):
    """Parse a value for a field of an options class, and return its one form.

    Raises
    ------
    InputError
        If the option does not take it.
    """
    if value is None and _default_of(entry) is None:
        return None
    try:
        return entry.metadata["kind"].parse(value)
    except InputError:
        raise  # it says all that there is to say
    except ValueError as error:
        raise InputError(f"{where} is {value!r}, and must be {error}", fix=_FIX) from None


def _default_of(entry):
    """Return the default of a field of an options class."""
    return entry.default_factory() if entry.default is MISSING else entry.default


def shown_default(entry):
    """Return the default of a field as help shows it; "" if there is none to show."""
    kind, default = entry.metadata["kind"], _default_of(entry)
    is_shown = not isinstance(kind, Flag) and default not in (None, (), {})
    return entry.metadata["stands_for"] or (kind.as_text(default) if is_shown else "")


def environment_name(options, entry):
    """Return the name of the environment variable that gives a field of an options class."""
    return entry.metadata["variable"] or f"FLYANNOT_{options.table}_{entry.name}".replace("-", "_").upper()


def kebab(name):
    """Spell a name as the command line and configurations do."""
    return name.replace("_", "-")


def _in_header(options):
    return [entry for entry in fields(options) if entry.metadata["in_header"]]


def _name_in_header(entry):
    return entry.metadata["kept_as"] or entry.name


def _as_json(entry, value):
    return None if value is None else entry.metadata["kind"].as_json(value)
