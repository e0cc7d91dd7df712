"""Downloads from a server that may fail: a file is received whole, checked, and then moved to its final path.

An attempt that breaks off starts again from the first byte, since pictures are small.
"""

import logging
import time
from dataclasses import dataclass

from flyannot import __version__
from flyannot.base.packages import import_optional
from flyannot.files.atomic_file import atomic_write, lock_output

log = logging.getLogger("flyannot")
httpx = import_optional("httpx", "fetch", "fetching needs")
_TRANSIENT = {206, 408, 425, 429, 500, 502, 503, 504}
_ASKING_TO_WAIT = {429, 503}
_WORTH_REPORTING_S = 1.0
_MOST_REDIRECTS = 5


@dataclass(frozen=True)
class RetryPolicy:
    """The pauses between requests, and the number of attempts for a file; the tests use shorter times."""

    pause_s: float = 0.5  # between the starts of two requests
    tries: int = 5
    backoff_s: float = 1.0  # before the second attempt; doubled for each further one
    longest_wait_s: float = 900.0  # if a server asks for more, the run ends
    silence_s: float = 30.0
    attempt_s: float = 600.0


class DownloadFailed(Exception):
    """Failure of one attempt to download a file; the text gives the reason.

    answered : False if no server answered
    is_final : True if another attempt would fail too
    wait_s : seconds that the server asks to wait; None if it does not ask
    """

    def __init__(self, reason, *, answered=True, is_final=False, wait_s=None):
        super().__init__(reason)
        self.answered = answered
        self.is_final = is_final
        self.wait_s = wait_s


class ServerBusy(Exception):
    """Error that ends the run: the server asks for too long a wait, or has stopped answering."""


class Downloader:
    """A client for one web site that spaces its requests, and repeats failed ones, by a RetryPolicy."""

    def __init__(self, policy):
        self._policy = policy
        self._next = time.monotonic()  # when the next request may start
        self._client = httpx.Client(
            timeout=policy.silence_s,
            follow_redirects=True,
            max_redirects=_MOST_REDIRECTS,
            headers={"User-Agent": f"flyannot/{__version__}", "Accept-Encoding": "identity"},
        )

    def close(self):
        """Close the connection."""
        self._client.close()

    def get(self, url, path, check, *, most_bytes):
        """Download one file, with as many attempts as the policy allows.

        Parameters
        ----------
        url : address of the file
        path : Path to write
        check : function of a path that returns what is wrong with the file, "" if nothing
        most_bytes : largest size that is accepted

        Raises
        ------
        DownloadFailed
            If the file cannot be downloaded.
        ServerBusy
            If the run must end.
        WriteError
            If the file cannot be written.
        """
        policy = self._policy
        for attempt in range(1, policy.tries + 1):
            try:
                self._attempt(url, path, check, most_bytes)
                return
            except DownloadFailed as failed:
                is_last = failed.is_final or attempt == policy.tries
                wait_s = policy.backoff_s * 2 ** (attempt - 1) if failed.wait_s is None else failed.wait_s
                if wait_s > policy.longest_wait_s:
                    raise ServerBusy(f"the server asks to wait {wait_s:,.0f} s") from None
                if failed.wait_s is not None or not is_last:
                    self._next = max(self._next, time.monotonic() + wait_s)
                if is_last:
                    raise
                if wait_s >= _WORTH_REPORTING_S:
                    log.info("%s: %s; trying again in %.0f s", url, failed, wait_s)

    def _wait(self):
        """Wait until the next request may start."""
        time.sleep(max(0.0, self._next - time.monotonic()))
        self._next = max(self._next, time.monotonic()) + self._policy.pause_s

    def _attempt(self, url, path, check, most_bytes):
        self._wait()
        with lock_output(path), atomic_write(path) as beside:
            self._receive(url, beside, most_bytes)
            if beside.stat().st_size == 0:
                raise DownloadFailed("an empty file")
            if wrong := check(beside):
                raise DownloadFailed(wrong)

    def _receive(self, url, beside, most_bytes):
        try:
            with self._client.stream("GET", url) as answer, open(beside, "wb") as file:
                _require_whole_file(answer, most_bytes)
                ends = time.monotonic() + self._policy.attempt_s
                for block in answer.iter_bytes():  # unpacked, even if the server compressed it unasked
                    file.write(block)
                    _require_small(file.tell(), most_bytes)
                    if time.monotonic() > ends:
                        raise DownloadFailed("too slow", answered=False)
        except httpx.TimeoutException:
            raise DownloadFailed("the server stopped answering", answered=False) from None
        except (httpx.TooManyRedirects, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise DownloadFailed(f"redirected too often or to nowhere: {error}", is_final=True) from None
        except httpx.ConnectError as error:
            raise DownloadFailed(f"no connection: {error}", answered=False) from None
        except httpx.HTTPError as error:
            raise DownloadFailed(f"the connection broke: {error or type(error).__name__}") from None


def _require_whole_file(answer, most_bytes):
    """Raise DownloadFailed unless an answer of the server has the whole file and is not too large."""
    code = answer.status_code
    said = f"answer {code} {httpx.codes.get_reason_phrase(code)}".strip()
    length = answer.headers.get("Content-Length", "")
    if code in _TRANSIENT:
        asked = answer.headers.get("Retry-After") if code in _ASKING_TO_WAIT else None
        raise DownloadFailed(said, wait_s=parse_retry_after(asked))
    if code != 200:
        raise DownloadFailed(said, is_final=True)
    _require_small(int(length) if length.isdecimal() else 0, most_bytes)


def _require_small(n_bytes, most_bytes):
    if n_bytes > most_bytes:
        raise DownloadFailed(f"larger than {most_bytes:,} bytes, the limit for such a file", is_final=True)


def parse_retry_after(text):
    """Return the seconds that a Retry-After header asks to wait; None for a date, or without the header."""
    return float(text[:9]) if text and text.isascii() and text.isdigit() else None
