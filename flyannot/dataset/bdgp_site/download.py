"""One file from a server that may do anything: resumed, checked, and in its place only when whole.

What has arrived lies in `.NAME.part`, and beside it the tag by which the server knows that version of the
file; without a tag nothing is resumed.
"""

import hashlib
import logging
import os
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx

from flyannot import __version__
from flyannot.dataset.bdgp_site.pace import Stopped, seconds_asked_for
from flyannot.runtime.atomic_file import explained

log = logging.getLogger("flyannot")
_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
_ASKING_TO_WAIT = {429, 503}
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_WORTH_SAYING_S = 1.0
_GAINED = 1 << 16  # bytes: an attempt that brought as many was none in vain


@dataclass(frozen=True)
class Manners:
    """How long to wait for what; the tests wait less."""

    connections: int = 2
    pause_s: float = 0.5  # between the starts of two requests, over all connections
    tries: int = 6
    backoff_s: float = 1.0  # before the second try; doubled for each further one
    longest_wait_s: float = 900.0  # a server that asks for more ends the run
    silence_s: float = 30.0
    attempt_s: float = 600.0  # after which an attempt is given up; the next one goes on from there
    most_redirects: int = 5


class Failed(Exception):
    """This file cannot be had; the text says why.  `answered` is false where no server did."""

    def __init__(self, reason, *, answered=True):
        super().__init__(reason)
        self.answered = answered


class TooBusy(Exception):
    """The server asks for more patience than we have: the run must end."""


class _Again(Exception):
    """This attempt failed, another may succeed."""

    def __init__(self, reason, *, wait_s=None, answered=True, is_wrong=False):
        super().__init__(reason)
        self.wait_s, self.answered = wait_s, answered
        self.is_wrong = is_wrong  # a whole answer, but not what it should be: one more try is enough


@dataclass(frozen=True)
class Got:
    """A file that is in its place."""

    n_bytes: int
    sha256: str
    tag: str


def open_client(manners):
    """The HTTP client of a run."""
    return httpx.Client(
        timeout=manners.silence_s,
        follow_redirects=True,
        max_redirects=manners.most_redirects,
        limits=httpx.Limits(max_connections=manners.connections),
        headers={"User-Agent": f"flyannot/{__version__}", "Accept-Encoding": "identity"},
    )


