"""Laws of votes of undersampled SVMs."""

import numpy as np
import pytest

from flyannot.classifiers import N_MEMBERS, fit
from flyannot.classifiers.explain import LINEAR
from flyannot.classifiers.liblinear import fit_liblinear
from flyannot.classifiers.linear_svm import TrainOptions, train_terms
from flyannot.classifiers.undersampling import balanced_rows, fit_undersampled
from flyannot.scores.metrics import auc


def rare(rng, n=120, p=25, share=0.15):
    """Rows of which few are positive, one gene each."""
    X = rng.normal(size=(n, p))
    signal = X @ rng.normal(size=p) + 2 * rng.normal(size=n)
    return X, signal > np.quantile(signal, 1 - share), np.array([f"gene{i:03}" for i in range(n)])


@pytest.mark.parametrize("share", [0.15, 0.8])
def test_every_member_sees_all_of_the_rarer_class_and_as_many_others(share, rng):
    _, positive, _ = rare(rng, share=share)
    rarer = positive if share < 0.5 else ~positive
    drawn = balanced_rows(positive, 40, rng)
    assert all((np.diff(rows) > 0).all() for rows in drawn)
    assert all(rarer[rows].sum() == rarer.sum() == len(rows) / 2 for rows in drawn)
    assert set(np.concatenate(drawn)) == set(range(len(positive))), "no row is left out by all"


def test_the_value_of_a_vote_is_the_mean_of_the_values_of_its_members(rng):
    from sklearn.svm import LinearSVC

    X, positive, _ = rare(rng)
    weights, intercept = fit_undersampled(X, positive, 0.1, n_members=4, rng=np.random.default_rng(3))
    members = [
        LinearSVC(C=0.1, dual=False, tol=1e-9).fit(X[rows], positive[rows])
        for rows in balanced_rows(positive, 4, np.random.default_rng(3))
    ]
    expected = np.mean([member.decision_function(X) for member in members], axis=0)
    np.testing.assert_allclose(X @ weights + intercept, expected, atol=1e-4)


def test_with_classes_of_one_size_the_vote_is_the_svm(rng):
    X, positive, _ = rare(rng, share=0.5)
    vote = fit_undersampled(X, positive, 1.0, n_members=3, rng=rng)
    single = fit_liblinear(X, positive, 1.0)
    np.testing.assert_allclose(np.append(*vote), np.append(*single), atol=1e-9)


def test_what_others_outnumber_a_term_by_does_not_move_the_middle_of_its_values(rng):
    """Ten times as many rows without the term: the vote's zero still lies between the classes."""
    X = np.concatenate([rng.normal(1, 1, (30, 8)), rng.normal(-1, 1, (300, 8))])
    positive = np.arange(330) < 30
    weights, intercept = fit_undersampled(X, positive, 1.0, n_members=15, rng=rng)
    values = X @ weights + intercept
    assert values[positive].mean() == pytest.approx(-values[~positive].mean(), rel=0.3)


def test_the_method_trains_the_votes_and_explains_them_like_one_svm(rng):
    X, positive, genes = rare(rng)
    Y = np.stack([positive, X[:, 0] > 1.0], axis=1)
    options = TrainOptions(n_members=N_MEMBERS["undersampled-svm"])
    models = train_terms(X, Y, genes, rng=np.random.default_rng(2), options=options)
    fitted = fit("undersampled-svm", X, Y, genes, rng=np.random.default_rng(2))
    np.testing.assert_array_equal(fitted.scorer.weights, [model.weights for model in models])
    single = fit("svm", X, Y, genes, rng=np.random.default_rng(2))
    assert (fitted.scorer.weights != single.scorer.weights).any()
    assert "undersampled-svm" in LINEAR
    assert auc(fitted.decision_values(X)[:, 0], positive) > 0.8
