"""The kernels that solvers share, one by one, beside their definitions."""

import numpy as np
import pytest
import scipy.sparse as sp

from flyannot.sparse import kernels
from tests.sparse.twins import slow_objective, soft_number


def test_vectors_change_in_their_first_entries_only(rng):
    a, b = rng.standard_normal((2, 9))
    target = a.copy()
    kernels.add_multiple(target, -1.5, b, 7)
    assert target == pytest.approx([*(a[:7] - 1.5 * b[:7]), *a[7:]])
    kernels.copy(target, b, 8)
    assert list(target) == [*b[:8], a[8]]
    assert kernels.dot(a, b, 7) == pytest.approx(a[:7] @ b[:7])


@pytest.mark.parametrize("value", [-2.5, -1.0, -0.25, 0.0, 0.25, 1.0, 2.5])
def test_soft_thresholding_is_the_projection_of_its_definition(value):
    assert kernels.soft_threshold(value, 1.0) == soft_number(value, 1.0)


def test_squares_are_summed_in_float64(rng):
    X = (1e25 * rng.standard_normal((3, 5))).astype(np.float32)  # the squares overflow float32
    squares = np.full(3, np.nan)
    kernels.sum_squares(X, squares)
    assert squares == pytest.approx((X.astype(float) ** 2).sum(axis=1))


def test_a_start_has_neither_zeros_nor_atoms_without_norm():
    start = sp.csr_array(np.array([[9.0, 8, 7, 6], [1, -2, 3, 4]]))
    start.data[4] = 0.0  # the first of the second row, stored as an explicit zero
    gram = np.diag([1.0, 0.25, 0.0, 1e-30])
    atoms, codes = np.full(4, -1), np.full(4, np.nan)
    assert kernels.read_start_code((start.indptr, start.indices, start.data), 1, gram, atoms, codes) == 2
    assert list(atoms) == [1, 3, -1, -1] and list(codes[:2]) == [-2, 4] and np.isnan(codes[2:]).all()


def test_a_gap_stagnates_from_the_round_in_which_it_last_halved():
    best, n_rounds, history = np.inf, 0, []
    for gap in (8.0, 4.5, 4.0, 3.0, 2.5, 2.0, 2.0):
        best, n_rounds = kernels.track_gap(gap, best, n_rounds)
        history.append((best, n_rounds))
    assert history == [(8, 0), (8, 1), (4, 0), (4, 1), (4, 2), (2, 0), (2, 1)]


@pytest.mark.parametrize("lam", [0.05, 100.0])
def test_both_gaps_are_the_primal_value_less_that_of_the_scaled_residual(rng, lam):
    D = rng.standard_normal((6, 4))
    x = rng.standard_normal(4)
    places = np.array([4, 1, 3])  # in any order, and the last is not of the code
    z = np.array([0.7, -0.4, np.nan])
    code = np.zeros(6)
    code[places[:2]] = z[:2]
    residual = x - code @ D
    q = D @ residual
    largest = np.abs(q).max()
    theta = residual * min(1.0, lam / largest)
    assert np.abs(D @ theta).max() <= lam * (1 + 1e-12)  # the dual constraint
    gap = slow_objective(x, D, code, lam) - 0.5 * (x @ x - (x - theta) @ (x - theta))
    sums = residual @ residual, np.abs(code).sum(), code @ q, largest
    assert kernels.duality_gap_from_sums(*sums, lam) == pytest.approx(gap)
    found = kernels.duality_gap_from_correlations(x @ x, D @ x, q, places, z, 2, lam, largest)
    assert found == pytest.approx(gap)


def test_rounding_below_zero_of_the_residual_is_no_negative_gap():
    none = np.zeros(1)
    assert kernels.duality_gap_from_correlations(-1e-12, none, none, np.zeros(1, int), none, 0, 1.0, 2.0) == 0
