"""The reference implementations solve what ours solve."""

from functools import partial

import numpy as np
import pytest

from benchmarks.lee import bases
from benchmarks.references import lasso_solvers
from benchmarks.references.other_programs import celer_codes, lasso_codes, spams_codes
from benchmarks.references.plain_learners import OfSeenFeatures, PlainSCC
from benchmarks.scc.table_1 import CodesOnly
from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import learn_dictionary as epochs_of
from flyannot.sparse.fit import random_patches
from flyannot.sparse.learners.lagrange_dual import primal_objective, solve_dual
from flyannot.sparse.learners.scc import SCC
from flyannot.sparse.objective import duality_gap, objective
from tests.planted_samples import planted, unit_rows
from tests.sparse.optimality import lam_max
from tests.sparse.test_modl import with_missing
from tests.sparse.test_ol import visit
from tests.sparse.twin_online import project_l2, project_l2_within, slow_online


def relative_gaps(X, D, Z, lam):
    return duality_gap(X, D, Z, lam) / (0.5 * (X**2).sum(axis=1))


@pytest.fixture
def problem(rng):
    """Return samples, atoms of norm 1, and lam."""
    X, D = rng.normal(size=(20, 16)), rng.normal(size=(40, 16))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    return X, D, 0.1 * lam_max(X, D)


SOLVERS = {
    "compiled LARS": (spams_codes, 1e-9),
    "a generic solver": (lasso_solvers.bounded_quasi_newton, 1e-5),
    "a QP solver": (lasso_solvers.quadratic_program, 1e-9),
    "the lasso that SISO is measured against": (partial(lasso_codes, tol=1e-5), 4e-5),
    "celer": (partial(celer_codes, tol=1e-5), 2e-4),
}


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_comes_near_the_codes(solver, problem):
    if solver == "compiled LARS":
        pytest.importorskip("spams")
    (X, D, lam), (solve, within) = problem, SOLVERS[solver]
    assert relative_gaps(X[:4], D, solve(X[:4], D, lam), lam).max() <= within


@pytest.mark.parametrize("way", ["dual", "gradient", "accelerated gradient"])
def test_every_way_to_the_bases_ends_at_the_same_value(way, rng):
    Z, X, D = rng.normal(size=(60, 8)), rng.normal(size=(60, 12)), np.eye(8, 12)
    A, B = Z.T @ Z, Z.T @ X
    least = primal_objective(A, B, solve_dual(A, B)[0])
    found, seconds = bases.reach(least + 1e-8 * abs(least), A, B, D, way)
    assert primal_objective(A, B, found) <= least + 1e-8 * abs(least) and seconds > 0
    assert (np.linalg.norm(found, axis=1) <= 1 + 1e-12).all()


@pytest.mark.parametrize("warm", [False, True])
def test_grafting_ends_where_no_slope_is_far_above_lam(problem, warm):
    X, D, lam = problem
    start = CODERS["cd"](X, D, 3 * lam) if warm else None
    Z = lasso_solvers.grafting(X, D, lam, start=start).toarray()
    slopes, within = (X - Z @ D) @ D.T, 1.01 * lasso_solvers.NEAR * lam
    assert np.abs(slopes).max() <= lam + within
    assert np.abs(slopes - lam * np.sign(Z))[Z != 0].max() <= within
    assert objective(X, D, Z, lam) == pytest.approx(
        objective(X, D, CODERS["cd"](X, D, lam, tol=1e-9), lam), rel=1e-4
    )


@pytest.mark.parametrize("variant", ["released", "paper"])
@pytest.mark.parametrize(("n", "within"), [(12, 1e-4), (300, 1e-2)])
def test_the_plain_loop_is_scc(variant, n, within, rng):
    """To rounding over few visits; over many, differences in the last bit grow, and objectives agree."""
    X = rng.normal(size=(n, 24)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    D = rng.normal(size=(40, 24)).astype(np.float32)
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    D[3] = 0.0  # a dead atom stays dead
    plain, scc = (make(D, n, lam=0.2, variant=variant) for make in (PlainSCC, SCC))
    runs = [epochs_of(X, learner, n_epochs=3, rng=np.random.default_rng(0)) for learner in (plain, scc)]
    for a, b in zip(*runs):
        assert a.objective == pytest.approx(b.objective, rel=within)
        assert a.objective_stored == pytest.approx(b.objective_stored, rel=within)
        assert a.mean_nonzeros == pytest.approx(b.mean_nonzeros, rel=10 * within)
    if n == 12:
        assert np.allclose(plain.D, scc.D, atol=within)


def test_an_scc_at_rest_keeps_its_dictionary_and_finds_sccs_codes(rng):
    X = rng.normal(size=(80, 16)).astype(np.float32)
    D = random_patches(X, 12, rng)
    at_rest, moving = (kind(D, len(X), lam=0.3, variant="paper") for kind in (CodesOnly, SCC))
    for learner in (at_rest, moving):
        learner.begin_epoch(np.random.default_rng(0))
        learner.step(X, np.arange(len(X)))
    assert (at_rest.D == D).all() and (moving.D != D).any()
    first = [learner.codes()[0].toarray() for learner in (at_rest, moving)]
    assert (first[0] == first[1]).all()  # nothing had moved yet


@pytest.mark.parametrize("projection, project", [("approximate", project_l2_within), ("exact", project_l2)])
def test_a_mini_batch_changes_only_features_that_it_has_seen(projection, project, rng):
    X, _ = planted(24, 8, 40, 3, rng)
    shown, known = with_missing(X, rng, 0.8)
    D, order = unit_rows(rng.normal(size=(8, 40))), rng.permutation(24)
    options = {"lam": 0.1, "batch_size": 4, "beta": 0.9}
    learner = OfSeenFeatures(D, 24, code_penalty="l2", projection=projection, **options)
    visit(learner, shown, order)
    assert any(not known[order[i : i + 4]].any(axis=0).all() for i in range(0, 24, 4))
    rules = {"ridge": True, "of_seen": True, "project": project} | options
    twin = slow_online(D, shown, known, np.random.default_rng(0), order=order, **rules)
    np.testing.assert_allclose(learner.D, twin[0], atol=1e-4)
    np.testing.assert_allclose(learner._A, twin[1], atol=1e-5)
