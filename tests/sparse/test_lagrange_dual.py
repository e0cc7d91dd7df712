"""Laws of the Lagrange dual, compared with the primal, and of its learner."""

import numpy as np
import pytest

from flyannot.sparse.fit import learn_dictionary, random_patches
from flyannot.sparse.learners import lagrange_dual
from flyannot.sparse.learners.lagrange_dual import LagrangeDual, primal_objective, solve_dual
from tests.planted_samples import planted, run, unit_rows
from tests.sparse.optimality import dictionary_stationarity
from tests.sparse.twins import slow_bases

LAM = 0.15


def statistics(rng, n_samples, n_atoms, n_features, n_nonzeros, scale):
    """Return A and B of random sparse codes and random samples of norm 1."""
    Z = rng.normal(size=(n_samples, n_atoms)) * (rng.random((n_samples, n_atoms)) < n_nonzeros / n_atoms)
    Z *= scale
    X = unit_rows(rng.normal(size=(n_samples, n_features)))
    return Z.T @ Z, Z.T @ X


# From all atoms on the sphere, over some, to none; the last has fewer samples than atoms.
CASES = [(200, 20, 12, 4, 0.01), (80, 20, 12, 4, 0.3), (200, 20, 12, 4, 1.0), (30, 40, 12, 5, 0.5)]


@pytest.fixture(params=CASES, ids=str)
def case(request, rng):
    return statistics(rng, *request.param)


def test_the_optimum_meets_the_conditions_of_karush_kuhn_and_tucker_wherever_it_begins(case, rng):
    A, B = case
    for start in (None, np.zeros(len(A)), A.max() * rng.random(len(A)), np.full(len(A), 1e6)):
        D, Lambda = solve_dual(A, B, start=start)
        squares = (D**2).sum(axis=1)
        assert (Lambda >= 0).all()
        assert (squares <= 1 + 1e-12).all()
        np.testing.assert_allclose((A + np.diag(Lambda)) @ D, B, atol=1e-8 * np.abs(B).max())
        assert np.abs(np.minimum(Lambda / A.diagonal(), 1 - squares)).max() <= 1e-8


def test_newton_steps_converge_quadratically(rng):
    A, B = statistics(rng, *CASES[0])
    _, Lambda = solve_dual(A, B)
    # From an error of a tenth, six squarings reach rounding; a step of any fixed shortfall would not.
    D, _ = solve_dual(A, B, start=1.1 * Lambda, max_steps=6)
    np.testing.assert_allclose((D**2).sum(axis=1)[Lambda > 0], 1.0, atol=1e-10)


def test_atoms_without_codes_and_atoms_with_equal_codes_are_harmless(rng):
    Z = 0.1 * rng.normal(size=(50, 10)) * (rng.random((50, 10)) < 0.5)
    Z[:, 2], Z[:, 4], Z[:, 7] = 0.0, Z[:, 3], 1e-6 * Z[:, 7]
    X = rng.normal(size=(50, 6))
    A, B = Z.T @ Z, Z.T @ X
    D, _ = solve_dual(A, B)
    assert (D[2] == 0).all()
    assert (np.linalg.norm(D, axis=1) <= 1 + 1e-12).all()
    expected = primal_objective(A, B, slow_bases(A, B, 1.0))
    np.testing.assert_allclose(primal_objective(A, B, D), expected, rtol=1e-6)


def test_a_search_cut_short_still_gives_atoms_in_the_ball(case):
    D, _ = solve_dual(*case, max_steps=1)
    assert ((D**2).sum(axis=1) <= 1 + 1e-12).all()


# The learner.


@pytest.fixture
def X(rng):
    """Return 1,500 samples made of 3 of 12 atoms each."""
    return planted(1500, 12, 10, 3, rng)[0] + 0.01 * rng.normal(size=(1500, 10))


def test_the_objective_never_rises_and_the_dictionary_is_stationary_for_its_codes(X, rng):
    learner = LagrangeDual(random_patches(X, 20, rng), len(X), lam=LAM)
    values = []
    for record in learn_dictionary(X, learner, n_epochs=8, rng=rng):
        values += [record.objective_stored, record.objective]
        assert dictionary_stationarity(X, learner.D, learner.codes()) < 1e-8
    assert (np.diff(values) <= 1e-6 * values[0]).all()
    assert values[-1] < 0.95 * values[0]


def test_an_unused_atom_becomes_one_of_the_samples_that_are_not_zero(X, rng):
    D = random_patches(X, 20, rng)
    D[[4, 9]] = 0.0
    X = X[:200]
    samples = unit_rows(X[150:])
    X[rng.permutation(150)] = 0.0
    for seed in range(4):  # that the first samples drawn are good ones in all is unlikely
        learner = run(LagrangeDual(D, len(X), lam=LAM), X, 1, seed=seed)
        for atom in learner.D[[4, 9]]:
            assert np.abs(samples - atom).max(axis=1).min() < 1e-12
        assert np.abs(learner.D[4] - learner.D[9]).max() > 1e-3
    run(learner, X, 1)
    assert (learner.codes()[:, [4, 9]].getnnz(axis=0) > 0).all()


def dual_value(A, B, Lambda):
    """Return minus twice the dual, which the search lowers."""
    return np.vdot(B, np.linalg.solve(A + np.diag(Lambda), B)) + Lambda.sum()


def test_no_step_of_the_search_raises_the_value_wherever_it_begins(rng):
    """Begin far away, where a whole Newton step overshoots."""
    A, B = statistics(rng, *CASES[0])
    for begin in (1e-3 * A.diagonal(), 30 * A.diagonal(), A.diagonal() * 10.0 ** rng.uniform(-4, 2, len(A))):
        values = [dual_value(A, B, begin)]
        for n in range(1, 8):
            values.append(dual_value(A, B, solve_dual(A, B, start=begin, max_steps=n)[1]))
        assert (np.diff(values) <= 1e-12 * np.abs(values[0])).all()
        assert values[-1] < values[0]


def test_a_dictionary_that_is_worse_for_the_codes_is_not_taken(X, rng, monkeypatch):
    learner = run(LagrangeDual(random_patches(X, 20, rng), len(X), lam=LAM), X, 2)
    before = learner.D.copy()
    monkeypatch.setattr(lagrange_dual, "solve_dual", lambda A, B, **_: (-B, np.zeros(len(A))))
    run(learner, X, 1)
    used = learner.codes().getnnz(axis=0) > 0
    assert used.any()
    np.testing.assert_array_equal(learner.D[used], before[used])


@pytest.mark.parametrize("off", [-1e-6, 0.0, 1e-6])
def test_a_step_that_goes_around_the_minimum_is_shortened(off):
    """Use one atom, A = a, |B| = c = 1 and u = a + Lambda: the value is u + 1 / u, the same for u and 1 / u.

    From u = sqrt(2) a whole Newton step, to 3/2 u - u^3 / 2, ends at 1 / u.  It gains nothing, or a little
    less than nothing.
    """
    A, B, u = np.array([[0.1]]), np.array([[1.0]]), np.sqrt(2) + off
    _, Lambda = solve_dual(A, B, start=np.array([u - 0.1]), max_steps=1)
    assert Lambda[0] + 0.1 == pytest.approx(u + (0.5 * u - 0.5 * u**3) / 2, abs=1e-9)  # half the step
    assert dual_value(A, B, Lambda) < dual_value(A, B, np.array([u - 0.1])) - 0.1
