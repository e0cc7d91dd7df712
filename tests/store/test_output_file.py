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
    before, attempt = path.read_bytes(), OutputFile._attempt
    n_left = n_all = 10**9

    def failing(self, operation, *arguments):
        nonlocal n_left
        if self.error is None:
            n_left -= 1
            if n_left == 0:
                self.error = OSError(errno.EIO, "Input/output error")
                return None
        return attempt(self, operation, *arguments)

    monkeypatch.setattr(OutputFile, "_attempt", failing)
    write(path, "features", seed=1)
    n_all -= n_left
    assert n_all > 100
    some, every = [*range(1, 40), *range(40, n_all, 7), n_all], list(range(1, n_all + 1))
    for n in every if trials(len(some), campaign=len(every)) > len(some) else some:
        path.write_bytes(before)
        n_left = n
        with pytest.raises(WriteError, match="Input/output error"):
            write(path, "features", seed=1)
        assert path.read_bytes() == before
        assert [one.name for one in tmp_path.iterdir()] == ["f.h5"]
    assert verify_stored(path) == "features"


def test_a_file_written_through_it_is_that_of_hdf5(tmp_path, rng):
    values = rng.integers(0, 256, (5000, 128), dtype=np.uint8)
    output = OutputFile(tmp_path / "a.h5")
    with h5py.File(output, "w") as file:
        file.create_dataset("x", data=values, chunks=(100, 128), fletcher32=True)
        assert np.array_equal(file["x"][()], values)
    output.close()
    with h5py.File(tmp_path / "a.h5") as file:
        assert np.array_equal(file["x"][()], values)
