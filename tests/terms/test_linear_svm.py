"""Tests of linear support vector machines."""

import numpy as np
import pytest

from flyannot.base.errors import DataError, FlyannotError
from flyannot.jobs import resources
from flyannot.terms import linear_svm
from flyannot.terms.model import fit_model, untrainable_reason
from flyannot.terms.scorer import FitOptions
from tests.terms.labelled_kinds import labelled_directions as labelled


def trained(X, Y, genes, *, seed=0, **options):
    return fit_model("svm", X, Y, genes, rng=np.random.default_rng(seed), options=FitOptions(**options))


@pytest.mark.parametrize("n_features", [20, 300])
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_weights_are_those_of_machines_on_the_centred_and_scaled_features(C, n_features, rng, monkeypatch):
    from sklearn.svm import LinearSVC

    monkeypatch.setattr(linear_svm, "CS", (C,))
    X, Y, genes = labelled(rng, p=n_features)
    X[3] = X[4]  # a rank deficient set
    model = trained(X.astype(np.float32), Y, genes)
    X = X.astype(np.float32).astype(float)
    centred = X - X.mean(axis=0)  # so moved and scaled features have the same decisions
    scale = np.sqrt((centred**2).sum(axis=1).mean())
    for values, weights, positive in zip(model.decision_values(X).T, model.scorer.weights, Y.T):
        direct = LinearSVC(C=C, dual=False, class_weight="balanced", tol=1e-10).fit(centred / scale, positive)
        expected = direct.decision_function(centred / scale)
        assert np.abs(values - expected).max() < 1e-3 * np.abs(expected).max()
        assert np.abs(weights - direct.coef_[0] / scale).max() < 1e-3 * np.abs(weights).max()


def test_a_term_has_the_same_bits_beside_any_other_terms(rng):
    X, Y, genes = labelled(rng)
    together, alone = trained(X, Y, genes, seed=1).arrays(), trained(X, Y[:, 2:], genes, seed=1).arrays()
    del alone["precision"]  # the other terms compete for a place among the suggested ones
    for name, array in alone.items():
        assert (together[name][2:] == array).all(), name


def test_of_equally_good_values_of_C_the_smallest_is_taken(rng, monkeypatch):
    monkeypatch.setattr(linear_svm, "CS", (0.1, 1.0, 10.0))
    X, Y, genes = labelled(rng)
    X[:, 0] += 1000.0 * Y[:, 0]  # separable by one feature: every C is perfect
    model = trained(X, Y[:, :1], genes)
    assert model.scorer.C.tolist() == [0.1]
    assert (model.n_groups[0], model.n_positive[0]) == (80, Y[:, 0].sum())
    assert (model.answers(model.decision_values(X))[:, 0] == Y[:, 0]).all()


def test_a_term_needs_enough_genes_with_it_and_without_it():
    genes = ["a", "a", "b", "c", "d"]
    assert untrainable_reason([1, 0, 1, 0, 0], genes) == ""
    assert untrainable_reason([1, 1, 0, 0, 0], genes) == "1 positive gene, 2 needed"
    assert untrainable_reason([0] * 5, genes) == "0 positive genes, 2 needed"
    assert untrainable_reason([1] * 5, genes) == "0 negative genes, 2 needed"
    assert untrainable_reason([1, 0, 1, 0, 0], genes, 3) == "2 positive genes, 3 needed"


def test_features_that_say_nothing_give_the_frequency_of_the_term(rng):
    _, Y, genes = labelled(rng)
    model = trained(np.full((80, 4), 7.0), Y, genes)
    probability = model.probabilities(model.decision_values(np.full((2, 4), 7.0)))
    assert np.abs(probability - Y.mean(axis=0)).max() < 0.05


def test_bad_input_is_refused_in_words(rng):
    X, Y, genes = labelled(rng)
    with pytest.raises(DataError, match="20 columns, the model 30"):
        trained(X, Y, genes).decision_values(X[:, :20])
    for wrong in (np.nan, np.inf):
        spoilt = X.copy()
        spoilt[7, 1] = wrong
        with pytest.raises(DataError, match="row 7 are not finite"):
            trained(spoilt, Y, genes)


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_a_fit_that_stops_too_early_is_an_error_and_not_a_model(rng, monkeypatch):
    X, Y, genes = labelled(rng)
    monkeypatch.setattr(linear_svm, "_MOST_STEPS", 1)
    monkeypatch.setattr(linear_svm, "CS", (10.0,))
    with pytest.raises(FlyannotError, match="did not converge at C = 10"):
        trained(X, Y, genes)


def test_training_is_refused_when_the_memory_does_not_suffice(rng, monkeypatch):
    X, Y, genes = labelled(rng)
    monkeypatch.setattr(resources, "available_bytes", lambda: 3 * 2**10)
    with pytest.raises(FlyannotError, match=r"80 rows of 30 features needs about .*; .* are") as error:
        trained(X, Y, genes)
    assert error.value.exit_code == 1
    assert "fewer atoms" in error.value.fix
