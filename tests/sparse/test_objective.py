"""Objective, gap and conditions: by theory, by hand and by slow twins."""

import numpy as np
import pytest
import scipy.sparse as sp

from flyannot.sparse.objective import duality_gap, objective
from tests.sparse.optimality import dictionary_stationarity, kkt_violation, lam_max
from tests.sparse.twins import slow_bases, slow_codes, slow_objective


@pytest.fixture
def problem(rng):
    """Samples, atoms with a dead one, and codes that are nowhere near the minimum."""
    X, D = rng.normal(size=(6, 5)), rng.normal(size=(8, 5))
    D[2] = 0.0
    Z = rng.normal(size=(6, 8)) * (rng.random((6, 8)) < 0.4)
    return X, D, Z


def test_values_by_hand_on_two_orthogonal_atoms():
    # x = (3, 1/2), atoms e1 and e2, lam = 1: the minimum is soft thresholding, z = (2, 0).
    X, D, lam = np.array([[3.0, 0.5]]), np.eye(2), 1.0
    best, none = np.array([[2.0, 0.0]]), np.zeros((1, 2))
    assert objective(X, D, best, lam) == pytest.approx([0.5 * (1 + 0.25) + 2])
    assert objective(X, D, none, lam) == pytest.approx([0.5 * 9.25])
    assert duality_gap(X, D, best, lam) == pytest.approx([0.0], abs=1e-15)
    # At z = 0 the dual point is x / 3: the dual value 1/2 |x|^2 - 1/2 |2 x / 3|^2 = 5/18 |x|^2.
    assert duality_gap(X, D, none, lam) == pytest.approx([4 / 18 * 9.25])
    assert kkt_violation(X, D, best, lam) == pytest.approx([0.0])
    assert kkt_violation(X, D, none, lam) == pytest.approx([2.0])
    assert kkt_violation(X, D, np.array([[2.5, 0.0]]), lam) == pytest.approx([0.5])
    assert lam_max(X, D) == 3.0


def test_objective_is_its_formula(problem):
    X, D, Z = problem
    by_terms = [slow_objective(x, D, z, 0.3) for x, z in zip(X, Z)]
    np.testing.assert_allclose(objective(X, D, Z, 0.3), by_terms, rtol=1e-13)


@pytest.mark.parametrize("lam", [0.05, 0.5, 3.0])
def test_gap_bounds_the_distance_to_the_minimum(problem, lam):
    X, D, Z = problem
    minimum = objective(X, D, slow_codes(X, D, lam), lam)
    for codes in (Z, np.zeros_like(Z), 0.1 * Z):
        gap = duality_gap(X, D, codes, lam)
        assert (gap >= 0).all()
        assert (gap >= objective(X, D, codes, lam) - minimum - 1e-12).all()


@pytest.mark.parametrize("lam", [0.05, 0.5, 3.0])
def test_gap_is_zero_exactly_where_the_conditions_hold(problem, lam):
    X, D, Z = problem
    solved = slow_codes(X, D, lam)
    assert kkt_violation(X, D, solved, lam).max() < 1e-12
    assert duality_gap(X, D, solved, lam).max() < 1e-12
    assert kkt_violation(X, D, Z, lam).min() > 1e-3
    assert duality_gap(X, D, Z, lam).min() > 1e-3


def test_lam_max_is_where_codes_begin(problem):
    X, D, _ = problem
    top = lam_max(X, D)
    assert not slow_codes(X, D, top * (1 + 1e-9)).any()
    assert slow_codes(X, D, top * (1 - 1e-6)).any()
    assert lam_max(X[:0], D) == 0.0


def test_dense_and_sparse_codes_are_evaluated_alike_and_a_stored_zero_is_a_zero(problem):
    X, D, Z = problem
    stored = sp.csr_matrix(np.ones_like(Z))
    stored.data[:] = Z.ravel()
    for value in (objective, duality_gap):
        expected = value(X, D, Z, 0.3)
        np.testing.assert_array_equal(value(X, D, sp.csr_matrix(Z), 0.3), expected)
        np.testing.assert_allclose(value(X, D, stored, 0.3), expected, rtol=1e-13, atol=1e-13)


def test_blocks_do_not_show(problem, monkeypatch):
    X, D, Z = problem
    whole = [value(X, D, Z, 0.3) for value in (objective, duality_gap)]
    monkeypatch.setattr("flyannot.sparse.objective._BLOCK", 4)
    for value, values in zip((objective, duality_gap), whole):
        np.testing.assert_allclose(value(X, D, Z, 0.3), values, rtol=1e-12)


def test_float32_is_evaluated_in_float64(problem):
    X, D, Z = (A.astype(np.float32) for A in problem)
    for value in (objective, duality_gap):
        wide = value(X.astype(np.float64), D.astype(np.float64), Z.astype(np.float64), 0.3)
        np.testing.assert_array_equal(value(X, D, Z, 0.3), wide)


def test_a_dictionary_is_stationary_exactly_at_a_solution(problem):
    X, D, Z = problem
    D = D / np.maximum(1, np.linalg.norm(D, axis=1, keepdims=True))
    solved = slow_bases(Z.T @ Z, Z.T @ X, 1.0)
    assert dictionary_stationarity(X, solved, Z) < 1e-9
    assert dictionary_stationarity(X, D, Z) > 1e-3
    assert dictionary_stationarity(X, solved + 0.1 * (D - solved), Z) > 1e-6


def test_codes_that_are_all_zero_leave_any_dictionary_stationary(problem):
    X, D, Z = problem
    assert dictionary_stationarity(X, D, 0 * Z) == 0.0
