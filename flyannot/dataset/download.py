"""One file from a server that may do anything: fetched whole, checked, and in its place only then.

An attempt that breaks off starts over: pictures are small.
"""

import logging
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from flyannot import __version__
from flyannot.base.packages import optional_package
from flyannot.files.atomic_file import locked_output, replacing_file

log = logging.getLogger("flyannot")
httpx = optional_package("httpx", "fetch", "fetching needs")
_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
_ASKING_TO_WAIT = {429, 503}
_WORTH_REPORTING_S = 1.0
_MOST_REDIRECTS = 5


@dataclass(frozen=True)
class RetryPolicy:
    """How long to wait for what; the tests wait less."""

    connections: int = 2
    pause_s: float = 0.5  # between the starts of two requests, over all connections
    tries: int = 5
    backoff_s: float = 1.0  # before the second try; doubled for each further one
    longest_wait_s: float = 900.0  # a server that asks for more ends the run
    silence_s: float = 30.0
    attempt_s: float = 600.0


class DownloadFailed(Exception):
    """An attempt to get a file failed; the text says why.

    answered : false where no server did
    is_final : another attempt would fail too
    wait_s : what the server asks to wait; None where it does not
    """

    def __init__(self, reason, *, answered=True, is_final=False, wait_s=None):
        super().__init__(reason)
        self.answered = answered
        self.is_final = is_final
        self.wait_s = wait_s


class ServerBusy(Exception):
    """The server asks for more patience than we have, or answers no more: the run must end."""


class Stopped(Exception):
    """The run is over; whoever still works on a file gives it up."""


class RateLimiter:
    """Spaces the requests of all threads; `stop` wakes those who wait."""

    def __init__(self, pause_s):
        self._pause_s = pause_s
        self._next = time.monotonic()
        self._lock = threading.Lock()
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


class Downloader:
    """Gets files from one site, on a few connections, as slowly and as patiently as a RetryPolicy says."""

    def __init__(self, policy):
        self._policy, self._limiter = policy, RateLimiter(policy.pause_s)
        self._client = httpx.Client(
            timeout=policy.silence_s,
            follow_redirects=True,
            max_redirects=_MOST_REDIRECTS,
            headers={"User-Agent": f"flyannot/{__version__}", "Accept-Encoding": "identity"},
        )

    def close(self):
        """End the connections."""
        self._client.close()

    def stop(self):
        """End the run: whoever waits, or still receives, raises Stopped."""
        self._limiter.stop()

    def get(self, url, path, check, *, most_bytes):
        """Get one file of at most `most_bytes`, with as many tries as the policy allows.

        `check` is a function of a path that says what is wrong with the file, "" if nothing.  DownloadFailed
        if the file cannot be had; ServerBusy or Stopped if the run must end; WriteError if it cannot be
        written.
        """
        policy = self._policy
        attempt = 0
        while True:
            attempt += 1
            try:
                self._attempt(url, path, check, most_bytes)
                return
            except DownloadFailed as failed:
                wait_s = policy.backoff_s * 2 ** (attempt - 1) if failed.wait_s is None else failed.wait_s
                if wait_s > policy.longest_wait_s:
                    raise ServerBusy(f"the server asks to come back in {wait_s:,.0f} s") from None
                if failed.wait_s is not None:
                    self._limiter.hold(wait_s)
                if failed.is_final or attempt >= policy.tries:
                    raise
                if wait_s >= _WORTH_REPORTING_S:
                    log.info("%s: %s; trying again in %.0f s", url, failed, wait_s)
            self._limiter.sleep(wait_s)

    def _attempt(self, url, path, check, most_bytes):
        self._limiter.wait()
        with locked_output(path), replacing_file(path) as beside:
            self._receive(url, beside, most_bytes)
            if beside.stat().st_size == 0:
                raise DownloadFailed("an empty file")
            if wrong := check(beside):
                raise DownloadFailed(wrong)

    def _receive(self, url, beside, most_bytes):
        try:
            with self._client.stream("GET", url) as answer, open(beside, "wb") as file:
                _require_file(answer, most_bytes)
                ends = time.monotonic() + self._policy.attempt_s
                for block in answer.iter_bytes():  # decoded, where the server packed what we did not ask to
                    file.write(block)
                    _require_small(file.tell(), most_bytes)
                    self._limiter.sleep(0)  # the run may be over
                    if time.monotonic() > ends:
                        raise DownloadFailed("too slow", answered=False)
        except httpx.TimeoutException:
            raise DownloadFailed("the server fell silent", answered=False) from None
        except (httpx.TooManyRedirects, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise DownloadFailed(f"redirected for ever or to nowhere: {error}", is_final=True) from None
        except httpx.ConnectError as error:
            raise DownloadFailed(f"no connection: {error}", answered=False) from None
        except httpx.HTTPError as error:
            raise DownloadFailed(f"the connection broke: {error or type(error).__name__}") from None


def _require_file(answer, most_bytes):
    """Raise unless the answer brings the whole file."""
    code, length = answer.status_code, answer.headers.get("Content-Length", "")
    if code in _TRANSIENT:
        asked = answer.headers.get("Retry-After") if code in _ASKING_TO_WAIT else None
        raise DownloadFailed(f"answer {code}", wait_s=seconds_asked_for(asked, datetime.now(UTC)))
    if code == 206:
        raise DownloadFailed("a part of the file, and the whole was asked for")
    if code != 200:
        raise DownloadFailed(f"answer {code}", is_final=True)
    _require_small(int(length) if length.isdecimal() else 0, most_bytes)


def _require_small(n_bytes, most_bytes):
    if n_bytes > most_bytes:
        raise DownloadFailed(f"more than the {most_bytes:,} bytes of such a file", is_final=True)


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
