"""What a command says on stderr: how much, in which colours, as text or as JSON, and how far it is.

With --log-format json, for programs that follow a run, every line is one object.  It has `time` (UTC),
`level`, `command`, `step` (of a run) and `message`; an error has `fix`, a line of progress `done`, `total`,
`unit`, `per_second` and `seconds_left`, the last of all `state` and `exit_code`.
"""

import json
import logging
import os
import sys
import time
from datetime import UTC, datetime

import click

from flyannot.base.text import printable_text

FORMATS = ("text", "json")
_OPTION, _VARIABLE = "--log-format", "FLYANNOT_LOG_FORMAT"
_STATES = {0: "done", 3: "skipped", 129: "interrupted", 130: "interrupted", 143: "interrupted"}
_LEVELS = ((logging.ERROR, "error"), (logging.WARNING, "warning"), (logging.INFO, "info"), (0, "debug"))
_SAID_ONCE = ("note: ", "warning: ")  # however often a table is read
_SECONDS_BETWEEN_LINES = 30
_LEAST_TO_ESTIMATE = 5  # items after the first that ended
_SECONDS_BEFORE_BAR = 1  # what is quick needs none
_current: dict = {"json": False, "command": None, "step": None}  # of this process
_bars: list = []  # the bar on the terminal, if there is one
log = logging.getLogger("flyannot")


# --- options of every command ---


def message_options():
    """Return the options -v, -q, --debug and --log-format, for a command or for all of them.

    `start_log` has read --log-format before the command line is understood.
    """
    return [
        _level_option("-v", "--verbose", level=logging.DEBUG + 5, help="Say more."),
        _level_option("-q", "--quiet", level=logging.WARNING, help="Say only what went wrong."),
        _level_option("--debug", level=logging.DEBUG, help="Show tracebacks."),
        click.Option(
            [_OPTION],
            type=click.Choice(FORMATS),
            expose_value=False,
            is_eager=True,
            help="Messages for people, or for programs: JSON, one object a line.",
        ),
    ]


def _level_option(*names, level, help):
    def callback(ctx, param, value):
        if value:
            log.setLevel(level)

    return click.Option(names, is_flag=True, expose_value=False, is_eager=True, callback=callback, help=help)


# --- the log ---


class _MessageHandler(logging.StreamHandler):
    """A handler that writes each message as text or as a JSON object; notes and warnings only once."""

    def __init__(self):
        super().__init__(sys.stderr)
        self._said = set()

    def filter(self, record):
        message = record.getMessage()
        if message in self._said:
            return False
        if message.startswith(_SAID_ONCE):
            self._said.add(message)
        return super().filter(record)

    def format(self, record):
        if not is_json_log():
            return printable_text(super().format(record))
        _current["step"] = getattr(record, "step", _current["step"])
        level = next(name for least, name in _LEVELS if record.levelno >= least)
        return _json_line(level, record.getMessage(), getattr(record, "fields", {}))

    def emit(self, record):
        shown = [bar for bar in _bars if bar.last_print_t >= bar.start_t + bar.delay]
        for bar in shown:
            bar.clear()
        super().emit(record)
        for bar in shown:
            bar.refresh()


def start_log(words):
    """Send messages to stderr from now on, those of libraries too if they are JSON.

    The words of the command line choose the format before it is parsed, so that a wrong line is answered in
    this format.
    """
    asked = dict(zip(words, words[1:])) | dict(word.split("=", 1) for word in words if "=" in word)
    is_json = asked.get(_OPTION, os.environ.get(_VARIABLE)) == "json"
    _current.update(json=is_json, command=None, step=None)
    log.handlers[:] = [_MessageHandler()]
    log.setLevel(logging.INFO)
    logging.captureWarnings(False)
    logging.captureWarnings(is_json)
    logging.getLogger("py.warnings").handlers[:] = log.handlers if is_json else []


def is_json_log():
    """Return whether messages are JSON."""
    return _current["json"]


