"""Laws of doubly stochastic successive convex approximation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from flyannot.sparse.learners import dssc
from tests.planted_samples import planted, run, unit_rows
from tests.sparse.twin_dssc import TwinDSSC

LAM = 0.15


class Watched(dssc.DSSC):
    """DSSC that records what its processors were given."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.seen = []

    def _iteration_rates(self):
        self.seen.append((self.D.astype(np.float64), super()._iteration_rates()))
        return self.seen[-1][1]

    def _iterate(self, batch, *rest):
        self.batches = [*getattr(self, "batches", []), batch]
        super()._iterate(batch, *rest)


@pytest.mark.parametrize("surrogate", dssc.SURROGATES)
@pytest.mark.parametrize(
    "options",
    [
        {"n_blocks": 3},
        {"n_blocks": 5, "n_processors": 2},
        {"n_blocks": 2, "gamma": 0.7, "rho": 0.6},
        {"n_blocks": 1},
        {"n_blocks": 20, "n_processors": 6},  # more than atoms: some blocks have none
    ],
    ids=str,
)
def test_float64_equals_the_slow_twin(surrogate, options, rng):
    X, _ = planted(60, 20, 12, 3, rng)
    D = unit_rows(X[:17])
    D[5] = 0.0  # a dead atom
    X[::7] = 0.0
    D[6] *= 0.5  # inside the ball
    options = {"batch_size": 7, "delay": 3.0, "surrogate": surrogate, **options}
    fast = run(Watched(D, len(X), lam=LAM, **options), 3 * X, 3)
    chosen = dssc.DSSCOptions(**options)
    mean_square = 9 * (X**2).sum() / len(X)  # of the samples' norms
    twin = TwinDSSC(D, len(X), LAM, surrogate=surrogate, tau=mean_square * dssc.TAU)
    edges = np.arange(chosen.n_blocks + 1) * len(D) // chosen.n_blocks
    for t, (batch, (_, rates)) in enumerate(zip(fast.batches, fast.seen)):
        mini_batches = np.split(batch.rows, batch.first[1:-1])
        blocks = [edges[[b, b + 1]] for b in batch.blocks]
        rho, gamma = dssc.gradient_weight(t, chosen), dssc.step_fraction(t, chosen)
        twin.iterate(3 * X, mini_batches, blocks, rho, gamma, rates.curvature)
    assert fast.n_iterations == len(fast.batches) >= 6
    assert_allclose(fast.D, twin.D, atol=1e-7)
    assert_allclose(fast.codes().toarray(), twin.Z, atol=1e-6)
    assert not fast.D[5].any() and not fast.codes()[:, 5].nnz and not fast.codes()[::7].nnz
    assert_allclose(fast.state()["d"], twin.d, atol=1e-6)


@pytest.mark.parametrize("delay", [1.0, 100.0])
def test_schedules_meet_the_conditions_of_the_theorems(delay):
    """Use Cauchy's condensation: a falling series f converges exactly if the sum of 2^j f(2^j) does."""
    options = dssc.DSSCOptions(delay=delay)
    j = np.arange(20, 60)
    t = 2.0**j
    rho, gamma = dssc.gradient_weight(t, options), dssc.step_fraction(t, options)
    for diverging in (rho, gamma):
        assert (np.diff(t * diverging) > 0).all()
        assert diverging[-1] < 1e-5
    for converging in (rho**2, gamma**2, gamma**2 / rho):
        ratio = (t * converging)[1:] / (t * converging)[:-1]
        assert (ratio < 2 ** (-1.5 * dssc.EPSILON)).all()
    assert_allclose(np.log2(rho[-2] / rho[-1]), 0.5 + dssc.EPSILON, rtol=1e-4)
    assert_allclose(np.log2(gamma[-2] / gamma[-1]), 0.75 + 1.5 * dssc.EPSILON, rtol=1e-4)
    first = np.arange(1000)
    for schedule in (dssc.gradient_weight(first, options), dssc.step_fraction(first, options)):
        assert schedule[0] == 1 and (np.diff(schedule) < 0).all()


def test_the_curvature_of_codes_bounds_the_largest_eigenvalue_as_the_dictionary_moves(rng):
    X, _ = planted(600, 60, 32, 4, rng)
    X = unit_rows(X + X[0])  # atoms that start anywhere must all turn to one direction
    learner = Watched(unit_rows(rng.normal(size=(50, 32))), len(X), lam=LAM, surrogate="proximal")
    run(learner, X, 5)
    assert np.linalg.norm(learner.D, 2) ** 2 > 2 * np.linalg.norm(learner.seen[0][0], 2) ** 2
    for D, rates in learner.seen:
        assert rates.curvature >= np.linalg.norm(D, 2) ** 2


def test_processors_of_an_iteration_share_no_block_and_no_sample(rng):
    X, _ = planted(101, 30, 16, 3, rng)
    learner = run(Watched(X[:20], len(X), lam=LAM, n_blocks=8, n_processors=3, batch_size=4), X, 2)
    drawn = [batch.blocks for batch in learner.batches]
    assert all(len(set(blocks)) == 3 for blocks in drawn)
    assert set(np.concatenate(drawn)) == set(range(8))
    sizes = np.concatenate([np.diff(batch.first) for batch in learner.batches])
    assert sizes.max() <= 4 and sizes.sum() == 2 * len(X)
    visited = np.concatenate([batch.rows for batch in learner.batches])
    assert_array_equal(np.bincount(visited), 2)


def test_what_is_counted_is_what_was_worked_on(rng):
    X, _ = planted(48, 30, 16, 3, rng)
    # 20 atoms in 4 blocks of 5, drawn two at a time; 6 iterations of 2 mini-batches of 4 samples.
    for surrogate, entries in (("exact", 20), ("proximal", 5)):
        options = {"n_blocks": 4, "n_processors": 2, "batch_size": 4, "surrogate": surrogate}
        learner = run(dssc.DSSC(X[:20], 48, lam=LAM, **options), X, 1)
        assert learner.n_iterations == 6
        assert learner.n_features_processed == 6 * 2 * (5 * 16 + 4 * entries)
