"""Messages, errors and progress on stderr."""

import logging
import os
import sys
import time
from contextlib import nullcontext
from typing import Any

import click

from flyannot.base.text import escape_unprintable

_SHOWN_ONCE = ("note: ", "warning: ")  # a table may be read several times
_SECONDS_BETWEEN_LINES = 30
_MIN_ITEMS_TO_ESTIMATE = 5
_SECONDS_BEFORE_BAR = 1  # a quick command needs no bar
_bars: list = []  # the bar on the terminal, if there is one
log = logging.getLogger("flyannot")


def message_options():
    """Return the click options -v, -q and --debug, which set the level of messages in every command."""
    return [
        _level_option("-v", "--verbose", level=logging.DEBUG + 5, help="Print more messages."),
        _level_option("-q", "--quiet", level=logging.WARNING, help="Print only warnings and errors."),
        _level_option("--debug", level=logging.DEBUG, help="Show the traceback of an error."),
    ]


def _level_option(*names, level, help):
    def callback(ctx, param, value):
        if value:
            log.setLevel(level)

    return click.Option(names, is_flag=True, expose_value=False, is_eager=True, callback=callback, help=help)


class _MessageHandler(logging.StreamHandler):
    """A logging handler that prints messages above the progress bar, and each note or warning only once."""

    def __init__(self):
        super().__init__(sys.stderr)
        self._written = set()

    def filter(self, record):
        message = record.getMessage()
        if message in self._written:
            return False
        if message.startswith(_SHOWN_ONCE):
            self._written.add(message)
        return super().filter(record)

    def format(self, record):
        return escape_unprintable(super().format(record))

    def emit(self, record):
        # Another thread may end the bar in between.
        with next((bar.external_write_mode(sys.stderr) for bar in [*_bars]), nullcontext()):
            super().emit(record)


def install_log_handler():
    """Install the handler that writes log messages of flyannot to stderr."""
    log.handlers[:] = [_MessageHandler()]
    log.setLevel(logging.INFO)


def is_debugging():
    """Return True if the option --debug was given."""
    return log.getEffectiveLevel() <= logging.DEBUG


def print_error(message, *, fix="", traceback=""):
    """Remove the progress bar, and print an error with its remedy and traceback on stderr.

    `fix` is a sentence on what the user can do, and `traceback` a text; each is omitted if empty.
    """
    while _bars:
        _bars.pop().close()
    if traceback:
        click.echo(traceback, err=True)
    head, colon, text = message.partition(":")
    click.echo(colour_text(head + colon, "red") + escape_unprintable(text), err=True)
    if fix:
        click.echo(f"{colour_text('Fix:', 'green')} {escape_unprintable(fix)}", err=True)


def colour_text(text, colour):
    """Return the text with terminal codes for a colour, unless the environment variable NO_COLOR is set.

    `click.echo` removes the codes if the output is not a terminal.
    """
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if is_plain else click.style(text, fg=colour, bold=True)


# --- progress: a bar on a terminal, otherwise a line every 30 seconds ---


class Progress:
    """A callback that shows a progress bar on stderr with the rate and the remaining time.

    It is called as progress(done, total, unit): items done, all items, and the name of an item. The rate is
    measured from the end of the first item, because kernels may be compiled before.
    """

    def __init__(self):
        self._bar: Any = None
        self._started: Any = None  # seconds; None until an item has ended

    def __call__(self, done, total, unit):
        if done == 0:
            self._end()
        elif self._started is None:
            self._begin(done, total, unit)
        elif self._bar is not None:
            self._bar.update(done - self._bar.n)
        elif time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._write_line(done, total, unit)
        if done >= total:
            self._end()

    def _begin(self, done, total, unit):
        self._started = self._last_line = time.monotonic()
        self._first = done
        if sys.stderr.isatty() and log.isEnabledFor(logging.INFO):
            from tqdm import tqdm

            unit = f" {_plural(unit)}"
            shown = {"leave": False, "delay": _SECONDS_BEFORE_BAR, "dynamic_ncols": True}
            self._bar = tqdm(total=total, initial=done, unit=unit, miniters=0, smoothing=0, **shown)
            _bars[:] = [self._bar]

    def _write_line(self, done, total, unit):
        self._last_line = time.monotonic()
        rate = (done - self._first) / (self._last_line - self._started)
        text = f"  {done:,} of {total:,} {_plural(unit)}, {rate:.3g} per second"
        if rate and done - self._first >= _MIN_ITEMS_TO_ESTIMATE:
            text += f", {(total - done) / rate:,.0f} s to go"
        log.info("%s", text)

    def _end(self):
        self._started = None
        if self._bar is not None:
            self._bar.close()
            self._bar = None
            _bars.clear()


def _plural(unit):
    return f"{unit}es" if unit.endswith("ch") else f"{unit}s"
