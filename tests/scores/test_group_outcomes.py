"""The values of every group in the scores' JSON."""

import json

import numpy as np
import pytest

from flyannot.scores.group_outcomes import group_outcomes, json_of_scores, outcomes_of_groups
from flyannot.scores.metrics import TermOutcomes, score_terms
from flyannot.steps.evaluate import evaluation_of_files
from flyannot.steps.evaluation import evaluate_task
from flyannot.steps.options import EvaluateOptions
from tests.small_embryos import CLASSIFY, make


def drawn(rng, n=40, terms=("a", "b", "rare"), folds=True):
    shape = (n, len(terms))
    values = rng.normal(size=shape)
    return TermOutcomes(
        terms,
        rng.random(shape) < 0.4,
        values,
        values > 0,
        rng.integers(0, 3, n) if folds else None,
        1 / (1 + np.exp(-values)) if folds else None,
        ("", "", "not evaluable: too rare"),
    )


@pytest.mark.parametrize("folds", [True, False])
def test_an_outcome_comes_back_from_json_and_scores_the_same(rng, folds):
    outcome = drawn(rng, folds=folds)
    names = [f"g{i}" for i in range(40)]
    found = group_outcomes(outcome, names, names)
    back = outcomes_of_groups(json.loads(json.dumps(found)))
    assert back.terms == ("a", "b") and found["group"] == names
    assert (back.truth == outcome.truth[:, :2]).all() and (back.yes == outcome.yes[:, :2]).all()
    np.testing.assert_allclose(back.values, outcome.values[:, :2], rtol=1e-8)
    before, after = (score_terms({"4-6": o})["summary"]["4-6"] for o in (outcome, back))
    assert before["macro"] == after["macro"] and before["n_terms"] == after["n_terms"]


def test_no_term_is_an_outcome_too():
    empty, names = np.zeros((3, 0)), ["a", "b", "c"]
    groups = group_outcomes(TermOutcomes((), empty, empty, empty, None, empty), names, names)
    assert outcomes_of_groups(groups).values.shape == (3, 0)


def test_scores_on_disk_hold_what_was_predicted_for_every_group(chain, tmp_path):
    options = {"train": CLASSIFY, "options": EvaluateOptions(folds=3), "seed": 1}
    evaluation = evaluation_of_files((chain.features,), chain.annotations, **options)
    path = make(evaluate_task(evaluation, tmp_path / "s.json")).path
    result = json.loads(path.read_text())
    assert json.loads(json_of_scores(result)) == result
    for stage_range, found in result["evaluated"].items():
        evaluated = [r for r in result["terms"] if r["stage_range"] == stage_range and not r["reason"]]
        assert found["term"] == [r["term"] for r in evaluated]
        again = score_terms({stage_range: outcomes_of_groups(found)})
        for row, other in zip(evaluated, again["terms"]):
            assert row["auc"] == pytest.approx(other["auc"], abs=1e-12) and row["f1"] == other["f1"]
