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
from contextlib import contextmanager
from datetime import UTC, datetime

import click

from flyannot.runtime.wording import printable_text

FORMATS = ("text", "json")
_OPTION, _VARIABLE = "--log-format", "FLYANNOT_LOG_FORMAT"
_STATES = {0: "done", 3: "skipped", 129: "interrupted", 130: "interrupted", 143: "interrupted"}
_LEVELS = ((logging.ERROR, "error"), (logging.WARNING, "warning"), (logging.INFO, "info"), (0, "debug"))
_SAID_ONCE = ("note: ", "warning: ")
_SECONDS_BETWEEN_LINES = 30
_LEAST_TO_ESTIMATE = 5  # items after the first that ended
_SECONDS_BEFORE_BAR = 1  # what is quick needs none
_chosen: dict = {"json": False, "command": None, "step": None}  # of this process
_drawn: list = []  # the bar on the terminal, if there is one
log = logging.getLogger("flyannot")


# --- options of every command ---


def message_options():
    """The flags -v, -q and --debug, and --log-format, for a command or for all of them."""
    return [
        _level_option("-v", "--verbose", level=logging.DEBUG + 5, help="Say more."),
        _level_option("-q", "--quiet", level=logging.WARNING, help="Say only what went wrong."),
        _level_option("--debug", level=logging.DEBUG, help="Show tracebacks."),
        click.Option(
            [_OPTION],
            type=click.Choice(FORMATS),
            expose_value=False,
            is_eager=True,
            callback=lambda ctx, param, value: value and choose_log_format(value == "json"),
            help="Messages for people, or for programs: JSON, one object a line.",
        ),
    ]


def _level_option(*names, level, help):
    def callback(ctx, param, value):
        if value:
            log.setLevel(level)

    return click.Option(names, is_flag=True, expose_value=False, is_eager=True, callback=callback, help=help)


# --- the log ---


class _LineHandler(logging.StreamHandler):
    """Writes each message in lines of its own, as it is or as a JSON object; notes and warnings once, however
    often a table is read."""

    def __init__(self, stream):
        super().__init__(stream)
        self._said = set()

    def filter(self, record):
        message = record.getMessage()
        if message in self._said:
            return False
        if message.startswith(_SAID_ONCE):
            self._said.add(message)
        return super().filter(record)

    def format(self, record):
        if not _chosen["json"]:
            return printable_text(super().format(record))
        _chosen["step"] = getattr(record, "step", _chosen["step"])
        level = next(name for least, name in _LEVELS if record.levelno >= least)
        return _json_line(level, record.getMessage(), getattr(record, "fields", {}))

    def emit(self, record):
        with _without_bar():
            super().emit(record)


def start_log():
    """Messages go to stderr from now on."""
    if not log.handlers:
        log.addHandler(_LineHandler(sys.stderr))
        choose_log_format(is_json_log())
    if log.level == logging.NOTSET:
        log.setLevel(logging.INFO)


def begin_log_format(words):
    """Choose by the words of the command line, before it is understood: a wrong one is answered so too."""
    values = dict(zip(words, words[1:]))
    is_json = values.get(_OPTION) == "json" or f"{_OPTION}=json" in words
    is_text = values.get(_OPTION) == "text" or f"{_OPTION}=text" in words
    _chosen.update(command=None, step=None)
    choose_log_format(is_json or not is_text and os.environ.get(_VARIABLE) == "json")


def choose_log_format(is_json):
    """JSON from now on, or text; warnings of libraries too."""
    _chosen["json"] = is_json
    logging.captureWarnings(False)
    logging.captureWarnings(is_json)
    logging.getLogger("py.warnings").handlers[:] = log.handlers if is_json else []


def is_json_log():
    """Whether messages are JSON."""
    return _chosen["json"]


def set_command_of_messages(name):
    """Which command speaks from now on."""
    _chosen["command"] = name


