"""Options of every step, and the tables of named things that they choose from."""

from flyannot.base.options.kinds import (
    Choice,
    Count,
    FilePath,
    Flag,
    Kind,
    OrAuto,
    Real,
    Several,
    Text,
)
from flyannot.base.options.options import (
    UNLESS_DEFAULT,
    Options,
    environment_name,
    kebab,
    option,
    parsed,
    shown_default,
)

__all__ = [
    "UNLESS_DEFAULT",
    "Choice",
    "Count",
    "FilePath",
    "Flag",
    "Kind",
    "Options",
    "OrAuto",
    "Real",
    "Several",
    "Text",
    "environment_name",
    "kebab",
    "option",
    "parsed",
    "shown_default",
]
