"""Errors that a user can meet, each with its exit code and, if there is one, its remedy.

Exit codes: 0 done, 1 handled failure, 2 usage, configuration or tables, 3 finished with some items skipped
and listed, 65 damaged or mismatched data, 74 cannot write, 75 locked by another run.
"""

from collections.abc import Iterable


class FlyannotError(Exception):
    """An error that a command reports in one line, with its remedy if there is one.

    `str(error)` is the message and, on a second line, the remedy after "Fix: ".

    Attributes
    ----------
    message : str, what is wrong, with the file and the reason
    fix : str, the command or the change that removes the cause; None if there is no remedy
    exit_code : int, with which the command ends
    """

    exit_code = 1

    def __init__(self, message: object, *, fix: str | None = None, lines: Iterable[str] = ()) -> None:
        """Make the error; `message` may be any object with a text, and `fix` is the remedy.

        `lines` are further lines of the message. A line end in a name, such as a path, is shown as \\n.
        """
        super().__init__(message)
        self.message = "\n".join(str(line).replace("\n", "\\n") for line in (message, *lines))
        self.fix = fix and fix.replace("\n", "\\n")

    def __str__(self) -> str:
        return f"{self.message}\nFix: {self.fix}" if self.fix else self.message


class InputError(FlyannotError, ValueError):
    """An invalid table, option or configuration; exit code 2.

    It is also a ValueError, which Python and scikit-learn expect for an invalid argument.
    """

    exit_code = 2


class DataError(FlyannotError):
    """Damaged data, or data that do not belong together; exit code 65."""

    exit_code = 65


class ArrayError(DataError, ValueError):
    """Arrays whose numbers or shapes cannot be used; exit code 65, and a ValueError, which Python expects."""


class WriteError(FlyannotError):
    """The error raised if an output cannot be written; exit code 74.

    A file that had the name of the output before is unchanged. The attribute `is_full` (bool) is true if the
    disk has no space left.
    """

    exit_code = 74

    def __init__(self, message: object, *, fix: str | None = None, is_full: bool = False) -> None:
        """Make the error; `message` and `fix` as in `FlyannotError`, and `is_full` if no space is left."""
        super().__init__(message, fix=fix)
        self.is_full = is_full


class LockedError(FlyannotError):
    """The error raised if another run is writing the same output; exit code 75."""

    exit_code = 75


def error_message(error):
    """Return the message (str) of any exception, without the remedy that a FlyannotError has.

    Tables and longer messages quote errors in this form.
    """
    return getattr(error, "message", str(error))


def did_you_mean(word, known):
    """Return a suggestion for a misspelled word, to append to an error message.

    Parameters
    ----------
    word : str, as the user wrote it
    known : iterable of str, the valid words

    Returns
    -------
    str
        ' Did you mean "lateral"?' if the valid word "lateral" is close, or "" if none is close.
    """
    from difflib import get_close_matches  # on demand, for a quick `--help`

    known = [str(k) for k in known]
    close = [k for k in known if k.lower() == str(word).lower()] or get_close_matches(str(word), known, n=1)
    return f' Did you mean "{close[0]}"?' if close else ""
