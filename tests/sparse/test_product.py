"""The product X D^T: right, and to the same bits in any company."""

import os
import subprocess
import sys

import numpy as np
import pytest

from flyannot.sparse.simd.product import PART, gram_of, multiply, pack_columns
from flyannot.sparse.simd.vectors import aligned_zeros
from tests.sparse.twin_product import slow_product

BOTH_TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
BOTH_WIDTHS = pytest.mark.parametrize("few", [False, True])


def product(X, D, order=None, *, few=False):
    panels = pack_columns(D, order, few=few)
    Q = aligned_zeros((len(X), len(panels) * panels.shape[2]), D.dtype)
    Q[:] = np.nan
    multiply(X, panels, Q)
    return Q


@BOTH_TYPES
@BOTH_WIDTHS
@pytest.mark.parametrize("n_features", [1, 7, PART + 3])
def test_the_product_is_that_of_the_slow_twin_to_the_bit(dtype, few, n_features, rng):
    X, D = rng.normal(size=(5, n_features)).astype(dtype), rng.normal(size=(3, n_features)).astype(dtype)
    assert (product(X, D, few=few)[:, :3] == slow_product(X, D, PART)).all()


@BOTH_TYPES
@BOTH_WIDTHS
@pytest.mark.parametrize("n_samples", [0, 1, 5, 13, 50])
@pytest.mark.parametrize("n_atoms", [0, 1, 16, 65, 200])
@pytest.mark.parametrize("n_features", [0, 1, 37, 2 * PART + 1])
def test_the_product_is_right_for_all_sizes(dtype, few, n_samples, n_atoms, n_features, rng):
    X = rng.normal(size=(n_samples, n_features)).astype(dtype)
    D = rng.normal(size=(n_atoms, n_features)).astype(dtype)
    Q = product(X, D, few=few)
    np.testing.assert_allclose(Q[:, :n_atoms], X @ D.T, atol=1e-3 if dtype == np.float32 else 1e-11)
    assert not Q[:, n_atoms:].any()


@BOTH_TYPES
@BOTH_WIDTHS
def test_bits_depend_on_the_sample_and_the_atom_alone(dtype, few, rng):
    X, D = (rng.normal(size=(n, PART + 45)).astype(dtype) for n in (150, 130))
    Q = product(X, D)[:, :130]
    samples, atoms = rng.permutation(150), rng.permutation(130)
    assert (product(X[samples], D[atoms], few=few)[:, :130] == Q[samples][:, atoms]).all()
    for cut in (1, 11, 64, 129):
        parts = np.concatenate([product(X[:cut], D, few=few), product(X[cut:], D, few=few)])
        assert (parts[:, :130] == Q).all()
        assert (product(X, D[:cut], few=few)[:, :cut] == Q[:, :cut]).all()
    one = product(D, X, few=few)[:, :150]
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
    gram = gram_of(D)
    assert gram.dtype == dtype and gram.flags.c_contiguous and (gram == gram.T).all()
    np.testing.assert_allclose(gram, D @ D.T, atol=1e-5)


@pytest.mark.parametrize("kernel", ["Haswell", "Prescott"])
def test_codes_keep_their_bits_under_another_blas_kernel(kernel):
    """OpenBLAS picks its kernels by the processor; here one that rounds the edges of products otherwise."""
    laws = ["same_bits_in_any_company", "test_a_gram_matrix", "test_threads"]
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", " or ".join(laws)]
    done = subprocess.run(
        [*words, "tests/sparse/test_coders.py"], env=os.environ | {"OPENBLAS_CORETYPE": kernel},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
