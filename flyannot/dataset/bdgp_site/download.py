"""One file from a server that may do anything: fetched whole, checked, and in its place only then.

An attempt that breaks off starts over: pictures are small.
"""

import hashlib
import logging
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx
from tenacity import Retrying, retry_if_exception_type, wait_exponential

from flyannot import __version__
from flyannot.runtime.atomic_file import locked_output, replacing

log = logging.getLogger("flyannot")
_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
_ASKING_TO_WAIT = {429, 503}
_WORTH_REPORTING_S = 1.0


@dataclass(frozen=True)
class RetryPolicy:
    """How long to wait for what; the tests wait less."""

    connections: int = 2
    pause_s: float = 0.5  # between the starts of two requests, over all connections
    tries: int = 6  # half as many where a whole answer was not the file
    backoff_s: float = 1.0  # before the second try; doubled for each further one
    longest_wait_s: float = 900.0  # a server that asks for more ends the run
    silence_s: float = 30.0
    attempt_s: float = 600.0
    most_redirects: int = 5


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


class Failed(Exception):
    """This file cannot be had; the text says why.  `answered` is false where no server did."""

    def __init__(self, reason, *, answered=True):
        super().__init__(reason)
        self.answered = answered


class ServerBusy(Exception):
    """The server asks for more patience than we have, or answers no more: the run must end."""


class _Again(Exception):
    """This attempt failed, another may succeed."""

    def __init__(self, reason, *, wait_s=None, answered=True, is_wrong=False):
        super().__init__(reason)
        self.wait_s, self.answered, self.is_wrong = wait_s, answered, is_wrong


@dataclass(frozen=True)
class Got:
    """A file that is in its place."""

    n_bytes: int
    sha256: str


def open_client(policy):
    """The HTTP client of a run."""
    return httpx.Client(
        timeout=policy.silence_s,
        follow_redirects=True,
        max_redirects=policy.most_redirects,
        limits=httpx.Limits(max_connections=policy.connections),
        headers={"User-Agent": f"flyannot/{__version__}", "Accept-Encoding": "identity"},
    )


def download(client, url, path, check, limiter, policy, *, most_bytes):
    """Get one file, with as many tries as the policy allows.

    Parameters
    ----------
    client : httpx.Client, from `open_client`
    url : str
    path : Path of the file
    check : function of a path that says what is wrong with the file, "" if nothing
    limiter : RateLimiter
    policy : RetryPolicy
    most_bytes : int
        A larger file is refused.

    Returns
    -------
    got : Got

    Raises
    ------
    Failed
        If it cannot be had.
    ServerBusy, Stopped
        If the run must end.
    WriteError
        If it cannot be written.
    """
    exponential = wait_exponential(multiplier=policy.backoff_s)

    def enough(state):
        most = policy.tries // 2 if state.outcome.exception().is_wrong else policy.tries
        return state.attempt_number >= most

    def seconds(state):
        asked = state.outcome.exception().wait_s
        wanted = exponential(state) if asked is None else asked
        if wanted > policy.longest_wait_s:
            raise ServerBusy(f"the server asks to come back in {wanted:,.0f} s")
        if asked is not None:
            limiter.hold(asked)
        return wanted

    def report(state):
        if state.next_action.sleep >= _WORTH_REPORTING_S:
            failed = state.outcome.exception()
            log.info("%s: %s; trying again in %.0f s", url, failed, state.next_action.sleep)

    retrying = Retrying(
        retry=retry_if_exception_type(_Again), stop=enough, wait=seconds, sleep=limiter.sleep,
        before_sleep=report, reraise=True,
    )  # fmt: skip
    try:
        return retrying(_attempt, client, url, path, check, limiter, policy.attempt_s, most_bytes)
    except _Again as failed:
        raise Failed(str(failed), answered=failed.answered) from None


def _attempt(client, url, path, check, limiter, attempt_s, most_bytes):
    limiter.wait()
    with locked_output(path), replacing(path) as beside:
        got = _received(client, url, beside, limiter, attempt_s, most_bytes)
        if got.n_bytes == 0:
            raise _Again("an empty file")
        if wrong := check(beside):
            raise _Again(wrong, is_wrong=True)
    return got


def _received(client, url, beside, limiter, attempt_s, most_bytes):
    try:
        with client.stream("GET", url) as answer:
            _require_file(answer, most_bytes)
            return _write(answer, beside, limiter, time.monotonic() + attempt_s, most_bytes)
    except httpx.TimeoutException:
        raise _Again("the server fell silent", answered=False) from None
    except (httpx.TooManyRedirects, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
        raise Failed(f"redirected for ever or to nowhere: {error}") from None
    except httpx.ConnectError as error:
        raise _Again(f"no connection: {error}", answered=False) from None
    except httpx.HTTPError as error:
        raise _Again(f"the connection broke: {error or type(error).__name__}") from None


def _require_file(answer, most_bytes):
    """Raise unless the answer brings the whole file."""
    code, length = answer.status_code, answer.headers.get("Content-Length", "")
    if code in _TRANSIENT:
        asked = answer.headers.get("Retry-After") if code in _ASKING_TO_WAIT else None
        raise _Again(f"answer {code}", wait_s=seconds_asked_for(asked, datetime.now(UTC)))
    if code == 206:
        raise _Again("a part of the file, and the whole was asked for")
    if code != 200:
        raise Failed(f"answer {code}")
    if length.isdecimal() and int(length) > most_bytes:
        raise Failed(f"{int(length):,} bytes are more than the {most_bytes:,} that such a file may have")


def _write(answer, beside, limiter, ends, most_bytes):
    n_bytes, sha256 = 0, hashlib.sha256()
    with open(beside, "wb") as file:
        for block in answer.iter_bytes():  # decoded, where the server packed what we did not ask to pack
            file.write(block)
            sha256.update(block)
            n_bytes += len(block)
            if n_bytes > most_bytes:
                raise Failed(f"more than the {most_bytes:,} bytes that such a file may have")
            limiter.sleep(0)  # the run may be over
            if time.monotonic() > ends:
                raise _Again("too slow", answered=False)
    return Got(n_bytes, sha256.hexdigest())


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
