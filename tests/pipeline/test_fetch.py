"""What a fetch counts, says and gives up, with a downloader that answers by hand."""

from types import SimpleNamespace

import pytest

pytest.importorskip("httpx", reason="pip install 'flyannot[fetch]'")

from flyannot.base.errors import FlyannotError
from flyannot.dataset.bdgp_site import FILES
from flyannot.dataset.download import DownloadFailed, RetryPolicy
from flyannot.pipeline.commands import fetch
from flyannot.pipeline.options import FetchOptions
from tests.small_embryos import list_faults

POLICY = RetryPolicy(pause_s=1.5)


class Answers:
    """A downloader: names that begin with x are damaged, and of those with s the server says nothing."""

    def __init__(self):
        self.asked = []

    def get(self, url, path, check, *, most_bytes):
        self.asked.append(path.name)
        if path.name[0] in "xs":
            raise DownloadFailed(f"{path.name} failed", answered=path.name[0] == "x")
        path.write_bytes(b"image")


def fetched(folder, images, *, there=(), dry_run=False, **options):
    """Fetch images of two genes; return the Outcome, the downloader and what was told of the progress."""
    for name in (*FILES.values(), *there):
        (folder / name).touch()
    answers, told = Answers(), []
    run = fetch._Fetch(folder, FetchOptions(**options), answers, POLICY)
    run._plan = lambda: SimpleNamespace(images=images, n_genes=2, refused=[("evil", "no name")])
    return run.fetch(lambda *counts: told.append(counts), dry_run=dry_run), answers, told


def test_what_is_there_is_not_asked_for_and_what_fails_is_listed(tmp_path):
    outcome, answers, told = fetched(tmp_path, ["a", "x2", "b", "x1", "c"], there=["b"])
    assert outcome.made and outcome.summary == "3 of 5 images are there, 2 of them new"
    assert list_faults(outcome.fates) == {"evil": "no name", "x1": "x1 failed", "x2": "x2 failed"}
    assert answers.asked == ["a", "x2", "x1", "c"]
    assert told == [(n, 4, "image") for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("refresh", [False, True])
def test_a_dry_run_tells_what_there_is_to_fetch_and_how_long_it_takes_at_least(tmp_path, refresh):
    images = [f"a{number}" for number in range(1001)]
    outcome, answers, _ = fetched(tmp_path, images, there=["a7"], dry_run=True, refresh=refresh)
    assert outcome.made and outcome.summary.splitlines() == [
        "dry run: no image was fetched",
        "1,001 images of 2 genes, 1,000 of them to fetch",
        "at least 25.0 minutes, with 1.5 s between requests",
    ]
    assert sorted(answers.asked) == sorted(FILES.values()) * refresh
    outcome, _, _ = fetched(tmp_path, ["a7"], dry_run=True)
    assert outcome.summary.splitlines()[1:] == ["1 image of 2 genes, 0 of them to fetch"]


def test_a_site_is_down_after_eight_images_in_a_row_without_an_answer(tmp_path):
    seven = [f"s{number}" for number in range(7)]
    more = [[f"{name}{letter}" for name in seven] for letter in "bc"]
    outcome, _, _ = fetched(tmp_path, [*seven, "x", *more[0], "a", *more[1]])
    assert len(list_faults(outcome.fates)) == 1 + 22, "an answer between them counts, also a bad one"
    with pytest.raises(FlyannotError, match="no answer for 8 images in a row: s.* failed") as caught:
        fetched(tmp_path, ["c", *seven, "s8", "b"])
    assert "continues" in caught.value.fix
