"""Which answers of a server are asked for again, how often and when: without any server."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

pytest.importorskip("httpx", reason="pip install 'flyannot[fetch]'")

from flyannot.dataset import download
from flyannot.dataset.download import Downloader, DownloadFailed, RetryPolicy, ServerBusy


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that goes on only while a Downloader waits."""
    clock = SimpleNamespace(now=1000.0)

    def sleep(seconds):
        assert seconds >= 0
        clock.now += seconds

    monkeypatch.setattr(download, "time", SimpleNamespace(sleep=sleep, monotonic=lambda: clock.now))
    return clock


def starts(clock, *failures, **policy):
    """Return when each attempt began, in seconds from the first, and the error of the last or None."""
    began, left = [], list(failures)
    downloader = Downloader(RetryPolicy(**policy))

    def attempt(*_):
        downloader._wait()
        began.append(clock.now - 1000)
        if left:
            raise left.pop(0)

    downloader._attempt = attempt
    try:
        downloader.get("u", None, None, most_bytes=9)
    except (DownloadFailed, ServerBusy) as error:
        return began, error
    finally:
        downloader.close()
    return began, None


def test_pauses_double_until_the_last_of_five_attempts(clock):
    again = [DownloadFailed(str(number)) for number in range(9)]
    assert starts(clock, *again[:4]) == ([0, 1, 3, 7, 15], None)
    clock.now = 1000
    assert starts(clock, *again) == ([0, 1, 3, 7, 15], again[4])


def test_what_is_final_is_asked_for_once(clock):
    final = DownloadFailed("no such file", is_final=True)
    assert starts(clock, final) == ([0], final)


def test_a_server_has_the_wait_that_it_asks_for_up_to_a_quarter_of_an_hour(clock):
    began, error = starts(clock, DownloadFailed("busy", wait_s=900.0), DownloadFailed("once more"))
    assert (began, error) == ([0, 900, 902], None)
    clock.now = 1000
    began, error = starts(clock, DownloadFailed("busy", wait_s=901.0))
    assert began == [0] and str(error) == "the server asks to wait 901 s"


def test_requests_start_half_a_second_apart_and_all_after_what_a_server_asked_for(clock):
    downloader = Downloader(RetryPolicy(tries=1))
    times = []
    for wait_s in (None, None, 30, 3, None):

        def attempt(*_, wait_s=wait_s):
            downloader._wait()
            times.append(clock.now - 1000)
            raise DownloadFailed("busy", wait_s=wait_s)

        downloader._attempt = attempt
        with pytest.raises(DownloadFailed):
            downloader.get("u", None, None, most_bytes=9)
    downloader.close()
    assert times == [0, 0.5, 1, 31, 34]


@pytest.mark.parametrize(("seconds", "fault"), [(600, None), (601, "too slow")])
def test_a_file_may_take_ten_minutes(clock, tmp_path, seconds, fault):
    def blocks():
        yield b"a"
        clock.now += seconds
        yield b"b"

    answer = SimpleNamespace(status_code=200, headers={}, iter_bytes=blocks)
    downloader = Downloader(RetryPolicy())
    downloader.close()
    downloader._client = SimpleNamespace(stream=lambda *_: nullcontext(answer))
    with pytest.raises(DownloadFailed, match=fault) if fault else nullcontext():
        downloader._receive("u", tmp_path / "f", 2)
    assert (tmp_path / "f").read_bytes() == b"ab"


@pytest.mark.parametrize(("content", "fault"), [(b"", "an empty file"), (b"bad", "wrong"), (b"good", None)])
def test_a_file_appears_if_it_is_not_empty_and_passes_its_check(clock, tmp_path, content, fault):
    downloader = Downloader(RetryPolicy())
    downloader.close()
    downloader._receive = lambda url, beside, most_bytes: beside.write_bytes(content)
    with pytest.raises(DownloadFailed, match=fault) if fault else nullcontext():
        downloader._attempt("u", tmp_path / "f", lambda path: "wrong" * (path.read_bytes() == b"bad"), 9)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [content] * (fault is None)


AGAIN = {206, 408, 425, 429, 500, 502, 503, 504}  # HTTP says of them that the same request may succeed later
FINAL = {204, 304, 400, 401, 403, 404, 409, 410, 416, 451, 501, 505}


@pytest.mark.parametrize("code", sorted(AGAIN | FINAL))
def test_only_answers_that_pass_are_asked_for_again(code):
    answer = SimpleNamespace(status_code=code, headers={"Retry-After": "7"})
    with pytest.raises(DownloadFailed) as caught:
        download._require_whole_file(answer, 9)
    assert caught.value.is_final == (code in FINAL) and caught.value.answered
    assert caught.value.wait_s == (7 if code in (429, 503) else None)  # the two that may ask for patience


def test_a_file_may_have_the_largest_size_and_no_byte_more():
    for length in ("9", "", "some"):
        download._require_whole_file(SimpleNamespace(status_code=200, headers={"Content-Length": length}), 9)
    with pytest.raises(DownloadFailed, match="larger than 9 bytes") as caught:
        download._require_whole_file(SimpleNamespace(status_code=200, headers={"Content-Length": "10"}), 9)
    assert caught.value.is_final
