"""Progress on stderr: a bar on a terminal, else a line every 30 seconds."""

import logging
import sys
import time

_SECONDS_BETWEEN_LINES = 30
log = logging.getLogger("flyannot")


class Progress:
    """Called as progress(done, total, unit) whenever items end; shows rate and remaining time."""

    def __init__(self):
        self._bar = None
        self._started = self._last_line = time.monotonic()
        self._first = 0

    def __call__(self, done, total, unit):
        if done == 0 or self._bar is None and not self._first:
            self._begin(done, total, unit)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
            if done >= total:
                self._bar.close()
                self._bar = None
        elif time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            log.info("%s", _line(done, total, unit, done - self._first, self._last_line - self._started))

    def _begin(self, done, total, unit):
        self._started = self._last_line = time.monotonic()
        self._first = done
        if sys.stderr.isatty() and log.isEnabledFor(logging.INFO):
            from tqdm import tqdm

            self._bar = tqdm(total=total, initial=done, unit=unit, file=sys.stderr, leave=False)


def _line(done, total, unit, n_new, seconds):
    rate = n_new / seconds
    remaining = f", {(total - done) / rate:,.0f} s to go" if rate else ""
    return f"  {done:,} of {total:,} {unit}s, {rate:.3g} per second{remaining}"
