"""Progress on stderr: a bar on a terminal, else a line every 30 seconds."""

import logging
import sys
import time
from contextlib import contextmanager

from flyannot.cli.shared.log_format import is_json_log

_SECONDS_BETWEEN_LINES = 30
_SECONDS_BEFORE_BAR = 1  # what is quick needs none
_drawn: list = []  # the bar on the terminal, if there is one
log = logging.getLogger("flyannot")


class Progress:
    """Called as progress(done, total, unit) whenever items end; shows rate and remaining time."""

    def __init__(self):
        self._bar, self._is_open = None, False
        self._started = self._last_line = time.monotonic()
        self._first = 0

    def __call__(self, done, total, unit):
        if done == 0 or not self._is_open:
            self._begin(done, total, unit)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
        elif self._is_time_for_a_line(done, total):
            self._last_line = time.monotonic()
            figures = _figures(done, total, unit, done - self._first, self._last_line - self._started)
            log.info("%s", _line(figures), extra={"fields": figures})
        if done >= total:
            self._end()

    def _is_time_for_a_line(self, done, total):
        """A program that reads along is told of the end too."""
        is_due = time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LINES
        return is_due or is_json_log() and done >= total > self._first

    def _begin(self, done, total, unit):
        self._end()
        self._started = self._last_line = time.monotonic()
        self._first, self._is_open = done, True
        if sys.stderr.isatty() and not is_json_log() and log.isEnabledFor(logging.INFO):
            from tqdm import tqdm

            self._bar = tqdm(
                total=total, initial=done, unit=f" {_plural(unit)}", miniters=0, file=sys.stderr, leave=False,
                delay=_SECONDS_BEFORE_BAR, dynamic_ncols=True,
            )  # fmt: skip
            _drawn[:] = [self._bar]

    def _end(self):
        self._is_open = False
        if self._bar is not None:
            self._bar.close()
            self._bar = None
            _drawn.clear()


@contextmanager
def without_bar():
    """Within it, the terminal has no bar: what is written stands in lines of its own."""
    shown = [bar for bar in _drawn if bar.last_print_t >= bar.start_t + bar.delay]
    for bar in shown:
        bar.clear()
    yield
    for bar in shown:
        bar.refresh()


def drop_bar():
    """Nothing more will be drawn: the run has ended."""
    while _drawn:
        _drawn.pop().close()


def _plural(unit):
    return f"{unit}es" if unit.endswith("ch") else f"{unit}s"


def _figures(done, total, unit, n_new, seconds):
    rate = n_new / seconds if seconds else 0.0
    left = (total - done) / rate if rate else None
    return {"done": done, "total": total, "unit": unit, "per_second": rate, "seconds_left": left}


def _line(figures):
    done, total, unit, rate, left = figures.values()
    remaining = "" if left is None else f", {left:,.0f} s to go"
    return f"  {done:,} of {total:,} {_plural(unit)}, {rate:.3g} per second{remaining}"
