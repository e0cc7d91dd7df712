"""The objective, the duality gap and the optimality conditions: by theory, by hand and by slow twins."""

import numpy as np
import pytest
import scipy.sparse as sp

from flyannot.sparse.objective import duality_gap, objective
from tests.sparse.optimality import kkt_violation, lam_max
from tests.sparse.twins import slow_codes, slow_lasso, slow_objective


@pytest.fixture
def problem(rng):
    """Return samples, atoms with a zero one, and codes that are far from the minimum."""
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
def test_gap_bounds_the_distance_to_the_minimum_and_is_zero_exactly_where_the_conditions_hold(problem, lam):
    X, D, Z = problem
    solved = slow_codes(X, D, lam)
    minimum = objective(X, D, solved, lam)
    for codes in (Z, np.zeros_like(Z), 0.1 * Z):
        gap = duality_gap(X, D, codes, lam)
        assert (gap >= 0).all()
        assert (gap >= objective(X, D, codes, lam) - minimum - 1e-12).all()
    for violation in (kkt_violation, duality_gap):
        assert violation(X, D, solved, lam).max() < 1e-12
        assert violation(X, D, Z, lam).min() > 1e-3


@pytest.mark.parametrize("lam", [1e-9, 0.05, 3.0])
def test_gap_of_codes_that_must_not_be_negative_bounds_the_distance_and_is_zero_at_the_minimum(problem, lam):
    X, D, Z = (np.abs(A) for A in problem)
    solved = np.array([slow_lasso(x, D, lam, positive=True) for x in X])
    minimum = objective(X, D, solved, lam)
    assert np.abs(duality_gap(X, D, solved, lam, positive=True)).max() < 1e-9
    for codes in (Z, 0 * Z, 0.1 * Z, solved + 0.01):
        gap = duality_gap(X, D, codes, lam, positive=True)
        assert (gap >= objective(X, D, codes, lam) - minimum - 1e-9).all()


def test_dense_and_sparse_codes_are_evaluated_alike_and_a_stored_zero_is_a_zero(problem):
    X, D, Z = problem
    stored = sp.csr_matrix(np.ones_like(Z))
    stored.data[:] = Z.ravel()
    for value in (objective, duality_gap):
        expected = value(X, D, Z, 0.3)
        np.testing.assert_array_equal(value(X, D, sp.csr_matrix(Z), 0.3), expected)
        np.testing.assert_allclose(value(X, D, stored, 0.3), expected, rtol=1e-13, atol=1e-13)


def test_blocks_and_float32_do_not_show(problem, monkeypatch):
    narrow = [A.astype(np.float32) for A in problem]
    wide = [A.astype(np.float64) for A in narrow]
    for value in (objective, duality_gap):
        whole = value(*wide, 0.3)
        np.testing.assert_array_equal(value(*narrow, 0.3), whole)
        with monkeypatch.context() as patched:
            patched.setattr("flyannot.sparse.objective._BLOCK", 4)
            np.testing.assert_allclose(value(*wide, 0.3), whole, rtol=1e-12)
