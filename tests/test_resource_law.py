"""Tests that reading any file costs at most 50 times its size and 300 MB, whether it is refused or not.

Memory is the peak of a forked process less the peak of an idle one.
"""

import os
import pickle
import resource

import pytest

from flyannot.base.errors import FlyannotError
from flyannot.files.text_files import memory_limit
from tests.bombs import BOMBS
from tests.campaign.trials import IN_CAMPAIGN

KINDS = sorted({name.partition(":")[0] for name in BOMBS})
PICTURES = ("jpeg", "other", "png", "tiff")
QUICK = {  # one bomb of each cause, and honest pictures
    "csv": ("cells (read_images)", "quotes (read_images)", "an open quote (read_rows)"),
    "csv.gz": ("cells", "unknown stages"),
    "hdf5": ("failures", "depth", "a claim", "chunks", "links"),
    "jpeg": ("rgb (colours)", "a claim (greys)"),
    "json": ("lists (read_scores)", "objects (json_file)"),
    "lif": ("a claim", "depth"),
    "npy": ("a claim", "a deep header"),
    "npz": ("a claim", "members"),
    "obo": ("quotes",),
    "ods": ("repeated",),
    "other": ("gif, a claim (greys)", "bmp of runs (greys)"),
    "png": ("data behind the pixels (greys)", "iccp (greys)", "grey (greys)"),
    "tiff": ("a claim within the limit (greys)", "strips (greys)", "a circle (greys)", "ome planes (greys)"),
    "toml": ("a deep key", "deep"),
    "xlsx": ("deep", "entities"),
}


def cost(work):
    """Return the peak memory in bytes of a forked process, and the error that ended its work, or None."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        error = None
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            work()
        except BaseException as caught:
            error = type(caught), str(caught)[:500]
        peaks = [
            resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        ]
        os.write(writing, pickle.dumps((max(peaks) * 1024, error)))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return pickle.loads(answer)


@pytest.mark.not_on_windows
@pytest.mark.not_on_macos
@pytest.mark.parametrize("kind", KINDS if IN_CAMPAIGN else sorted(QUICK))
def test_no_file_costs_much_more_than_its_size(kind, tmp_path, trials):
    of_kind = [name for name in BOMBS if name.startswith(f"{kind}:")]
    names = of_kind if IN_CAMPAIGN else [f"{kind}: {name}" for name in QUICK[kind]]
    trials(len(names), campaign=len(names))
    for name in names:
        bomb = BOMBS[name]
        path = tmp_path / bomb.name
        path.write_bytes(bomb.make(8 if IN_CAMPAIGN and kind in PICTURES else 1))
        idle, _ = cost(lambda: None)
        peak, error = cost(lambda path=path, read=bomb.read: read(path))
        assert peak - idle <= memory_limit(path), name
        assert error is None or issubclass(error[0], FlyannotError), (name, error)
