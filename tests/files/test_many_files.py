"""Tests of many files as one input: none stays open, and replaced ones are refused."""

import os
import shutil

import numpy as np
import pytest

from flyannot.base.errors import DataError
from flyannot.dataset.folder import read_images
from flyannot.files.hdf5.features import read_features
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.pipeline.engine.inputs import open_compatible
from flyannot.pipeline.engine.task import Execution, run_task
from flyannot.pipeline.steps.pool import pool_images_task
from tests.small_embryos import POOL

N = 12


@pytest.fixture(scope="module")
def files_of_genes(chain, tmp_path_factory):
    """Return the features of the small data set, in files of two genes each."""
    images = read_images(chain.embryos)
    genes = sorted({image.gene for image in images})
    paths = [tmp_path_factory.mktemp("genes") / f"{i}.h5" for i in range(N)]
    for i, path in enumerate(paths):
        some = [image for image in images if image.gene in genes[2 * i : 2 * i + 2]]
        run_task(pool_images_task(some, chain.dictionary, path, POOL), Execution())
    return paths


def n_open(paths):
    """Return how many of the files this process has open."""
    targets = [os.path.realpath(f"/proc/self/fd/{one}") for one in os.listdir("/proc/self/fd")]
    return sum(str(path) in targets for path in paths)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="Linux says which files are open")
def test_no_file_stays_open(chain, files_of_genes):
    files = open_compatible(files_of_genes, "features")
    columns, features = read_features(files, "4-6")
    assert n_open(files_of_genes) == 0
    whole = open_stored_file(chain.features)
    expected = read_features([whole], "4-6")
    assert columns == expected[0] and np.array_equal(features, expected[1])


def test_a_file_that_is_replaced_between_two_readings_is_refused(files_of_genes, tmp_path):
    mine = [shutil.copy(path, tmp_path / path.name) for path in files_of_genes[:2]]
    files = open_compatible(mine, "features")
    first, second = (stored.read_array("4-6", "image") for stored in files)
    shutil.copy(mine[0], tmp_path / "copy.h5")
    os.replace(tmp_path / "copy.h5", mine[0])
    assert files[0].read_array("4-6", "image") == first, "another file of the same contents"
    assert files[1].read_array("4-6", "image") == second
    shutil.copy(files_of_genes[2], tmp_path / "copy.h5")
    os.replace(tmp_path / "copy.h5", mine[0])
    with pytest.raises(DataError, match="was replaced while this ran"):
        files[0].read_array("4-6", "image")
