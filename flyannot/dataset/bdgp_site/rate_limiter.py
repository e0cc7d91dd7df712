"""Not too fast: a pause between requests, and everybody waits when the server asks for it."""

import threading
import time
from email.utils import parsedate_to_datetime


class Stopped(Exception):
    """The run is over; whoever still works on a file gives it up."""


class RateLimiter:
    """Spaces the requests of all threads; `stop` wakes those who wait."""

    def __init__(self, pause_s):
        self._pause_s, self._next, self._lock = pause_s, time.monotonic(), threading.Lock()
        self._over = threading.Event()

    def wait(self):
        """Return when the next request may start.  Raises Stopped."""
        with self._lock:
            now = time.monotonic()
            start = max(now, self._next)
            self._next = start + self._pause_s
        self.sleep(start - now)

    def hold(self, seconds):
        """No request of anybody starts for some seconds."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)

    def sleep(self, seconds):
        """Raises Stopped if the run is over by then."""
        if self._over.wait(max(0.0, seconds)):
            raise Stopped

    def stop(self):
        """End the run."""
        self._over.set()


def seconds_asked_for(retry_after, now):
    """The seconds that a Retry-After header asks for, a number or a date; None if it says neither.

    `now` is an aware datetime.
    """
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, (parsedate_to_datetime(text) - now).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return None
