"""Tests of the adaptation of a model to the terms of other groups."""

import re

import numpy as np
import pytest

from flyannot.encode.groups import Groups
from flyannot.terms import CLASSIFIERS
from flyannot.terms.adaptation import (
    ExtendedFeatures,
    TrainingRows,
    compare_answers,
    extend_training_set,
    join_models,
)
from flyannot.terms.metrics import TermOutcomes
from flyannot.terms.model import fit_model
from flyannot.terms.options import BALANCED, TrainOptions
from flyannot.terms.scorer import FitOptions
from flyannot.terms.training_set import TrainingSet
from tests.terms.labelled_kinds import labelled


def test_rows_are_kept_to_within_half_a_step_of_their_largest_feature(rng):
    X = rng.normal(size=(5, 40)) * 10.0 ** np.arange(-2, 3)[:, None]
    X[3] = 0
    rows = TrainingRows.from_features(X, "abcde", X[:, :2] > 0, X[:, :2] != X[0, 0])
    assert (np.abs(rows.X - X) <= np.abs(X).max(axis=1, keepdims=True) / 253).all()
    assert rows.truth[0, 0] == -1 and rows.value.dtype == np.int8


class Features:
    """Features of images in memory."""

    def __init__(self, X):
        self.X = X
        self.shape = X.shape

    def iterate_blocks(self, columns=slice(None)):
        yield 0, self.X[:, columns]


def test_a_model_is_trained_on_its_rows_and_on_new_groups_whose_verdicts_replace_its_answers(rng):
    """An old row that the new groups do not have keeps its answers; a new term is unknown for it."""
    X, old = rng.random((3, 6)), rng.random((2, 6))
    rows = TrainingRows.from_features(old, ["a", "b"], np.ones((2, 2), bool), np.ones((2, 2), bool))
    groups = Groups(["n", "b1"], ["n", "b"], ["", ""], [np.array([0]), np.array([1, 2])])
    Y, terms = np.array([[True, False], [False, True]]), ["new", "old"]
    curated = TrainingSet(X=np.empty((2, 0)), Y=Y, genes=["n", "b"], terms=terms, groups=groups)
    observed = np.array([[True, True], [True, False]])
    extended = extend_training_set(curated, observed, 3, ["old", "other"], rows)
    assert extended.terms == ["old", "other", "new"] and extended.genes == ["n", "b", "a", "b"]
    assert extended.Y.tolist() == [[0, 0, 1], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    assert extended.observed.tolist() == [[1, 1, 1], [1, 0, 1], [1, 1, 0], [0, 1, 0]]
    options = TrainOptions(normalisation="none")
    full = extended.with_features(ExtendedFeatures(Features(X), rows.X), options).X
    expected = np.vstack([X[0], X[1:].max(axis=0), rows.X])
    assert full @ full.T == pytest.approx(expected @ expected.T)


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_a_model_that_keeps_its_answers_may_learn_other_terms(method, rng):
    X, Y, genes = labelled(rng)
    options = FitOptions(operating_point=BALANCED)
    base, adapted = (fit_model(method, X, Y[:, :n], genes, rng=rng, options=options) for n in (2, 3))
    joined = join_models(base, adapted)
    for name in ("decision_values", "probabilities", "answers"):
        values = (X if name == "decision_values" else model.decision_values(X) for model in (joined, base))
        one, other = (getattr(model, name)(v) for model, v in zip((joined, base), values))
        assert (one[:, :2] == other).all() and one.shape[1] == 3, name


def outcome(probabilities, truth):
    p = np.array(probabilities, float)
    terms = tuple(f"t{j}" for j in range(p.shape[1]))
    return TermOutcomes(terms=terms, truth=truth, values=p, yes=p > 0.5, probabilities=p)


def test_a_gain_is_measured_on_terms_that_were_not_chosen_by_the_inverse_of_their_chance(rng):
    """Drawn terms show in the mean what all terms of the same genes show; chosen ones do not count."""
    truth = rng.random((600, 20)) < 0.3
    before = outcome(np.full(truth.shape, 0.3), truth)
    after = outcome(np.where(truth, 0.6, 0.2), truth)
    genes = [f"g{i}" for i in range(600)]
    is_drawn = rng.random(truth.shape) < 0.2
    (yes, whole), (also, drawn) = (
        compare_answers(before, after, weights, genes) for weights in (np.ones(truth.shape), is_drawn / 0.2)
    )
    assert yes and also and whole.endswith("the model is adapted")
    assert whole.startswith("verdicts on 600 genes: F1 0.000 -> 1.000 (95% interval +1.000 to +1.000)")
    numbers = [re.search(r"gene ([-+.0-9]+) .*error ([.0-9]+)", text).groups() for text in (whole, drawn)]
    (gain, _), (estimate, error) = np.array(numbers, float)
    assert abs(estimate - gain) < 4 * error
    no, worse = compare_answers(after, before, is_drawn / 0.2, genes)
    assert not no and worse.endswith("the model keeps its answers")
    no, nothing = compare_answers(before, after, 0.0 * truth, genes)
    assert not no and "no gain can be shown: the model keeps its answers" in nothing


def test_a_gain_that_chance_may_explain_is_not_shown(rng):
    """Of adaptations that change nothing but noise, few are accepted."""
    n_accepted = 0
    for _ in range(100):
        truth = rng.random((80, 10)) < 0.3
        noise = rng.normal(0, 0.05, (2, *truth.shape))
        n_accepted += compare_answers(
            *(outcome(0.3 + part, truth) for part in noise), np.ones(truth.shape), list(range(80))
        )[0]
    assert n_accepted <= 12  # 5 are expected
