"""Laws of every classifier of the table."""

import pickle

import numpy as np
import pytest

from flyannot.classifiers import CLASSIFIERS
from flyannot.classifiers.model import fit_model, model_from_arrays, schema_of
from flyannot.classifiers.scorer import FitOptions
from flyannot.scores.metrics import auc
from flyannot.store.schema import shape_violation
from tests.classifiers.labelled_kinds import labelled


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_a_classifier_learns_what_there_is_and_no_more(method, rng):
    X, Y, genes = labelled(rng)
    fitted = fit_model(method, X[:80], Y[:80], genes[:80], rng=rng)
    values = fitted.decision_values(X[80:])
    assert np.mean([auc(v, t) for v, t in zip(values.T, Y[80:].T)]) > 0.75
    shuffled = []
    for _ in range(4):
        noise = np.repeat(rng.permutation(Y[:80:2]), 2, axis=0)
        values = fit_model(method, X[:80], noise, genes[:80], rng=rng).decision_values(X[80:])
        shuffled += [auc(v, t) for v, t in zip(values.T, Y[80:].T)]
    assert abs(np.mean(shuffled) - 0.5) < 0.15


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_arrays_are_all_of_a_classifier(method, rng):
    X, Y, genes = labelled(rng)
    fitted = fit_model(method, X[:80], Y[:80], genes[:80], rng=rng)
    arrays = {name: array.copy() for name, array in fitted.arrays().items()}
    assert all(array.dtype.kind in "iuf" and array.ndim for array in arrays.values())
    sizes = {"n_terms": Y.shape[1], "n_features": X.shape[1]}
    assert shape_violation(schema_of(method), arrays, "model", sizes) == ""
    assert set(arrays) == set(schema_of(method))
    again = model_from_arrays(method, arrays)
    values = fitted.decision_values(X[80:])
    assert (again.decision_values(X[80:]) == values).all()
    assert (again.probabilities(values) == fitted.probabilities(values)).all()
    assert (again.answers(values) == fitted.answers(values)).all()


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_a_classifier_is_the_same_for_the_same_seed_and_any_threads(method, rng):
    X, Y, genes = labelled(rng)
    found = []
    for n in (1, 1, 2):
        options = FitOptions(n_threads=n)
        model = fit_model(method, X, Y, genes, rng=np.random.default_rng(2), options=options)
        found.append([array.tobytes() for array in model.arrays().values()])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_probabilities_rise_with_values_and_answers_follow_thresholds(method, rng):
    X, Y, genes = labelled(rng)
    fitted = fit_model(method, X, Y, genes, rng=rng)
    values = np.sort(fitted.decision_values(X), axis=0)
    probabilities = fitted.probabilities(values)
    assert ((probabilities > 0) & (probabilities < 1)).all()
    assert (np.diff(probabilities, axis=0) >= 0).all()
    assert (np.diff(fitted.answers(values).astype(int), axis=0) >= 0).all()
    assert fitted.n_positive.tolist() == Y.sum(axis=0).tolist()


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_a_fit_that_is_made_elsewhere_leaves_the_generator_as_one_made_here(method, rng):
    """So that the folds after it are fitted alike."""
    X, genes = rng.normal(size=(40, 6)), np.repeat(np.arange(20), 2).astype(str)
    Y = rng.random((40, 3)) < 0.5
    here, there, options = np.random.default_rng(5), np.random.default_rng(5), FitOptions()
    CLASSIFIERS[method].fit(X, Y, genes, rng=here, options=options)
    CLASSIFIERS[method].pass_draws(genes, rng=there, options=options)
    sent = pickle.loads(pickle.dumps(there))
    assert here.random() == there.random() == sent.random()
    if method not in ("svm", "coupled-ridge"):  # which spawn nothing
        assert here.spawn(1)[0].random() == there.spawn(1)[0].random() == sent.spawn(1)[0].random()
