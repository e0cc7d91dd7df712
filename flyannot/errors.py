"""The errors a user can meet.  Each knows its exit code and, where there is one, its remedy.

Exit codes: 0 done, 1 handled failure, 2 usage, configuration or tables, 3 finished with some items
skipped and listed, 65 damaged or mismatched data, 74 cannot write, 75 locked by another run.
"""

from difflib import get_close_matches


class FlyannotError(Exception):
    """A fault that is explained in one line; `fix` is the command or the change that mends it."""

    exit_code = 1

    def __init__(self, message, *, fix=None):
        super().__init__(message)
        self.fix = fix


class InputError(FlyannotError, ValueError):
    """A table, an option or a configuration says something that cannot be meant.

    A ValueError too, as Python and scikit-learn expect of an argument that cannot be meant.
    """

    exit_code = 2


class DataError(FlyannotError):
    """Data that are damaged, or that do not belong together."""

    exit_code = 65


class WriteError(FlyannotError):
    """An output cannot be written; what stood there before still stands.  `is_full`: there is no space."""

    exit_code = 74

    def __init__(self, message, *, fix=None, is_full=False):
        super().__init__(message, fix=fix)
        self.is_full = is_full


class LockedError(FlyannotError):
    """Another run is writing the same output."""

    exit_code = 75


def did_you_mean(word, known):
    """' Did you mean "…"?' for the closest of the `known` words, or an empty string."""
    known = [str(k) for k in known]
    close = [k for k in known if k.lower() == str(word).lower()] or get_close_matches(str(word), known, n=1)
    return f' Did you mean "{close[0]}"?' if close else ""
