"""Errors that a user can meet, each with its exit code and, if there is one, its remedy.

Exit codes: 0 done, 1 handled failure, 2 usage, configuration or tables, 3 finished with some items
skipped and listed, 65 damaged or mismatched data, 74 cannot write, 75 locked by another run.
"""

from difflib import get_close_matches


class FlyannotError(Exception):
    """An error with a one-line explanation and, if possible, its remedy.

    Its text, which Python and notebooks show, has both.

    Attributes
    ----------
    message : what is wrong, with the file and the reason
    fix : the command or the change that removes the cause, or None
    """

    exit_code = 1

    def __init__(self, message: object, *, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = str(message)
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message}\nFix: {self.fix}" if self.fix else self.message


class InputError(FlyannotError, ValueError):
    """An invalid table, option or configuration.

    It is also a ValueError, which Python and scikit-learn expect for an invalid argument.
    """

    exit_code = 2


class DataError(FlyannotError):
    """Damaged data, or data that do not belong together."""

    exit_code = 65


class WriteError(FlyannotError):
    """An output that cannot be written; the file that was there before is unchanged.

    `is_full` says that there is no space left.
    """

    exit_code = 74

    def __init__(self, message: object, *, fix: str | None = None, is_full: bool = False) -> None:
        super().__init__(message, fix=fix)
        self.is_full = is_full


class LockedError(FlyannotError):
    """An output that another run is writing."""

    exit_code = 75


def error_message(error):
    """Return the message of an error without its remedy, to be part of a table or of another message."""
    return getattr(error, "message", str(error))


def did_you_mean(word, known):
    """Return ' Did you mean "…"?' for the closest of the `known` words, or an empty string."""
    known = [str(k) for k in known]
    close = [k for k in known if k.lower() == str(word).lower()] or get_close_matches(str(word), known, n=1)
    return f' Did you mean "{close[0]}"?' if close else ""
