"""Exit codes, one-line errors and signals.

Ctrl-C, SIGTERM and SIGHUP raise an exception in the main thread, so that every `finally` cleans up. Python
loses an exception that is raised inside one of its own callbacks, for example during an import, and compiled
modules may replace it. The exception is therefore raised again until the command ends.
"""

import errno
import os
import re
import signal
import sys
import traceback

import click

from flyannot.base.errors import FlyannotError, InputError, WriteError, did_you_mean
from flyannot.base.system import ENDING_SIGNALS, exit_immediately, start_interrupting, stop_interrupting
from flyannot.cli.shared.messages import install_log_handler, is_debugging, print_error

_COMPLETION = "_FLYANNOT_COMPLETE"  # a shell sets this variable to ask for completions
SKIPPED = 3  # done, but some images, or rows of corrections, were skipped
_MAX_LENGTH = 1000  # characters of a line of a message, which may quote a damaged file
_MAX_LINES = 100
_REPEAT_S = 0.5
# Errors of a file, which are not faults of flyannot.
_OF_A_FILE = (errno.EACCES, errno.EIO, errno.ELOOP, errno.ENAMETOOLONG, errno.ESTALE)
_received_signals = []  # numbers of the signals that this run has received


class Interrupted(BaseException):
    """The exception raised when a signal asks the command to end; its argument is the signal number."""


def run_click_group(group):
    """Run a click group on this process's arguments and return the exit code."""
    if _COMPLETION not in os.environ:  # a shell would take messages for completions
        install_log_handler()
    install_signal_handlers()
    try:
        return _run_and_print_errors(group)
    except Interrupted as interrupted:
        _ignore_signals()
        print_error("Interrupted: repeat the command, and it continues where it stopped.")
        return exit_immediately(128 + interrupted.args[0])


def _run_and_print_errors(group):
    """Run a click group on this process's arguments, print any error as one line; return the exit code."""
    try:
        return _run(group)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help page
            click.echo(error.format_message(), err=True)
            return error.exit_code
        help_page = f"see {error.ctx.command_path if error.ctx else 'flyannot'} --help"
        return _print_failure(error.exit_code, f"{error.format_message()}{_suggest_choice(error)}", help_page)
    except click.ClickException as error:
        return _print_failure(error.exit_code, error.format_message())
    except (BrokenPipeError, SystemExit):  # the reader closed the pipe, as `head` does; click then exits
        _discard_stdout()
        return 0
    except FlyannotError as error:
        return _print_failure(error.exit_code, error.message, error.fix, is_traced=True)
    except MemoryError:
        return _print_failure(1, "out of memory", "use fewer --jobs, fewer atoms or a larger stride")
    except Exception as error:
        return _print_unexpected_error(error)


def _run(group):
    try:
        os.getcwd()
    except FileNotFoundError:
        what = "the working folder does not exist any more"
        raise InputError(what, fix="change to another folder") from None
    if (encoding := sys.getfilesystemencoding()) != "utf-8":  # names of files could not be read or written
        raise InputError(f"this locale reads names of files as {encoding}, not UTF-8", fix="set PYTHONUTF8=1")
    if hasattr(sys.stdout, "reconfigure"):  # a terminal may lack letters
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = group.main(prog_name="flyannot", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (Exception, SystemExit):
        _raise_if_interrupted()  # the error may be what is left of an interruption
        raise


def _suggest_choice(error):
    """Return a suggestion for a misspelt value of an option with fixed choices, to be shown with the error.

    `error` is the exception raised by click, whose message lists the choices only.
    """
    kind = getattr(getattr(error, "param", None), "type", None)
    value = re.match("'(.*)' is not one of ", error.message)
    return did_you_mean(value[1], kind.choices) if value and isinstance(kind, click.Choice) else ""


def _print_unexpected_error(error):
    text = (str(error).splitlines() or [""])[0]
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:  # errors of files have their own class
        _discard_stdout()
        what = f"cannot write to the standard output: {error.strerror}"
        return _print_failure(WriteError.exit_code, what, "redirect the output elsewhere")
    if isinstance(error, OSError) and error.errno in _OF_A_FILE and error.filename:
        what = f"cannot read {error.filename}: {error.strerror}"
        return _print_failure(InputError.exit_code, what, "check its permissions, or choose another file")
    fix = "this is a bug in flyannot: repeat the command with --debug and report the output"
    return _print_failure(1, f"unexpected {type(error).__name__}: {text}", fix, is_traced=True)


def _discard_stdout():
    """Discard output that is not yet written to stdout, so that Python does not fail again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_failure(code, message, fix="", *, is_traced=False):
    """Print a shortened error message with its remedy `fix`, and return the exit code `code`.

    With --debug, the traceback is printed, too.
    """
    trace = traceback.format_exc() if is_traced and is_debugging() else ""
    print_error(f"Error: {_shorten(message)}", fix=_shorten(fix or ""), traceback=trace)
    return code


def _shorten(text):
    lines = text.splitlines()[:_MAX_LINES]
    return "\n".join(s if len(s) <= _MAX_LENGTH else f"{s[:_MAX_LENGTH]}..." for s in lines)


# --- signals ---


def install_signal_handlers():
    """Install handlers that raise `Interrupted` in the main thread on Ctrl-C, SIGTERM or SIGHUP."""
    _received_signals.clear()
    for number in ENDING_SIGNALS:
        signal.signal(number, _on_signal)
    sys.unraisablehook = _report_unraisable


def _ignore_signals():
    """Ignore Ctrl-C, SIGTERM and SIGHUP from now on; called when the command has ended."""
    _received_signals.clear()
    stop_interrupting()
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _on_signal(number, frame):
    _received_signals.append(number)
    start_interrupting(_raise_if_interrupted, _REPEAT_S)
    _raise_if_interrupted()


def _raise_if_interrupted():
    if _received_signals:
        raise Interrupted(_received_signals[0])


def _report_unraisable(lost):
    """Report an error that Python cannot raise, such as one in a finaliser; a hook for `sys.unraisablehook`.

    `lost` is the argument that Python gives the hook. After a signal nothing is reported, because HDF5 then
    complains about unfinished writes.
    """
    if not _received_signals and not isinstance(lost.exc_value, Interrupted):
        sys.__unraisablehook__(lost)
