import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from flyannot.sparse.coders import cd, siso
from flyannot.sparse.coders.blocks import validate_samples
from flyannot.sparse.coders.cd import SmallLassoSolver, make_scratch
from flyannot.sparse.objective import duality_gap, objective
from tests.planted_samples import unit_rows
from tests.sparse.optimality import lam_max, relative_gap


def crowded(rng, n_atoms=3000, n_features=24, n_samples=7):
    """Return atoms of norm 1 around a few directions, with a zero atom and twins, and samples like them."""
    centres = rng.normal(size=(40, n_features)) ** 2
    D = centres[rng.integers(40, size=n_atoms)] + 0.3 * rng.normal(size=(n_atoms, n_features))
    D = unit_rows(D)
    D[5] = 0
    D[7] = D[8]
    X = centres[rng.integers(40, size=n_samples)] + 0.3 * rng.normal(size=(n_samples, n_features))
    return unit_rows(X), D


@pytest.mark.parametrize(
    ("fraction", "top_k"), [(1.01, 100), (0.5, 100), (0.05, 1), (0.05, 5), (0.05, 100), (0.002, 100)]
)
@pytest.mark.parametrize("n_atoms", [300, 3000])
@pytest.mark.parametrize("few_atoms", [siso.FEW_ATOMS, 0])
def test_siso_reaches_the_minimum_over_all_atoms(fraction, top_k, n_atoms, few_atoms, rng, monkeypatch):
    """Include too many atoms for a Gram matrix of all, and few atoms that join in a round."""
    monkeypatch.setattr(siso, "FEW_ATOMS", few_atoms)
    monkeypatch.setattr(siso, "TOP_K", top_k)
    X, D = crowded(rng, n_atoms)
    lam = fraction * lam_max(X, D)
    Z, gaps = solve(X, D, lam, tol=1e-10)
    assert (relative_gap(X, D, Z, lam) <= gaps).all() and (gaps <= 1.01e-10).all()
    assert (Z.nnz == 0) == (fraction > 1)


def solve(X, D, lam, *, max_sweeps=1000, start=None, **rules):
    """Return the `Codes` of SISO itself, without verification."""
    rules = {"max_sweeps": max_sweeps, "start": start, "gram": None, "n_threads": 1} | rules
    return siso.encode.solve(validate_samples(X, D, lam), lam, **rules)


def test_the_objective_never_rises_from_the_codes_to_begin_from_and_gaps_are_as_stated(rng):
    X, D = crowded(rng, n_samples=40)
    start = sp.random(len(X), len(D), density=0.02, random_state=np.random.default_rng(1), format="csr")
    before = objective(X, D, start, 0.05)
    for max_sweeps in (1, 2, 3, 50):
        Z, gaps = solve(X, D, 0.05, tol=1e-10, start=start, max_sweeps=max_sweeps)
        after = objective(X, D, Z, 0.05)
        assert (after <= before + 1e-12).all()
        assert np.allclose(gaps, relative_gap(X, D, Z, 0.05), rtol=1e-6, atol=1e-12)
        before = after
    assert np.allclose(after, objective(X, D, siso.encode(X, D, 0.05, tol=1e-10), 0.05), atol=1e-9)


@pytest.mark.parametrize(("dtype", "tol", "gap"), [(np.float32, 1e-14, 1e-6), (np.float64, 1e-25, 1e-12)])
def test_a_gap_below_rounding_ends_the_search(dtype, tol, gap, rng, monkeypatch):
    passes, real = [], siso.largest_correlations
    monkeypatch.setattr(siso, "largest_correlations", lambda *a: passes.append(1) or real(*a))
    X, D = (a.astype(dtype) for a in crowded(rng))
    assert solve(X, D, 0.01, tol=tol).gaps.max() < 100 * gap
    assert len(passes) < 100


@pytest.mark.parametrize(("n_atoms", "n_features"), [(3, 12), (30, 12), (90, 12), (90, 60), (400, 300)])
def test_the_small_solver_reaches_the_minimum_with_dependent_atoms(n_atoms, n_features, rng):
    """Begin from codes of many atoms, too.

    Their inverse is computed at once, unless one depends on others.
    """
    x, D = rng.normal(size=n_features), rng.normal(size=(n_atoms, n_features))
    small = SmallLassoSolver(n_features)
    dependent = D.copy()
    dependent[1], dependent[2] = -2 * D[0], 0
    for lam, atoms in itertools.product((1.0, 0.1, 1e-4), (D, dependent)):
        begin = np.where(rng.random(n_atoms) < 0.5, rng.normal(size=n_atoms), 0.0)
        for z in (np.zeros(n_atoms), begin):
            solved = small.solve(atoms @ atoms.T, atoms @ x, x @ x, z, lam=lam, gap=0.0)
            assert duality_gap(x[None], atoms, solved[None], lam)[0] < 1e-11 * (x @ x)
            assert np.count_nonzero(solved) <= n_features


def test_an_inverse_is_made_at_once_only_of_atoms_that_do_not_depend_on_one_another(rng):
    D, support = rng.normal(size=(60, 60)), make_scratch(60, 60, np.dtype(np.float64)).support
    atoms = np.arange(5, 45)
    assert cd.store_inverse(D @ D.T, atoms, support) == 40
    made = np.linalg.inv(D[atoms] @ D[atoms].T)
    np.testing.assert_allclose(support.inverse[:40, :40], made, rtol=1e-6, atol=1e-9 * np.abs(made).max())
    assert not support.inverse[40:].any() and not support.inverse[:, 40:].any()
    D[30] = D[20] - D[10]
    fresh = make_scratch(60, 60, np.dtype(np.float64)).support
    assert cd.store_inverse(D @ D.T, atoms, fresh) == 0 and not fresh.inverse.any()


@pytest.mark.parametrize(
    ("r", "lam", "n_best", "expected"),
    [
        # At |d r| = lam the code of an atom is zero at the minimum.
        ([0.5, -0.5, 0.25, 0.75], 0.5, 4, [3]),
        ([0.5, -0.5, 0.25, 0.75], 0.25, 4, [3, 0, 1]),
        ([0.5, -0.5, 0.25, 0.75], 0.75, 4, []),
        # An atom that is only as good puts none out.
        ([0.5] * 6, 0.25, 1, [0]),
        ([0.5] * 6, 0.25, 3, [0, 1, 2]),
        ([0.5] * 6, 0.25, 9, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_the_best_atoms_above_lam_join(r, lam, n_best, expected):
    D, r = np.eye(len(r)), np.array(r)
    largest, (best,) = siso.largest_correlations(D, r[None], lam, n_best, [np.zeros(0, np.int64)])
    assert best.tolist() == expected
    assert largest[0] == np.abs(r).max()


@pytest.mark.parametrize("tol", [0.1, 0.01])
def test_with_no_atom_to_join_a_small_problem_is_solved_to_what_is_asked_for(tol, rng):
    """Start far from the minimum: no later round could close a gap that is left."""
    X, D = crowded(rng, n_atoms=60)
    problem = siso.SISOProblem(D, 0.02, tol, 1000)
    for x in X:
        start = np.arange(60), 0.05 * rng.normal(size=60)
        atoms, values = siso.solve_active_set(x, start, start[0][:0], 1.0, problem, SmallLassoSolver(len(x)))
        z = np.zeros((1, 60))
        z[0, atoms] = values
        assert duality_gap(x[None], D, z, 0.02)[0] <= siso.allowed_gap(x, problem)
