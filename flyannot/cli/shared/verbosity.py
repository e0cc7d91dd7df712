"""How much is said on stderr, and in which colours."""

import logging
import os
import sys

import click

from flyannot.cli.shared.log_format import choose_log_format, formatter, is_json_log, log_format_option
from flyannot.cli.shared.progress import without_bar

log = logging.getLogger("flyannot")
_ONCE = ("note: ", "warning: ")


def verbosity_flags():
    """The flags -v, -q and --debug, and --log-format, for a command or for all of them."""
    return [
        _flag("-v", "--verbose", level=logging.DEBUG + 5, help="Say more."),
        _flag("-q", "--quiet", level=logging.WARNING, help="Say only what went wrong."),
        _flag("--debug", level=logging.DEBUG, help="Show tracebacks."),
        log_format_option(),
    ]


def _flag(*names, level, help):
    def callback(ctx, param, value):
        if value:
            log.setLevel(level)

    return click.Option(names, is_flag=True, expose_value=False, is_eager=True, callback=callback, help=help)


class _LineHandler(logging.StreamHandler):
    """Writes lines of their own, where a bar is drawn too."""

    def emit(self, record):
        with without_bar():
            super().emit(record)


def start_log():
    """Messages go to stderr, as they are; notes and warnings once, however often a table is read."""
    if not log.handlers:
        handler = _LineHandler(sys.stderr)
        handler.setFormatter(formatter())
        handler.addFilter(_said_once())
        log.addHandler(handler)
        choose_log_format(is_json_log())
    if log.level == logging.NOTSET:
        log.setLevel(logging.INFO)


def _said_once():
    """A filter that lets each note and each warning pass once."""
    said = set()

    def passes(record):
        message = record.getMessage()
        if not message.startswith(_ONCE):
            return True
        is_new = message not in said
        said.add(message)
        return is_new

    return passes


def coloured(text, colour, stream):
    """The text in a colour, if `stream` is a terminal that shows colours and nobody asked for none.

    Source: no-color.org.
    """
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if is_plain or stream is None or not stream.isatty():
        return text
    return click.style(text, fg=colour, bold=True)
