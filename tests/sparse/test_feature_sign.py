"""Laws of feature-sign search: its theorem, and its slow twin."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from flyannot.sparse.coders import CODERS, feature_sign
from flyannot.sparse.coders.blocks import LassoProblem
from flyannot.sparse.coders.feature_sign import encode, make_scratch, search_signs
from flyannot.sparse.kernels import read_start_code
from flyannot.sparse.simd.product import gram_matrix
from tests.planted_samples import unit_rows
from tests.sparse.optimality import lam_max, relative_gap
from tests.sparse.twins import slow_feature_sign_path


@pytest.fixture
def X(rng):
    return rng.normal(size=(20, 16))


@pytest.fixture
def D(rng):
    return unit_rows(rng.normal(size=(40, 16)))


def feature_sign_path(x, D, lam, *, start=None, tol=1e-12, max_steps=10_000):
    """Return the code of one sample before the search and after every step, (n_steps + 1, n_atoms).

    The path ends when the gap is closed, when the search is stuck, or after `max_steps`.
    """
    x, D = np.asarray(x, np.float64), np.ascontiguousarray(D, np.float64)
    scratch = make_scratch(len(D), len(D))
    path = [np.zeros(len(D)) if start is None else np.asarray(start, float)]
    gram, q0 = gram_matrix(D), D @ x
    for _ in range(max_steps):
        # A search of one step from the last code: it stops before the step where there is none to take.
        z = path[-1]
        codes = np.array([0, np.count_nonzero(z)]), np.flatnonzero(z), z[z != 0]
        n = read_start_code(codes, 0, gram, scratch.atoms, scratch.z)
        n, largest = search_signs(q0, x @ x, n, LassoProblem(gram, float(lam), 0.5 * tol, 1), scratch)
        code = np.zeros(len(D))
        code[scratch.atoms[:n]] = scratch.z[:n]
        if np.isfinite(largest) or (code == z).all():
            break
        path.append(code)
    return np.array(path)


@pytest.mark.parametrize("fraction", [0.5, 0.2, 0.1])
def test_the_search_takes_the_steps_of_the_slow_twin(X, D, fraction):
    lam = fraction * lam_max(X, D)
    for x in X:
        fast, slow = feature_sign_path(x, D, lam), slow_feature_sign_path(x, D, lam, np.zeros(len(D)))
        assert fast.shape == slow.shape
        np.testing.assert_allclose(fast, slow, atol=1e-9)


def test_a_start_at_the_solution_takes_no_step_and_one_with_the_right_signs_a_single_one(X, D):
    lam = 0.1 * lam_max(X, D)
    for x in X:
        end = feature_sign_path(x, D, lam)[-1]
        assert len(feature_sign_path(x, D, lam, start=end)) == 1
        path = feature_sign_path(x, D, lam, start=1.1 * end)
        assert len(path) == 2
        np.testing.assert_allclose(path[-1], end, atol=1e-12)


def test_codes_that_reach_zero_together_leave_together(monkeypatch):
    # Powers of two: nothing is rounded before the first step.
    D = np.array([[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.5], [0.0, 1.0, 0.0, 0.5], [0.0, 0.0, 1.0, 0.5]])
    x, start = np.array([0.5, 0.0, 0.0, 0.5]) @ D, np.array([0.5, 0.25, 0.25, 0.75])
    path = feature_sign_path(x, D, 0.125, start=start)
    assert (np.diff((path != 0).sum(axis=1)) == -2).any()
    np.testing.assert_allclose(path, slow_feature_sign_path(x, D, 0.125, start), atol=1e-12)
    # The factor of the atoms that stay is right, or more steps would be needed.
    monkeypatch.setattr(feature_sign, "encode_by_cd", None)
    encode(x[None], D, 0.125, tol=1e-12, start=sp.csr_matrix(start), max_sweeps=len(path))


def test_no_sample_needs_coordinate_descent_where_atoms_are_in_general_position(X, D, monkeypatch):
    monkeypatch.setattr(feature_sign, "encode_by_cd", None)
    for fraction in (0.5, 0.02, 0.001):
        lam = fraction * lam_max(X, D)
        assert relative_gap(X, D, encode(X, D, lam, tol=1e-10), lam).max() <= 1e-10


def test_searches_that_run_out_of_steps_are_finished_by_coordinate_descent(X, D, monkeypatch):
    lam = 0.1 * lam_max(X, D)
    alone = encode(X, D, lam, tol=1e-10)
    n_steps = sorted(len(feature_sign_path(x, D, lam)) - 1 for x in X)
    finished = []

    def spy(samples, *args, **options):
        finished.append(len(samples.X))
        return CODERS["cd"].solve(samples, *args, **options)

    monkeypatch.setattr(feature_sign, "encode_by_cd", SimpleNamespace(solve=spy))
    for max_sweeps in (n_steps[0] - 1, n_steps[11]):
        Z = encode(X, D, lam, tol=1e-10, max_sweeps=max_sweeps)
        assert relative_gap(X, D, Z, lam).max() <= 1e-10
        np.testing.assert_allclose(Z.toarray(), alone.toarray(), atol=1e-8)  # samples keep their order
    assert finished[0] == len(X) > finished[1] > 0