def is_debugging():
    """Whether --debug was given: faults then show their traceback."""
    return log.getEffectiveLevel() <= logging.DEBUG


# --- lines beside the log, however quiet the command is to be ---


def say_error(message, *, fix=None, traceback=""):
    """Say what is wrong, and the remedy in a line of its own; nothing more is drawn."""
    while _drawn:
        _drawn.pop().close()
    if is_json_log():
        fields = {"fix": fix, "traceback": traceback}
        fields = {name: value for name, value in fields.items() if value}
        click.echo(_json_line("error", message.removeprefix("Error: "), fields), err=True)
        return
    if traceback:
        click.echo(traceback, err=True)
    head, colon, text = message.partition(":")
    click.echo(coloured(head + colon, "red", sys.stderr) + printable_text(text), err=True)
    if fix:
        click.echo(f"{coloured('Fix:', 'green', sys.stderr)} {printable_text(fix)}", err=True)


def say_end(exit_code):
    """The last line for programs: how the command ended."""
    if is_json_log():
        state = _STATES.get(exit_code, "failed")
        level = "error" if state == "failed" else "info"
        click.echo(_json_line(level, state, {"state": state, "exit_code": exit_code}), err=True)


def _json_line(level, message, fields):
    line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level}
    line |= {name: _chosen[name] for name in ("command", "step") if _chosen[name]}
    return printable_text(json.dumps(line | {"message": message} | fields, ensure_ascii=False))


def coloured(text, colour, stream):
    """The text in a colour, if `stream` is a terminal that shows colours and nobody asked for none.

    Source: no-color.org.
    """
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if is_plain or stream is None or not stream.isatty():
        return text
    return click.style(text, fg=colour, bold=True)


# --- progress: a bar on a terminal, else a line every 30 seconds ---


class Progress:
    """Called as progress(done, total, unit) whenever items end; shows rate and remaining time."""

    def __init__(self):
        self._bar, self._is_open, self._is_under_way = None, False, False
        self._started = self._last_line = time.monotonic()
        self._first = 0

    def __call__(self, done, total, unit):
        if done == 0 or not self._is_open:
            self._begin(done, total, unit)
        if done > self._first and not self._is_under_way:  # until then kernels were compiled
            self._is_under_way, self._first, self._started = True, done, time.monotonic()
            if self._bar is not None:
                self._bar.initial, self._bar.start_t = done, time.time()
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
        elif time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LINES or (
            is_json_log() and done >= total > self._first  # a program that reads along is told of the end too
        ):
            self._write_line(done, total, unit)
        if done >= total:
            self._end()

    def _write_line(self, done, total, unit):
        self._last_line = time.monotonic()
        seconds = self._last_line - self._started
        rate = (done - self._first) / seconds if seconds else 0.0
        left = (total - done) / rate if rate and done - self._first >= _LEAST_TO_ESTIMATE else None
        text = f"  {done:,} of {total:,} {_plural(unit)}, {rate:.3g} per second"
        fields = {"done": done, "total": total, "unit": unit, "per_second": rate, "seconds_left": left}
        log.info("%s", text if left is None else f"{text}, {left:,.0f} s to go", extra={"fields": fields})

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
                file=sys.stderr,
                leave=False,
                delay=_SECONDS_BEFORE_BAR,
                smoothing=0,
                dynamic_ncols=True,
            )
            _drawn[:] = [self._bar]

    def _end(self):
        self._is_open = False
        if self._bar is not None:
            self._bar.close()
            self._bar = None
            _drawn.clear()


def _plural(unit):
    return f"{unit}es" if unit.endswith("ch") else f"{unit}s"


@contextmanager
def _without_bar():
    """Within it, the terminal has no bar: what is written stands in lines of its own."""
    shown = [bar for bar in _drawn if bar.last_print_t >= bar.start_t + bar.delay]
    for bar in shown:
        bar.clear()
    yield
    for bar in shown:
        bar.refresh()
