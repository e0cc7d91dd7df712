"""HDF5 over a file whose writes fail: no crash, and the error of the system comes out."""

import errno

import h5py
import numpy as np
import pytest

from flyannot.errors import WriteError
from flyannot.store.reading import verify_stored
from flyannot.store.writing import OutputFile
from tests.store.test_store import write


def test_every_nth_operation_may_fail(tmp_path, monkeypatch, trials):
    """For every N: the error is a WriteError, the old file stays, and nothing is left beside it."""
    path = write(tmp_path / "f.h5", "features")
    before, count, fail_at = path.read_bytes(), 0, None
    attempt = OutputFile._attempt

    def failing(self, operation, *arguments):
        nonlocal count
        if self.error is None:
            count += 1
            if count == fail_at:
                self.error = OSError(errno.EIO, "Input/output error")
                return None
        return attempt(self, operation, *arguments)

    monkeypatch.setattr(OutputFile, "_attempt", failing)
    write(path, "features", seed=1)
    n_operations, failures = count, 0
    assert n_operations > 100
    some = [*range(1, 40), *range(40, n_operations, 7), n_operations]
    every = list(range(1, n_operations + 1))
    for fail_at in every if trials(len(some), campaign=len(every)) > len(some) else some:  # noqa: B007 (`failing` reads it)
        path.write_bytes(before)
        count = 0
        with pytest.raises(WriteError, match="Input/output error"):
            write(path, "features", seed=1)
        failures += 1
        assert path.read_bytes() == before
        assert [one.name for one in tmp_path.iterdir()] == ["f.h5"]
    assert failures > 50 and verify_stored(path) == "features"


def test_a_file_written_through_it_is_that_of_hdf5(tmp_path, rng):
    values = rng.integers(0, 256, (5000, 128), dtype=np.uint8)
    output = OutputFile(tmp_path / "a.h5")
    with h5py.File(output, "w") as file:
        file.create_dataset("x", data=values, chunks=(100, 128), fletcher32=True)
        assert np.array_equal(file["x"][()], values)
    output.close()
    with h5py.File(tmp_path / "a.h5") as file:
        assert np.array_equal(file["x"][()], values)
