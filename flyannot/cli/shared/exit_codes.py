"""How a command ends: exit codes, one line on every fault, and signals.

Ctrl-C, SIGTERM and SIGHUP end a run by an exception, so that every `finally` cleans up.  An exception that is
raised inside a callback of Python's own (of a weak reference, during an import) is lost, and compiled modules
may turn it into another: so it is raised again until it arrives.
"""

import errno
import os
import re
import signal
import sys
import traceback

import click

from flyannot.base.errors import FlyannotError, InputError, WriteError, did_you_mean
from flyannot.base.system import ENDING_SIGNALS, exit_immediately, start_alarm, stop_alarm
from flyannot.cli.shared.messages import is_debugging, say_error, start_log

COMPLETION = "_FLYANNOT_COMPLETE"  # the variable by which a shell asks how a line goes on
SKIPPED = 3  # finished, some items skipped and listed
_MOST_LETTERS = 1000  # of a line of a message: what a damaged file says of itself may be long
_MOST_LINES = 100
_AGAIN_S = 0.5
_received = []  # the signals of this run so far


class Interrupted(BaseException):
    """A signal, by its number, asked the run to end."""


def exit_code_of(group):
    """Run a click group on this process's arguments and return the exit code."""
    if COMPLETION not in os.environ:  # the shell then asks for words, and shows messages as if they were some
        start_log()
    listen_to_signals()
    try:
        return _run_explained(group)
    except Interrupted as interrupted:
        _ignore_signals()
        say_error("Interrupted: run the same command again, and it continues where it was.")
        return exit_immediately(128 + interrupted.args[0])


def _run_explained(group):
    """Run the group, print each error as one line, and return the exit code."""
    try:
        return _run(group)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help page
            click.echo(error.format_message(), err=True)
            return error.exit_code
        help_page = f"see {error.ctx.command_path if error.ctx else 'flyannot'} --help"
        return _fail(error.exit_code, f"{error.format_message()}{_choice_meant(error)}", help_page)
    except click.ClickException as error:
        return _fail(error.exit_code, error.format_message())
    except (BrokenPipeError, SystemExit):  # the reader has had enough, as `head` has; click exits then
        _drop_stdout()
        return 0
    except FlyannotError as error:
        return _fail(error.exit_code, error.message, error.fix, is_traced=True)
    except MemoryError:
        return _fail(1, "out of memory", "use fewer --jobs, fewer atoms or a larger stride")
    except Exception as error:
        return _fail_unexpectedly(error)


def _run(group):
    try:
        os.getcwd()
    except FileNotFoundError:
        raise InputError("the working folder is not there any more", fix="change to another folder") from None
    if hasattr(sys.stdout, "reconfigure"):  # names are printed on any terminal, whatever letters it knows
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = group.main(
            prog_name="flyannot",
            standalone_mode=False,
            auto_envvar_prefix="FLYANNOT",
            complete_var=COMPLETION,
        )
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (Exception, SystemExit):
        _raise_if_interrupted()  # then this is what became of it
        raise


def _choice_meant(error):
    """Return a suggestion if a value is none of an option's choices, which click only lists."""
    kind = getattr(getattr(error, "param", None), "type", None)
    value = re.match("'(.*)' is not one of ", error.message)
    return did_you_mean(value[1], kind.choices) if value and isinstance(kind, click.Choice) else ""


def _fail_unexpectedly(error):
    text = (str(error).splitlines() or [""])[0]
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:  # files explain themselves
        code = WriteError.exit_code
        _fail(code, f"cannot write to the standard output: {error.strerror}", "send it elsewhere")
        _drop_stdout()
        return code
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return _fail(InputError.exit_code, f"{error.filename}: {error.strerror}", "name another file")
    fix = "this is a fault of flyannot: run again with --debug and report what it prints"
    return _fail(1, f"unexpected {type(error).__name__}: {text}", fix, is_traced=True)


def _drop_stdout():
    """Send the rest of the buffer nowhere, instead of failing again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(code, message, fix="", *, is_traced=False):
    """Print an error, shortened, with its traceback if --debug asks for it; return the exit code."""
    trace = traceback.format_exc() if is_traced and is_debugging() else ""
    say_error(f"Error: {_shortened(message)}", fix=_shortened(fix or ""), traceback=trace)
    return code


def _shortened(text):
    lines = text.splitlines()[:_MOST_LINES]
    return "\n".join(s if len(s) <= _MOST_LETTERS else f"{s[:_MOST_LETTERS]}..." for s in lines)


# --- signals ---


def listen_to_signals():
    """Raise `Interrupted` in the main thread when a signal comes."""
    _received.clear()
    for number in ENDING_SIGNALS:
        signal.signal(number, _on_signal)
    _keep_raising()
    sys.unraisablehook = _report_unraisable


def _ignore_signals():
    """Raise nothing any more, once the run has ended."""
    _received.clear()
    stop_alarm()
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _on_signal(number, frame):
    _received.append(number)
    _keep_raising()
    _raise_if_interrupted()


def _keep_raising():
    start_alarm(lambda: _received, _raise_if_interrupted, _AGAIN_S)


def _raise_if_interrupted():
    if _received:
        raise Interrupted(_received[0])


def _report_unraisable(lost):
    """Report an error that Python cannot raise, unless a signal came: HDF5 then reports unfinished writes."""
    if not _received and not isinstance(lost.exc_value, Interrupted):
        sys.__unraisablehook__(lost)
