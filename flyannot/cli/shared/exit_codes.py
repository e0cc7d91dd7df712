"""How a run ends: exit codes, one-line messages, signals."""

import errno
import logging
import os
import re
import sys
import traceback

import click

from flyannot.cli.shared.interrupts import Interrupted, listen, raise_if_asked, stop_listening
from flyannot.cli.shared.log_format import begin_log_format, is_json_log, say_as_json, say_end
from flyannot.cli.shared.progress import drop_bar
from flyannot.cli.shared.verbosity import coloured
from flyannot.errors import FlyannotError, InputError, WriteError, did_you_mean
from flyannot.runtime.system import end_at_once

_MOST_LETTERS = 1000  # of a message
SKIPPED = 3  # finished, some items skipped and listed


def exit_code_of(group):
    """Run a click group on this process's arguments and return the exit code."""
    begin_log_format(sys.argv[1:])
    listen()
    try:
        code = _explained_code_of(group)
    except Interrupted as interrupted:
        stop_listening()
        _say("Interrupted: run the same command again, and it continues where it was.")
        code = 128 + interrupted.number
        say_end(code)
        return end_at_once(code)
    say_end(code)
    return code


def _explained_code_of(group):
    try:
        _require_working_folder()
        return _run(group)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError" and not is_json_log():  # its message is the help page
            click.echo(error.format_message(), err=True)
            return error.exit_code
        _say(
            f"Error: {error.format_message()}{_choice_meant(error)}",
            f"see {error.ctx.command_path if error.ctx else 'flyannot'} --help",
        )
        return error.exit_code
    except click.ClickException as error:
        _say(f"Error: {error.format_message()}")
        return error.exit_code
    except (BrokenPipeError, SystemExit):  # the reader has had enough, as `head` has; click exits then
        _drop_stdout()
        return 0
    except FlyannotError as error:
        _explain(error)
        return error.exit_code
    except MemoryError:
        _say("Error: out of memory", "use fewer --jobs, fewer atoms or a larger stride")
        return 1
    except Exception as error:
        return _unexpected(error)


def _choice_meant(error):
    """A suggestion where a value is none of an option's choices; click only lists them."""
    kind = getattr(getattr(error, "param", None), "type", None)
    found = re.match("'(.*)' is not one of ", error.message)
    return did_you_mean(found[1], kind.choices) if found and isinstance(kind, click.Choice) else ""


def _run(group):
    try:
        _accept_any_text()
        code = group.main(
            prog_name="flyannot", standalone_mode=False, auto_envvar_prefix="FLYANNOT",
            complete_var="_FLYANNOT_COMPLETE",
        )  # fmt: skip
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (Exception, SystemExit):
        raise_if_asked()  # then this is what became of it
        raise


def _require_working_folder():
    try:
        os.getcwd()
    except FileNotFoundError:
        raise InputError("the working folder is not there any more", fix="change to another folder") from None


def _accept_any_text():
    """Names of genes and files are printed on any terminal, whatever letters it knows."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def _drop_stdout():
    """What is left in its buffer goes nowhere, instead of failing again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_debugging():
    """Whether --debug was given: faults then show their traceback."""
    return logging.getLogger("flyannot").getEffectiveLevel() <= logging.DEBUG


def _explain(error):
    _say(f"Error: {error.message}", error.fix, _traceback())


def _traceback():
    """Of the error that is being explained, for --debug."""
    return traceback.format_exc() if is_debugging() else ""


def _unexpected(error):
    text = (str(error).splitlines() or [""])[0]
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:  # files explain themselves
        _say(f"Error: cannot write to the standard output: {error.strerror}", "send it elsewhere")
        _drop_stdout()
        return WriteError.exit_code
    _say(
        f"Error: unexpected {type(error).__name__}: {text}",
        "this is a fault of flyannot: run again with --debug and report what it prints",
        _traceback(),
    )
    return 1


def _cut(text):
    """What a damaged file says of itself may be long."""
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}..."


def _say(message, fix=None, trace=""):
    drop_bar()
    message, fix = _cut(message), fix and _cut(fix)
    if is_json_log():
        say_as_json("error", message.removeprefix("Error: "), fix=fix, traceback=trace)
        return
    if trace:
        click.echo(trace, err=True)
    head, colon, text = message.partition(":")
    click.echo(coloured(head + colon, "red", sys.stderr) + text, err=True)
    if fix:
        click.echo(f"{coloured('Fix:', 'green', sys.stderr)} {fix}", err=True)
