"""SISO over very many atoms, tried on few: the thresholds are lowered."""

import numpy as np
import pytest

from flyannot.sparse.coders import siso, siso_bounded
from flyannot.sparse.coders.siso_bounded import blend_codes, feasible_step
from flyannot.sparse.objective import objective
from tests.sparse.optimality import lam_max, relative_gap
from tests.sparse.test_siso import count_few_as_many, crowded


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    count_few_as_many(monkeypatch)


@pytest.mark.parametrize("fraction", [1.01, 0.5, 0.05, 0.002])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounds_change_the_looks_and_not_the_minimum(fraction, dtype, rng):
    X, D = (a.astype(dtype) for a in crowded(rng, n_samples=20))
    lam, tol = fraction * lam_max(X, D), 1e-10 if dtype == np.float64 else 1e-6
    plain, bounded = (f(X, D, lam, tol=tol) for f in (siso.solve_with_full_passes, siso.solve))
    assert (relative_gap(X, D, bounded.Z, lam) <= 1.5 * tol).all()
    assert np.abs(objective(X, D, bounded.Z, lam) - objective(X, D, plain.Z, lam)).max() <= 1.5 * tol
    assert (bounded.Z.nnz == 0) == (fraction > 1)
    assert (siso.solve(X, D, lam, tol=tol, n_threads=3).Z != bounded.Z).nnz == 0
    for samples, atoms in ((X[:0], D), (0 * X, D), (X, 0 * D)):
        assert siso.encode(samples, atoms, lam).nnz == 0


def test_no_breach_hides_behind_a_bound(rng):
    """Whatever the residual, the look by bounds finds what a look at all atoms finds."""
    X, D = crowded(rng, n_samples=1)
    D *= rng.uniform(0.5, 2, size=(len(D), 1))
    problem = siso.SISOProblem(D, 0.4, 1e-6, 10)
    level = siso_bounded.AtomLevel(problem, np.linalg.norm(D, axis=1).max(), 0.0)
    search = siso_bounded.SampleSearch(X[0], (np.zeros(0, np.int64), np.zeros(0)))
    search.passes = [(r, D @ r) for r in rng.normal(size=(2, len(D.T)))]
    n_spared = 0
    for part in (0.01, 0.03, 0.1, 0.3):
        r = 0.1 * search.passes[0][0] + 0.05 * search.passes[1][0] + part * 0.1 * rng.normal(size=len(D.T))
        found = level._bounded_pass(search, r)
        q = np.abs(D @ r)
        if found is not None:
            n_spared += 1
            breaching = np.flatnonzero(q > 0.4)
            expected = breaching[np.argsort(-q[breaching])][: siso_bounded.POOL]
            assert sorted(found[2]) == sorted(expected)
            assert found[1] == pytest.approx(q.max()) or max(found[1], q.max()) <= 0.4
    assert n_spared


def test_a_feasible_point_stays_feasible_and_moves_as_far_as_it_can(rng):
    for scale in (0.5, 3.0):
        feasible, q = rng.uniform(-1, 1, 500), scale * rng.uniform(-1, 1, 500)
        feasible[7] = q[7]
        before, length = feasible.copy(), feasible_step(feasible, q, 1.0, 1.0)
        sizes = np.empty(500)
        blend_codes(feasible, q, length, 0.25, sizes)
        assert np.allclose(feasible, before + length * (q - before))
        assert np.allclose(sizes, np.abs(feasible + 0.25 * (q - feasible)))
        assert np.abs(feasible).max() <= 1 + 1e-12
        assert length == 1 or np.abs(feasible).max() == pytest.approx(1)


@pytest.mark.parametrize("solve", [siso.solve, siso.solve_with_full_passes])
@pytest.mark.parametrize(
    ("dtype", "tol", "most_passes", "gap"), [(np.float32, 1e-14, 100, 1e-6), (np.float64, 1e-25, 60, 1e-12)]
)
def test_a_gap_below_rounding_ends_the_search(solve, dtype, tol, most_passes, gap, rng):
    X, D = (a.astype(dtype) for a in crowded(rng))
    solved = solve(X, D, 0.01, tol=tol)
    assert solved.n_passes.max() < most_passes
    assert solved.gaps.max() < gap


def test_searches_go_from_few_atoms_to_all_and_each_has_enough_for_two_pools(rng):
    for n_atoms in (1, 100, 1000, 50_000):
        D = rng.normal(size=(n_atoms, 3))
        found = siso_bounded.levels_of_lam(D)
        steps = [step for step, _ in found]
        assert steps == sorted(steps, reverse=True) and steps[-1] == 1
        for step, part in found:
            np.testing.assert_array_equal(part, D[::step])
            assert step == 1 or len(part) >= 2 * siso_bounded.POOL
    assert len(found) > 1
