"""Tests of coupled ridge regression."""

import numpy as np
import pytest

from flyannot.terms import coupled_ridge
from flyannot.terms.coupled_ridge import (
    ALPHAS,
    CoupledRidge,
    _held_out_values,
    _mixed_held_out,
    _mixing,
    _spread,
)
from flyannot.terms.feature_rows import inner_products
from flyannot.terms.scorer import FitOptions


@pytest.fixture
def learnable(rng):
    """Return rows whose terms follow from two hidden numbers, seen through many noisy features."""
    hidden = rng.normal(size=(90, 2))
    X = hidden @ rng.normal(size=(2, 150)) + 2 * rng.normal(size=(90, 150)) + 5
    Y = hidden @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(90, 6)) > 0.4
    return X, Y, np.arange(90)


def fitted(X, Y, genes, rng):
    """Return the model and its out-of-fold values."""
    return CoupledRidge.fit(X, Y, genes, rng=rng, options=FitOptions(), observed=np.ones(Y.shape, bool))


def plain_ridge(X, Y, alpha):
    """Return weights and intercept by the definition, in the space of the features."""
    centred, level = X - X.mean(axis=0), Y.mean(axis=0)
    scale = (centred**2).sum() / len(X)
    gram = centred.T @ centred + alpha * scale * np.eye(X.shape[1])
    W = np.linalg.solve(gram, centred.T @ (Y - level))
    return W, -X.mean(axis=0) @ W


def test_held_out_values_are_those_of_ridge_regressions_without_the_fold(learnable):
    (X, Y, _), folds = learnable, np.arange(90) % 3
    products = inner_products(X, mean=X.mean(axis=0))
    found = _held_out_values(products, Y.astype(float), folds, ALPHAS, np.ones_like(Y, bool))
    for fold in range(3):
        out = folds == fold
        for alpha, values in zip(ALPHAS, found):
            W, _ = plain_ridge(X[~out], Y[~out].astype(float), alpha)
            expected = X[out] @ W
            np.testing.assert_allclose(values[out], expected - expected.mean(axis=0), atol=1e-10)


def test_the_model_is_a_mixture_of_ridge_regressions(learnable, rng):
    model, _ = fitted(*learnable, rng)
    X, Y, _ = learnable
    W, _ = plain_ridge(X, Y.astype(float), model.alpha[0])
    values, ridge = model.decision_values(X), (X - X.mean(axis=0)) @ W
    factors = np.linalg.lstsq(ridge @ np.diag(1 / ridge.std(axis=0)), values, rcond=None)[0]
    np.testing.assert_allclose(ridge / ridge.std(axis=0) @ factors, values, atol=1e-8)
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-8)


def test_the_first_pair_stays_unless_another_is_better_by_the_margin(learnable, monkeypatch, rng):
    for margin, stays in ((1.0, True), (0.0, False)):
        monkeypatch.setattr(coupled_ridge, "MARGIN", margin)
        model, _ = fitted(*learnable, rng)
        assert ((model.alpha[0], model.share[0]) == (ALPHAS[0], coupled_ridge.SHARES[0])) == stays


def test_a_group_is_mixed_by_what_the_other_folds_say(learnable, rng):
    """Change the terms of one fold, or the values of one of its groups: the others of the fold stay."""
    (_, Y, _), folds = learnable, np.arange(90) % 3
    H = Y + rng.normal(size=Y.shape)
    every = np.ones_like(Y, bool)
    before = _mixed_held_out(H, Y, folds, 0.3, every)
    others, values = Y.copy(), H.copy()
    others[folds == 2] = ~others[folds == 2]
    values[2] += 7
    rest = (folds == 2) & (np.arange(90) != 2)
    for changed in ((H, others), (values, Y)):
        after = _mixed_held_out(*changed, folds, 0.3, every)
        np.testing.assert_array_equal(after[rest], before[rest])
        assert (after[folds != 2] != before[folds != 2]).any()


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_value_is_mixed_with_what_the_covariances_with_the_terms_say(rng, share):
    """Compare with (1 - share) H + share H C, where every column of H C has standard deviation 1."""
    truth = rng.random((50, 4)) < 0.4
    H = truth + rng.normal(size=truth.shape)
    C = np.array([[np.cov(h, t)[0, 1] for t in truth.T.astype(float)] for h in H.T])
    said = H @ C / (H @ C).std(axis=0)
    mixed = H @ _mixing(H, truth, share, np.ones_like(truth, bool))
    np.testing.assert_allclose(mixed, (1 - share) * H + share * said, atol=1e-10)


def test_a_term_of_constant_value_stays_finite(rng):
    H, truth = np.zeros((20, 3)), rng.random((20, 3)) < 0.5
    assert (_mixed_held_out(H, truth, np.arange(20) % 2, 0.3, np.ones_like(truth, bool)) == 0).all()
    np.testing.assert_array_equal(_spread(H), 1)
