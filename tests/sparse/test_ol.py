"""Laws of online dictionary learning."""

import numpy as np
import pytest

from flyannot.sparse.learners.modl import MODL
from flyannot.sparse.learners.ol import OnlineDictionaryLearner as OL
from flyannot.sparse.objective import duality_gap
from flyannot.sparse.stored_codes import EITHER_SIGN, PositiveConstraints
from tests.planted_samples import planted, unit_rows
from tests.sparse.twin_online import slow_online

LAM = 0.1


def visit(learner, X, order, seed=0):
    """Run one epoch over the samples `order`."""
    learner.begin_epoch(np.random.default_rng(seed))
    learner.step(X[order], order)
    learner.end_epoch()
    return learner


@pytest.mark.parametrize("recency, positive", [(0, EITHER_SIGN), (4, PositiveConstraints(True, True))])
@pytest.mark.parametrize("batch_size", [1, 7, 40])
def test_ol_equals_its_slow_twin(batch_size, recency, positive, rng):
    X, _ = planted(40, 20, 12, 3, rng)
    D = unit_rows(rng.normal(size=(20, 12)))  # two blocks of atoms
    X, D = (np.abs(X), np.abs(D)) if positive.atoms else (X, D)
    D[3] = 0.0
    order = rng.permutation(40)
    weights = {"lam": LAM, "batch_size": batch_size, "beta": 0.8, "recency": recency, "positive": positive}
    learner = visit(OL(D, 40, tol=1e-14, **weights), X, order)
    slow = slow_online(D, X, np.ones(X.shape, bool), np.random.default_rng(0), order=order, **weights)
    fast = learner.D, learner._A, learner._history.T, learner.codes().toarray()
    for values, slow_values, atol in zip(fast, slow, (1e-5, 1e-6, 1e-6, 1e-6)):
        np.testing.assert_allclose(values, slow_values, atol=atol)
    assert (learner.D.min() >= 0, learner.codes().min() >= 0) == (positive.atoms, positive.code)


def test_stored_codes_are_those_of_the_last_visit(rng):
    X, _ = planted(30, 6, 12, 3, rng)
    learner = visit(OL(unit_rows(rng.normal(size=(6, 12))), 30, lam=LAM), X, np.arange(30))
    before, D = learner.codes(), learner.D
    visit(learner, X, np.arange(10, 20))  # in one mini-batch: all are solved over D
    after = learner.codes()
    assert duality_gap(X[10:20], D, after[10:20], LAM).max() < 1e-4 * (X**2).sum(axis=1).max()
    untouched = np.r_[0:10, 20:30]
    assert (after[untouched] != before[untouched]).nnz == 0


def test_ol_learns_from_the_observed_features_as_modl_without_masks(rng):
    X, _ = planted(40, 4, 8, 3, rng)
    X[::3, 2] = np.nan
    D, same = unit_rows(rng.normal(size=(4, 8))), {"lam": LAM, "batch_size": 10, "recency": 0.0}
    learners = OL(D, 40, **same), MODL(D, 40, **same, projection="exact")
    one, other = (visit(learner, X, np.arange(40)) for learner in learners)
    assert np.isfinite(one.D).all() and np.array_equal(one.D, other.D)
