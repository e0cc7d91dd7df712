"""The errors a user can meet.  Each knows its exit code and, where there is one, its remedy.

Exit codes: 0 done, 1 handled failure, 2 usage, configuration or tables, 3 finished with some items
skipped and listed, 65 damaged or mismatched data, 74 cannot write, 75 locked by another run.
"""

from difflib import get_close_matches


class FlyannotError(Exception):
    """An error that is explained in one line, `message`; `fix` is the command or the change that mends it.

    As text it is both, a line each: that is what Python and notebooks show.
    """

    exit_code = 1

    def __init__(self, message: object, *, fix: str | None = None) -> None:
        super().__init__(message)
        self.message, self.fix = str(message), fix

    def __str__(self) -> str:
        return f"{self.message}\nFix: {self.fix}" if self.fix else self.message


class InputError(FlyannotError, ValueError):
    """A table, an option or a configuration is invalid.

    A ValueError too, as Python and scikit-learn expect of an invalid argument.
    """

    exit_code = 2


class DataError(FlyannotError):
    """Data that are damaged, or that do not belong together."""

    exit_code = 65


class WriteError(FlyannotError):
    """An output cannot be written; what stood there before still stands.  `is_full`: there is no space."""

    exit_code = 74

    def __init__(self, message: object, *, fix: str | None = None, is_full: bool = False) -> None:
        super().__init__(message, fix=fix)
        self.is_full = is_full


class LockedError(FlyannotError):
    """Another run is writing the same output."""

    exit_code = 75


def message_of(error):
    """Return the message of an error without its remedy, for a table or as part of another message."""
    return getattr(error, "message", str(error))


def did_you_mean(word, known):
    """Return ' Did you mean "…"?' for the closest of the `known` words, or an empty string."""
    known = [str(k) for k in known]
    close = [k for k in known if k.lower() == str(word).lower()] or get_close_matches(str(word), known, n=1)
    return f' Did you mean "{close[0]}"?' if close else ""
