"""Vector code: the product X D^T, searches compared with NumPy, and the byte arithmetic of the coder cd."""

import os
import subprocess
import sys

import numpy as np
import pytest

from flyannot.sparse.coders.cd import make_problem, make_scratch
from flyannot.sparse.coders.cd_kernels import correlate_all, mirrored
from flyannot.sparse.kernels import kernel
from flyannot.sparse.simd.gram_rows import append_above, find_largest, max_magnitude_of_chunks, mirrored_index
from flyannot.sparse.simd.product import PART, gram_matrix, multiply, pack_columns
from flyannot.sparse.simd.vectors import LANES, aligned_zeros
from tests.sparse.twins import slow_product

BOTH_TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
BOTH_WIDTHS = pytest.mark.parametrize("narrow", [False, True])


def product(X, D, order=None, *, narrow=False):
    panels = pack_columns(D, order, narrow=narrow)
    Q = aligned_zeros((len(X), len(panels) * panels.shape[2]), D.dtype)
    Q[:] = np.nan
    multiply(X, panels, Q)
    return Q


@BOTH_TYPES
@BOTH_WIDTHS
@pytest.mark.parametrize("n_features", [1, 7, PART + 3])
def test_the_product_is_that_of_the_slow_twin_to_the_bit(dtype, narrow, n_features, rng):
    X, D = rng.normal(size=(5, n_features)).astype(dtype), rng.normal(size=(3, n_features)).astype(dtype)
    assert (product(X, D, narrow=narrow)[:, :3] == slow_product(X, D, PART)).all()


@BOTH_TYPES
@BOTH_WIDTHS
@pytest.mark.parametrize("n_samples", [0, 1, 5, 13, 50])
@pytest.mark.parametrize("n_atoms", [0, 1, 16, 65, 200])
@pytest.mark.parametrize("n_features", [0, 1, 37, 2 * PART + 1])
def test_the_product_is_right_for_all_sizes(dtype, narrow, n_samples, n_atoms, n_features, rng):
    X = rng.normal(size=(n_samples, n_features)).astype(dtype)
    D = rng.normal(size=(n_atoms, n_features)).astype(dtype)
    Q = product(X, D, narrow=narrow)
    np.testing.assert_allclose(Q[:, :n_atoms], X @ D.T, atol=1e-3 if dtype == np.float32 else 1e-11)
    assert not Q[:, n_atoms:].any()


@BOTH_TYPES
@BOTH_WIDTHS
def test_bits_depend_on_the_sample_and_the_atom_alone(dtype, narrow, rng):
    X, D = (rng.normal(size=(n, PART + 45)).astype(dtype) for n in (150, 130))
    Q = product(X, D)[:, :130]
    samples, atoms = rng.permutation(150), rng.permutation(130)
    assert (product(X[samples], D[atoms], narrow=narrow)[:, :130] == Q[samples][:, atoms]).all()
    for cut in (1, 11, 64, 129):
        parts = np.concatenate([product(X[:cut], D, narrow=narrow), product(X[cut:], D, narrow=narrow)])
        assert (parts[:, :130] == Q).all()
        assert (product(X, D[:cut], narrow=narrow)[:, :cut] == Q[:, :cut]).all()
    one = product(D, X, narrow=narrow)[:, :150]
    assert (one.T == Q).all()  # a product of two numbers does not ask which of them is the sample's


def test_columns_follow_the_order_that_is_given(rng):
    X, D = rng.normal(size=(4, 9)), rng.normal(size=(10, 9))
    order = np.array([3, 99, 0, 10, 9])
    Q = product(X, D, order)
    assert (Q[:, [0, 2, 4]] == product(X, D)[:, [3, 0, 9]]).all()
    assert not Q[:, [1, 3]].any() and not Q[:, 5:].any()


@BOTH_TYPES
def test_the_gram_matrix_is_symmetric_to_the_bit(dtype, rng):
    D = rng.normal(size=(77, 19)).astype(dtype)
    gram = gram_matrix(D)
    assert gram.dtype == dtype and gram.flags.c_contiguous and (gram == gram.T).all()
    np.testing.assert_allclose(gram, D @ D.T, atol=1e-5)


