"""Many files as one input: a few open at a time, and none that was replaced."""

import os
import shutil

import numpy as np
import pytest

from flyannot.errors import DataError
from flyannot.steps.engine.inputs import open_all
from flyannot.steps.engine.task import Execution, carry_out
from flyannot.steps.pool import pool_task
from flyannot.store import file_cache
from flyannot.store.features import read_features
from flyannot.store.reading import open_stored
from tests.small_embryos import POOL

N = 12


@pytest.fixture(scope="module")
def shards(chain, tmp_path_factory):
    """The features of the small data set in shards."""
    paths = [tmp_path_factory.mktemp("shards") / f"{i}.h5" for i in range(1, N + 1)]
    for i, path in enumerate(paths, 1):
        carry_out(pool_task([chain.descriptors], chain.dictionary, path, POOL, shard=(i, N)), Execution())
    return paths


def n_open(paths):
    """How many of the files this process has open."""
    targets = [os.path.realpath(f"/proc/self/fd/{one}") for one in os.listdir("/proc/self/fd")]
    return sum(str(path) in targets for path in paths)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="Linux says which files are open")
def test_of_many_files_a_few_are_open(chain, shards, monkeypatch):
    monkeypatch.setattr(file_cache, "_MOST_OPEN_OF_INPUTS", 3)
    with open_all(shards, "features") as files:
        assert n_open(shards) == 0
        for stored in files:
            stored.array("4-6", "image")
            assert n_open(shards) <= 3
        columns, features = read_features(files, "4-6")
        assert 0 < n_open(shards) <= 3
    assert n_open(shards) == 0
    with open_stored(chain.features) as whole:
        expected = read_features([whole], "4-6")
    assert columns == expected[0] and np.array_equal(features, expected[1])


def test_a_file_that_is_replaced_between_two_openings_is_refused(shards, tmp_path, monkeypatch):
    monkeypatch.setattr(file_cache, "_MOST_OPEN_OF_INPUTS", 1)
    mine = [shutil.copy(path, tmp_path / path.name) for path in shards[:2]]
    with open_all(mine, "features") as files:
        first, second = (stored.array("4-6", "image") for stored in files)
        shutil.copy(mine[0], tmp_path / "copy.h5")
        os.replace(tmp_path / "copy.h5", mine[0])
        assert files[0].array("4-6", "image") == first, "another file of the same contents"
        assert files[1].array("4-6", "image") == second
        shutil.copy(shards[2], tmp_path / "copy.h5")
        os.replace(tmp_path / "copy.h5", mine[0])
        with pytest.raises(DataError, match="was replaced while this ran"):
            files[0].array("4-6", "image")
