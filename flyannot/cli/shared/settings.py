"""The variables of the environment that commands read, and a word on those that none does."""

import os

from flyannot.cli.shared.verbosity import log
from flyannot.errors import did_you_mean

_PREFIX = "FLYANNOT_"
_FOLDERS = {"FLYANNOT_DATA", "FLYANNOT_CACHE"}


def warn_of_unknown_settings():
    """Say which variables of the environment begin as ours do and are none: they are misspelt."""
    found = {name for name in os.environ if name.startswith(_PREFIX)} - _FOLDERS
    known = known_settings() if found else set()
    for name in sorted(found - known):
        log.warning(
            "warning: %s in the environment sets nothing.%s The names are those of: flyannot info --options",
            name,
            did_you_mean(name, known | _FOLDERS),
        )


def known_settings():
    """The names of the variables that give an option of some command."""
    from flyannot.cli import group
    from flyannot.cli.shared.option_table import commands_below

    names = {f"{_PREFIX}{param.name}".upper() for param in group.params}
    for command_name, command in commands_below(group):
        prefix = command_name.replace(" ", "_").replace("-", "_").upper()
        for param in command.params:
            names |= {f"{prefix}_{param.name}".upper(), str(getattr(param, "envvar", None))}
    return names
