"""Mat files whose damage crashes SciPy's reader: one line, and this process lives."""

import numpy as np
import pytest
from scipy.io import savemat

from flyannot.base.errors import DataError
from flyannot.dataset.importers import vectors
from flyannot.dataset.importers.vectors import read_matrices

TYPE_OF_NUMBERS = 176  # where a file of one matrix named D says that its numbers are of type 9, double


@pytest.fixture
def mat(tmp_path):
    path = tmp_path / "D.mat"
    savemat(path, {"D": np.arange(128.0).reshape(8, 16)})
    assert path.read_bytes()[TYPE_OF_NUMBERS] == 9
    return path


def spoil(path, changes):
    spoiled = bytearray(path.read_bytes())
    for at, value in changes.items():
        spoiled[at] = value
    path.write_bytes(spoiled)


def test_a_type_that_crashes_the_reader_is_damage(mat, flyannot, chain, tmp_path):
    """14 is a matrix within the numbers of a matrix: SciPy ends in SIGSEGV."""
    spoil(mat, {TYPE_OF_NUMBERS: 14})
    with pytest.raises(DataError, match="D.mat is damaged") as caught:
        read_matrices(mat)
    assert "\n" not in caught.value.message and caught.value.fix and caught.value.exit_code == 65
    named = {"M": mat, "D": chain.descriptors, "O": tmp_path / "o.h5"}
    said = flyannot("import dictionary M --descriptors D -o O", **named)
    assert said.code == 65 and said.err.count("Error:") == 1 and not (tmp_path / "o.h5").exists()


def test_a_reader_that_hangs_is_ended(mat, monkeypatch):
    monkeypatch.setattr(vectors, "_SECONDS", 0.0)
    with pytest.raises(DataError, match="is damaged: reading it took more than 0 s"):
        read_matrices(mat)


def test_spoilt_bytes_give_matrices_or_one_line(mat, rng, trials):
    """Mostly in the part that says what follows, where they crash the reader most."""
    good = mat.read_bytes()
    n_refused = 0
    for _ in range(trials(6, campaign=40)):
        mat.write_bytes(good)
        spoil(mat, {int(at): int(rng.integers(256)) for at in rng.integers(128, 184, rng.integers(1, 4))})
        try:
            assert all(found.ndim == 2 for found in read_matrices(mat).values())
        except DataError as error:
            n_refused += 1
            assert "\n" not in error.message and error.fix
    assert n_refused