def download(client, url, path, check, pace, manners, *, most_bytes):
    """Get one file, with as many tries as `manners` allow.

    Parameters
    ----------
    client : httpx.Client, from `open_client`
    url : str
    path : Path of the file; its folder exists
    check : function of a path that says what is wrong with the file, "" if nothing
    pace : flyannot.dataset.bdgp_site.pace.Pace
    manners : Manners
    most_bytes : int
        A larger file is refused.

    Returns
    -------
    got : Got

    Raises
    ------
    Failed
        If it cannot be had.
    TooBusy, Stopped
        If the run must end.
    WriteError
        If it cannot be written.
    """
    part, failures = _Part(path), 0
    while True:
        pace.wait()
        before = part.size
        try:
            _attempt(client, url, part, pace, manners, most_bytes)
            return _settle(part, path, check)
        except _Again as again:
            failures += part.size - before < _GAINED
            failures += again.is_wrong * max(0, manners.tries // 2 - 1)
            if failures >= manners.tries:
                raise Failed(str(again), answered=again.answered) from None
            _wait(again, url, failures, pace, manners)


def _wait(again, url, failures, pace, manners):
    seconds = manners.backoff_s * 2 ** max(0, failures - 1) if again.wait_s is None else again.wait_s
    if seconds > manners.longest_wait_s:
        raise TooBusy(f"the server asks to come back in {seconds:,.0f} s")
    if seconds >= _WORTH_SAYING_S:
        log.info("%s: %s; trying again in %.0f s", url, again, seconds)
    if again.wait_s is not None:
        pace.hold(seconds)
    pace.sleep(seconds)


class _Part:
    """What has arrived of a file, and of which version of it."""

    def __init__(self, path):
        self.path = path.with_name(f".{path.name}.part")
        self._tag_path = path.with_name(f".{path.name}.part.tag")

    @property
    def size(self):
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def tag(self):
        return self._tag_path.read_text(encoding="utf-8") if self._tag_path.exists() else ""

    def begin(self, tag):
        """Start over, with another version."""
        self.drop()
        if tag:
            self._tag_path.write_text(tag, encoding="utf-8")
        self.path.touch()

    def drop(self):
        self.path.unlink(missing_ok=True)
        self._tag_path.unlink(missing_ok=True)

    def move_to(self, path):
        with open(self.path, "rb") as file:
            os.fsync(file.fileno())
        os.replace(self.path, path)
        self.drop()


def _attempt(client, url, part, pace, manners, most_bytes):
    """Append to the part, or start it over, until it is all there."""
    with explained(part.path):
        offset, tag = (part.size, part.tag) if part.tag else (0, "")
    headers = {"Range": f"bytes={offset}-", "If-Range": tag} if offset else {}
    try:
        with client.stream("GET", url, headers=headers) as answer:
            _judge(answer, part)
            total = _total(answer, offset, tag, part)
            if total is not None and total > most_bytes:
                raise Failed(f"{total:,} bytes are more than the {most_bytes:,} that such a file may have")
            with explained(part.path):
                if answer.status_code != 206:
                    part.begin("" if _is_encoded(answer) else _tag_of(answer))
            _receive(answer, part, pace, manners, most_bytes)
    except httpx.TimeoutException:
        raise _Again("the server fell silent", answered=False) from None
    except (httpx.TooManyRedirects, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
        raise Failed(f"redirected for ever or to nowhere: {error}") from None
    except httpx.ConnectError as error:
        raise _Again(f"no connection: {error}", answered=False) from None
    except httpx.HTTPError as error:
        raise _Again(f"the connection broke: {error or type(error).__name__}") from None
    if total is not None and part.size != total:
        part.drop()
        raise _Again(f"{part.size:,} bytes arrived, not {total:,}")


def _judge(answer, part):
    """Raise unless the answer brings the file."""
    code = answer.status_code
    if code in (200, 206):
        return
    if code == 416:  # we have more than there is: another version
        part.drop()
        raise _Again("there is no such range any more")
    if code in _TRANSIENT:
        asked = answer.headers.get("Retry-After") if code in _ASKING_TO_WAIT else None
        raise _Again(f"answer {code}", wait_s=seconds_asked_for(asked, datetime.now(UTC)))
    raise Failed(f"answer {code}")


def _total(answer, offset, tag, part):
    """The size of the whole file, None if it is not said; a range that continues nothing starts over."""
    if answer.status_code == 206:
        match = _RANGE.fullmatch(answer.headers.get("Content-Range", "").strip())
        if not offset or not match or int(match[1]) != offset or _tag_of(answer) not in ("", tag):
            part.drop()
            raise _Again("the server sent another range or version than was asked for")
        return int(match[3])
    length = answer.headers.get("Content-Length", "")
    return int(length) if length.isdecimal() and not _is_encoded(answer) else None


def _tag_of(answer):
    """What If-Range accepts: a strong ETag, else a date; "" if there is neither."""
    tag = answer.headers.get("ETag", "")
    if tag and not tag.startswith("W/"):
        return tag
    return answer.headers.get("Last-Modified", "")


def _is_encoded(answer):
    return answer.headers.get("Content-Encoding", "identity").lower() != "identity"


def _receive(answer, part, pace, manners, most_bytes):
    ends, size = time.monotonic() + manners.attempt_s, part.size
    with explained(part.path), open(part.path, "ab") as file:
        for block in answer.iter_bytes():  # decoded, where the server packed what we did not ask to pack
            file.write(block)
            size += len(block)
            if size > most_bytes:
                part.drop()
                raise Failed(f"more than the {most_bytes:,} bytes that such a file may have")
            if pace.is_over:
                raise Stopped
            if time.monotonic() > ends:
                raise _Again("too slow", answered=False)


def _settle(part, path, check):
    """Move the whole file to its place if nothing is wrong with it."""
    with explained(path):
        if part.size == 0:
            part.drop()
            raise _Again("an empty file")
        if wrong := check(part.path):
            part.drop()
            raise _Again(wrong, is_wrong=True)
        with open(part.path, "rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        got = Got(part.size, sha256, part.tag)
        part.move_to(path)
    return got
