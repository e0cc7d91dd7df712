"""Tests of the adaptation of a model to the terms of other groups."""

import numpy as np
import pytest
from scipy.optimize import minimize

from flyannot.terms import CLASSIFIERS
from flyannot.terms.adaptation import PENALTIES, Adapter, choose_penalty, fit_corrections
from flyannot.terms.calibration import sigmoid
from flyannot.terms.model import fit_model
from flyannot.terms.options import BALANCED
from flyannot.terms.scorer import FitOptions
from tests.terms.labelled_kinds import labelled


def problem(rng, n=60, n_columns=4, n_terms=3):
    Z = rng.normal(size=(n, n_columns))
    prior = rng.normal(size=(n, n_terms))
    truth = sigmoid(prior + Z @ rng.normal(size=(n_columns, n_terms)))
    return Z, prior, rng.random(prior.shape) < truth, rng.random(prior.shape) < 0.8


def test_corrections_minimise_the_penalised_loss(rng):
    Z, prior, Y, observed = problem(rng)
    U = fit_corrections(Z, prior, Y, observed, 3.0)
    variance = (sigmoid(prior) * (1 - sigmoid(prior))).mean(axis=0)
    ridge = 3.0 * np.sqrt(variance / variance.mean())

    def loss(u):
        W = u.reshape(U.shape)
        logit = prior + Z @ W
        return (observed * (np.log1p(np.exp(logit)) - Y * logit)).sum() + (ridge / 2 * W**2).sum()

    assert U.ravel() == pytest.approx(minimize(loss, np.zeros(U.size), tol=1e-10).x, abs=1e-4)


def test_terms_that_nobody_observed_are_not_corrected(rng):
    Z, prior, Y, observed = problem(rng)
    assert not fit_corrections(Z, prior, Y, observed & False, 3.0).any()
    assert not fit_corrections(Z, prior, Y, observed, np.inf).any()


def test_a_strong_signal_chooses_a_weak_penalty_and_a_wrong_one_none(rng):
    Z, prior, Y, observed = problem(rng, 400)
    assert choose_penalty(Z, prior, Y, observed, np.arange(400), rng) == min(PENALTIES)
    assert choose_penalty(Z, prior, Y, observed, np.zeros(400), rng) == np.inf
    Z = 20 * rng.normal(size=(40, 30))  # so many large columns that they fit any noise
    Y = rng.random((40, 3)) < sigmoid(prior[:40])
    assert choose_penalty(Z, prior[:40], Y, observed[:40], np.arange(40), rng) == np.inf


def adapted(method, rng, base_columns=(0, 1), operating_point=BALANCED):
    X, Y, genes = labelled(rng)
    options = FitOptions(operating_point=operating_point)
    columns = list(base_columns)
    base = fit_model(method, X[:60], Y[:60][:, columns], genes[:60], rng=rng, options=options)
    adapter = Adapter(base, [f"t{j}" for j in columns])
    terms = [f"t{j}" for j in [*columns, *(j for j in range(Y.shape[1]) if j not in columns)]]
    Y = Y[:, [int(term[1:]) for term in terms]]
    rows = np.hstack([adapter.logits(X), X])
    model = adapter.fit(rows[60:], Y[60:], genes[60:], terms=terms, rng=rng, options=options)
    return base, model, adapter.in_features(model, lambda scorer: scorer), rows, X


@pytest.mark.parametrize("method", [name for name in CLASSIFIERS if name != "ridge"])  # which scales its rows
def test_a_model_of_features_answers_as_the_model_of_logits(method, rng):
    base, model, of_features, rows, X = adapted(method, rng)
    values = model.decision_values(rows)
    assert of_features.decision_values(X) == pytest.approx(values, abs=1e-9)
    assert len(model.arrays()["threshold"]) == len(of_features.scorer.weights) == values.shape[1]
    assert (model.n_genes[:2] > base.n_genes).all()
    assert (model.auc[:2] == base.auc).all()


def test_a_model_stays_as_it_is_if_nothing_is_observed(rng):
    X, Y, genes = labelled(rng)
    base = fit_model("svm", X[:60], Y[:60], genes[:60], rng=rng, options=FitOptions(operating_point=BALANCED))
    terms = [str(j) for j in range(Y.shape[1])]
    adapter = Adapter(base, terms)
    more = {"terms": terms, "rng": rng, "options": FitOptions(), "observed": np.zeros((20, len(terms)), bool)}
    model = adapter.fit(adapter.logits(X[60:80]), Y[60:80] & False, genes[60:80], **more)
    same = adapter.in_features(model, None)
    before = base.decision_values(X)
    now = same.decision_values(X)
    assert same.probabilities(now) == pytest.approx(base.probabilities(before), abs=1e-12)
    assert (same.answers(now) == base.answers(before)).all()
