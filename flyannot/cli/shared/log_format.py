"""Messages as JSON, one object a line, for programs that follow a run: --log-format json.

An object has `time` (UTC), `level`, `command`, `step` (of a run) and `message`; an error has `fix`, a line of
progress `done`, `total`, `unit`, `per_second` and `seconds_left`, the last of all `state` and `exit_code`.
"""

import json
import logging
import os
from datetime import UTC, datetime

import click

FORMATS = ("text", "json")
_OPTION, _VARIABLE = "--log-format", "FLYANNOT_LOG_FORMAT"
_STATES = {0: "done", 3: "skipped", 129: "interrupted", 130: "interrupted", 143: "interrupted"}
_LEVELS = ((logging.ERROR, "error"), (logging.WARNING, "warning"), (logging.INFO, "info"), (0, "debug"))
_chosen: dict = {"json": False, "command": None, "step": None}  # of this process


class _Lines(logging.Formatter):
    def __init__(self, is_json):
        super().__init__("%(message)s")
        self._is_json = is_json

    def format(self, record):
        if not self._is_json:
            return super().format(record)
        _chosen["step"] = getattr(record, "step", _chosen["step"])
        level = next(name for least, name in _LEVELS if record.levelno >= least)
        return _line(level, record.getMessage(), getattr(record, "fields", {}))


def _line(level, message, fields):
    said = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level}
    said |= {name: _chosen[name] for name in ("command", "step") if _chosen[name]}
    return json.dumps(said | {"message": message} | fields, ensure_ascii=False)


def begin_log_format(words):
    """Choose by the words of the command line, before it is understood: a wrong one is answered so too."""
    given = dict(zip(words, words[1:]))
    asked = given.get(_OPTION) == "json" or f"{_OPTION}=json" in words
    is_text = given.get(_OPTION) == "text" or f"{_OPTION}=text" in words
    _chosen.update(command=None, step=None)
    choose_log_format(asked or not is_text and os.environ.get(_VARIABLE) == "json")


def choose_log_format(is_json):
    """JSON from now on, or text; warnings of libraries too."""
    _chosen["json"] = is_json
    log = logging.getLogger("flyannot")
    for handler in log.handlers:
        handler.setFormatter(formatter())
    logging.captureWarnings(False)
    logging.captureWarnings(is_json)
    logging.getLogger("py.warnings").handlers[:] = log.handlers if is_json else []


def formatter():
    """The formatter of all messages."""
    return _Lines(_chosen["json"])


def is_json_log():
    """Whether messages are JSON."""
    return _chosen["json"]


def name_command(name):
    """Which command speaks from now on."""
    _chosen["command"] = name


def say_as_json(level, message, **fields):
    """Write one message, however quiet the command is to be."""
    click.echo(_line(level, message, {name: value for name, value in fields.items() if value}), err=True)


def say_end(code):
    """The last line: how the command ended."""
    if _chosen["json"]:
        state = _STATES.get(code, "failed")
        line = _line("error" if state == "failed" else "info", state, {"state": state, "exit_code": code})
        click.echo(line, err=True)


def log_format_option():
    """The option of every command."""

    def callback(ctx, param, value):
        if value:
            choose_log_format(value == "json")

    return click.Option(
        [_OPTION], type=click.Choice(FORMATS), expose_value=False, is_eager=True, callback=callback,
        help="Messages for people, or for programs: JSON, one object a line.",
    )  # fmt: skip