def test_codes_keep_their_bits_under_another_blas_kernel():
    """Use OpenBLAS kernels of an old processor, which round the edges of products differently."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "same_bits_in_any_company"]
    env = os.environ | {"OPENBLAS_CORETYPE": "Prescott"}
    done = subprocess.run([*words, "tests/sparse/test_coders.py"], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


# --- searches of the coordinate-descent coder ---


@kernel
def appended(q, q0, bar, numbers, values, size):
    return append_above(q, q0, bar, numbers, values, size)


@kernel
def largest(q):
    return max_magnitude_of_chunks(q)


@kernel
def place(bits, masks, width):
    return find_largest(bits, masks, width)


@pytest.fixture(params=[np.float32, np.float64])
def q(request, rng):
    found = aligned_zeros(192, np.dtype(request.param))
    found[:] = rng.normal(size=192)
    return found


@pytest.mark.parametrize("bar", [0.0, 0.7, 1.5, 9.0])
@pytest.mark.parametrize("size", [0, 5])
def test_atoms_above_the_bar_are_appended_in_the_order_of_places(q, rng, bar, size):
    q0 = aligned_zeros(193, q.dtype)[1:]  # SISO's correlations begin anywhere in memory
    q0[:] = q + 1
    numbers, values = np.full(192 + size + LANES, 7, np.uint32), np.full(192 + size + LANES, 7, q.dtype)
    n = appended(q, q0, bar, numbers, values, size)
    places = np.flatnonzero(np.abs(q) > bar)
    assert n == size + len(places)
    assert numbers[size:n].tolist() == mirrored_index(places).tolist()
    assert np.array_equal(values[size:n], q0[places])
    assert np.isin(numbers[n:], [0, 7]).all(), "one that was left out may be no atom, and its row is read"
    assert (numbers[:size] == 7).all() and (values[:size] == 7).all()
    assert (numbers[n + LANES :] == 7).all() and (values[n + LANES :] == 7).all()


def test_the_largest_of_all_is_that_of_magnitudes(q):
    assert largest(q) == np.abs(q).max()
    q[:] = -q
    q[100] = -50
    assert largest(q) == 50


@pytest.mark.parametrize("width", [16, 48, 192])
def test_the_place_of_the_largest_is_among_those_that_may_join(q, rng, width):
    bits = q.view(np.int32 if q.dtype == np.float32 else np.int64)
    masks = np.where(rng.random(192) < 0.5, np.iinfo(bits.dtype).max, 0).astype(bits.dtype)
    assert place(bits, masks, width) == np.where(masks[:width] != 0, np.abs(q[:width]), -1).argmax()
    assert place(bits, np.zeros_like(masks), width) == -1


# --- what it takes from bytes errs by no more than it says ---


@kernel
def correlate_in_bytes(q0, atoms, z, n, problem, scratch):
    return correlate_all(q0, atoms, z, n, q0[0] - q0[0], problem, scratch)


@BOTH_TYPES
@pytest.mark.parametrize("n_atoms", [3, 64, 200])
@pytest.mark.parametrize("n", [0, 1, 5, 12])
@pytest.mark.parametrize("lam", [1.0, 1e-3])  # the bytes are fine enough, or rows of gram must do
def test_correlations_err_by_no_more_than_is_said(rng, dtype, n_atoms, n, lam):
    n = min(n, n_atoms)
    D = rng.normal(size=(n_atoms, 12)) * rng.uniform(0.1, 1, size=(n_atoms, 1)) / 12**0.5
    x, z = D[0] + D[1], np.zeros(n_atoms)
    atoms = rng.permutation(n_atoms)[:n]
    z[atoms] = rng.normal(size=n)
    scratch, width = make_scratch(n_atoms, 12, np.dtype(dtype)), -(-n_atoms // 64) * 64
    problem = make_problem((D @ D.T).astype(dtype), lam, 1e-4, 10)
    order, q0, padded = mirrored_index(np.arange(width)), np.zeros(width), np.zeros(width)
    q0[: len(D)], padded[: len(D)] = D @ x, D @ (x - z @ D)
    scratch.pending[:n], scratch.pending_codes[:n] = atoms, z[atoms]
    q0 = q0[order].astype(dtype)
    bound, error = correlate_in_bytes(q0, scratch.pending, scratch.pending_codes, n, problem, scratch)
    assert bound == dtype(lam) - dtype(error)
    assert (error > 0) == (n > 0 and lam == 1)
    assert np.abs(scratch.q - padded[order]).max() <= error + 1e-5


def test_the_mirrored_order_is_its_own_inverse():
    order = mirrored_index(np.arange(256))
    assert (order[order] == np.arange(256)).all()
    assert [mirrored.py_func(place) for place in range(256)] == order.tolist()