def set_command_of_messages(name):
    """Name the command that logs from now on."""
    _current["command"] = name


def is_debugging():
    """Return whether --debug was given: errors then show their traceback."""
    return log.getEffectiveLevel() <= logging.DEBUG


# --- lines beside the log, however quiet the command is to be ---


def say_error(message, *, fix="", traceback=""):
    """Print an error, and its remedy in a line of its own; remove the progress bar."""
    while _bars:
        _bars.pop().close()
    if is_json_log():
        fields = {"fix": fix, "traceback": traceback}
        fields = {name: value for name, value in fields.items() if value}
        click.echo(_json_line("error", message.removeprefix("Error: "), fields), err=True)
        return
    if traceback:
        click.echo(traceback, err=True)
    head, colon, text = message.partition(":")
    click.echo(coloured(head + colon, "red") + printable_text(text), err=True)
    if fix:
        click.echo(f"{coloured('Fix:', 'green')} {printable_text(fix)}", err=True)


def say_end(exit_code):
    """Print the last line for programs: how the command ended."""
    if is_json_log():
        state = _STATES.get(exit_code, "failed")
        level = "error" if state == "failed" else "info"
        click.echo(_json_line(level, state, {"state": state, "exit_code": exit_code}), err=True)


def _json_line(level, message, fields):
    line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level}
    line |= {name: _current[name] for name in ("command", "step") if _current[name]}
    return printable_text(json.dumps(line | {"message": message} | fields, ensure_ascii=False))


def coloured(text, colour):
    """Return the text in a colour, which `click.echo` leaves out unless it prints on a terminal.

    Source: no-color.org.
    """
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if is_plain else click.style(text, fg=colour, bold=True)


# --- progress: a bar on a terminal, else a line every 30 seconds ---


class Progress:
    """A callable progress(done, total, unit), which shows the rate of items and the remaining time."""

    def __init__(self):
        self._bar = None
        self._is_open = self._is_under_way = False
        self._first = 0

    def __call__(self, done, total, unit):
        if done == 0 or not self._is_open:
            self._begin(done, total, unit)
        if done > self._first and not self._is_under_way:  # until then kernels were compiled
            self._is_under_way, self._first, self._started = True, done, time.monotonic()
            if self._bar is not None:
                self._bar.initial, self._bar.start_t = done, time.time()
        is_last = done >= total
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
        elif time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LINES or (
            is_json_log() and is_last and total > self._first  # for programs the end is a line too
        ):
            self._write_line(done, total, unit)
        if is_last:
            self._end()

    def _begin(self, done, total, unit):
        self._end()
        self._started = self._last_line = time.monotonic()
        self._first, self._is_open, self._is_under_way = done, True, False
        if sys.stderr.isatty() and not is_json_log() and log.isEnabledFor(logging.INFO):
            from tqdm import tqdm

            self._bar = tqdm(
                total=total,
                initial=done,
                unit=f" {_plural(unit)}",
                miniters=0,
                leave=False,
                delay=_SECONDS_BEFORE_BAR,
                smoothing=0,
                dynamic_ncols=True,
            )
            _bars[:] = [self._bar]

    def _write_line(self, done, total, unit):
        self._last_line = time.monotonic()
        seconds = self._last_line - self._started
        rate = (done - self._first) / seconds if seconds else 0.0
        left = (total - done) / rate if rate and done - self._first >= _LEAST_TO_ESTIMATE else None
        text = f"  {done:,} of {total:,} {_plural(unit)}, {rate:.3g} per second"
        fields = {"done": done, "total": total, "unit": unit, "per_second": rate, "seconds_left": left}
        log.info("%s", text if left is None else f"{text}, {left:,.0f} s to go", extra={"fields": fields})

    def _end(self):
        self._is_open = False
        if self._bar is not None:
            self._bar.close()
            self._bar = None
            _bars.clear()


def _plural(unit):
    return f"{unit}es" if unit.endswith("ch") else f"{unit}s"
