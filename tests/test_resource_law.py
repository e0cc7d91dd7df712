"""Tests that reading any file costs at most 50 times its size and 300 MB, whether it is refused or not.

Memory is the peak of a forked process less the peak of an idle one.
"""

import gc
import os
import pickle
import resource

import pytest

from flyannot.base.errors import FlyannotError
from flyannot.files.text_files import memory_limit
from tests.bombs import BOMBS, HONEST
from tests.campaign.trials import IN_CAMPAIGN

PICTURES = ("jpeg", "other", "png", "tiff")
QUICK = (  # one bomb of each cause that is quick
    *("cache:  [", 'csv: ge_range\\n " (read_images)', "hdf5: a claim", "jpeg: a claim", "jpeg: RGB"),
    "npz: a claim",
    *(
        "json: [ [], (read_scores)",
        "other: bmp of runs",
        "patterns: a wide mask",
        "record: a= [",
        "xlsx: members",
    ),
    *("png: a claim within the limit", "scores: thresholds of groups", "tiff: strips", "tiff: a circle"),
    "xlsx: entities",
)
TRIED = [*BOMBS] if IN_CAMPAIGN else QUICK
KINDS = sorted({name.partition(":")[0] for name in TRIED})


def cost(work):
    """Return the peak memory in bytes of a forked process and its own, and the error of its work, or None."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        error = None
        at_first = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        gc.freeze()  # else each collection looks through all that other tests have left
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            work()
        except BaseException as caught:
            error = type(caught), str(caught)[:500]
        own, of_children = (
            resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        # The system counts what this process had when it started another one as memory of the other one, too.
        peak = own + max(0, of_children - at_first)
        os.write(writing, pickle.dumps((peak * 1024, error)))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return pickle.loads(answer)


def extra_memory(path, read):
    """Return the memory in bytes that reading a file takes, and its error or None."""
    idle, _ = cost(lambda: None)
    peak, error = cost(lambda: read(path))
    return peak - idle, error


@pytest.mark.not_on_windows
@pytest.mark.not_on_macos
@pytest.mark.parametrize("kind", KINDS)
def test_no_file_costs_much_more_than_its_size(kind, tmp_path, trials):
    names = [name for name in TRIED if name.startswith(f"{kind}:")]
    trials(len(names), campaign=len(names))
    for name in names:
        bomb = BOMBS[name]
        path = tmp_path / bomb.name
        path.write_bytes(bomb.make(6 if kind in PICTURES else 1))
        extra, error = extra_memory(path, bomb.read)
        assert extra <= memory_limit(path), name
        assert error is None or issubclass(error[0], FlyannotError), (name, error)


@pytest.mark.not_on_windows
@pytest.mark.not_on_macos
@pytest.mark.parametrize("name", HONEST if IN_CAMPAIGN else ["a workbook"])
def test_honest_files_are_read(name, tmp_path):
    suffix, read, make = HONEST[name]
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(make())
    extra, error = extra_memory(path, read)
    assert error is None
    assert extra <= memory_limit(path)
