"""Tests of the reader of matrices in NumPy's format."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyannot.base.errors import DataError, FlyannotError, InputError
from flyannot.files.matrix import is_matrix_file, open_matrix

TYPES = ["f4", ">f4", "f8", ">f8", "f2", "i2", ">u4", "u1", "?"]


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves an array, and returns its path."""

    def save(X, name="X.npy"):
        np.save(tmp_path / name, X, allow_pickle=True)
        return tmp_path / name

    return save


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", TYPES)
def test_rows_are_read_as_numpy_reads_them_in_any_type_and_order(saved, rng, dtype, order, tmp_path):
    X = np.array(rng.integers(0, 2, (7, 3)) if dtype == "?" else 50 * rng.random((7, 3)), dtype, order=order)
    matrix = open_matrix(saved(X))
    expected = X.astype("f4" if dtype.endswith("f4") else "f8")
    assert len(matrix) == 7 and matrix.dtype == expected.dtype
    for rows in (slice(2, 5), np.array([6, 0, 0]), slice(None)):
        found = matrix[rows]
        np.testing.assert_array_equal(found, expected[rows])
        assert found.dtype == expected.dtype and found.flags.c_contiguous and found.flags.writeable
    with open(tmp_path / "v3.npy", "wb") as file:
        np.lib.format.write_array(file, X, version=(3, 0))
    np.testing.assert_array_equal(open_matrix(tmp_path / "v3.npy")[:], expected)


@given(st.integers(1, 5000), st.integers(1, 3000))
def test_blocks_have_every_row_once_and_few_bytes(tmp_path_factory, n_rows, n_columns):
    from flyannot.files.matrix import MatrixFile

    matrix = MatrixFile("X.npy", (n_rows, n_columns), np.dtype("f4"), "C", 0, ())
    blocks = matrix.blocks()
    assert [row for b in blocks for row in range(b.start, b.stop)] == list(range(n_rows))
    assert all(b.stop - b.start == 1 or (b.stop - b.start) * n_columns * 4 <= 2**22 for b in blocks)


STRUCTURED = np.zeros(3, [("gene", "S4"), ("β", "f4")])
NO_MATRICES = {
    "a vector": (np.zeros(3), "shape"),
    "a stack": (np.zeros((2, 3, 4)), "shape"),
    "one number": (np.float64(3), "shape"),
    "without rows": (np.zeros((0, 3)), "is empty"),
    "without columns": (np.zeros((3, 0)), "is empty"),
    "of objects": (np.array([[{}, "a"]], object), "Python objects"),
    "of fields": (STRUCTURED, "header|fields"),
    "complex": (np.zeros((2, 2), complex), "complex128"),
    "of text": (np.array([["a", "b"]]), "<U1"),
    "of dates": (np.zeros((2, 2), "M8[s]"), "datetime64"),
}


@pytest.mark.parametrize(("X", "why"), NO_MATRICES.values(), ids=NO_MATRICES)
def test_what_is_no_matrix_of_real_numbers_is_refused(saved, X, why):
    path = saved(X)
    with pytest.raises(DataError, match=why) as caught:
        open_matrix(path)
    assert str(path) in caught.value.message and "\n" not in caught.value.message and caught.value.fix


def test_a_pickle_is_never_loaded(tmp_path):
    class Bomb:
        def __reduce__(self):
            return open, (str(tmp_path / "exploded"), "w")

    np.save(tmp_path / "X.npy", np.array([[Bomb()]]), allow_pickle=True)
    with pytest.raises(DataError):
        open_matrix(tmp_path / "X.npy")
    assert not (tmp_path / "exploded").exists()


def test_a_file_cut_or_changed_anywhere_is_refused_or_has_other_numbers(saved, rng, trials):
    path = saved(rng.random((5, 4)))
    good = path.read_bytes()
    for size in range(len(good)):
        path.write_bytes(good[:size])
        with pytest.raises(DataError):
            open_matrix(path)
    path.write_bytes(good + b"more")
    with pytest.raises(DataError, match="is damaged"):
        open_matrix(path)
    for _ in range(trials(300)):
        spoiled = bytearray(good)
        spoiled[rng.integers(128)] ^= 1 << rng.integers(8)
        path.write_bytes(spoiled)
        try:
            assert open_matrix(path)[:].size == 20
        except FlyannotError as error:
            assert str(path) in error.message


@pytest.mark.parametrize("place", [(0, 0), (1500, 2), (2999, 3)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1e200, np.longdouble("1e4000")])
def test_the_place_of_a_number_that_is_not_finite_or_too_large_is_named(saved, value, place):
    X = np.zeros((3000, 4), np.result_type(np.float32 if np.isnan(value) else value))
    X[place] = value
    value = float(value)
    matrix = open_matrix(saved(X))
    with pytest.raises(DataError, match=re.escape(f"{value} in row {place[0]}, column {place[1]}")):
        for block in matrix.blocks():
            matrix.read_numbers(block)
    if np.isnan(value):
        assert all(matrix.read_numbers(block, may_be_nan=True).size for block in matrix.blocks())


def test_a_matrix_that_is_replaced_is_not_read_on(saved):
    matrix = open_matrix(saved(np.zeros((3, 4))))
    saved(np.zeros((3, 5)))
    with pytest.raises(DataError, match="was replaced"):
        matrix[:]


def test_a_matrix_is_known_by_its_suffix_or_its_first_bytes(saved, tmp_path):
    assert is_matrix_file(saved(np.zeros(1))) and is_matrix_file(tmp_path / "absent.NPY")
    saved(np.zeros(1)).rename(tmp_path / "matrix")
    (tmp_path / "X.csv").write_text("1,2\n")
    assert is_matrix_file(tmp_path / "matrix")
    assert not is_matrix_file(tmp_path / "X.csv") and not is_matrix_file(tmp_path / "absent.h5")
    for path in (tmp_path / "absent.npy", tmp_path):
        with pytest.raises(InputError, match=str(path)):
            open_matrix(path)
