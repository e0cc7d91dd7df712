"""The values of every group in the scores' JSON."""

import json

import numpy as np
import pytest

from flyannot.scores.group_outcomes import judged_groups, outcome_of, scores_json
from flyannot.scores.metrics import Outcome, evaluate
from flyannot.steps.evaluate import Validation, evaluate_files
from tests.small_embryos import CLASSIFY


def drawn(rng, n=40, terms=("a", "b", "rare"), folds=True):
    shape = (n, len(terms))
    values = rng.normal(size=shape)
    return Outcome(
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
    judged = judged_groups(outcome, names, names)
    back = outcome_of(json.loads(json.dumps(judged)))
    assert back.terms == ("a", "b") and judged["group"] == names
    assert (back.truth == outcome.truth[:, :2]).all() and (back.yes == outcome.yes[:, :2]).all()
    np.testing.assert_allclose(back.values, outcome.values[:, :2], rtol=1e-8)
    before, after = (evaluate({"4-6": o})["summary"]["4-6"] for o in (outcome, back))
    assert before["macro"] == after["macro"] and before["n_terms"] == after["n_terms"]


def test_no_term_is_an_outcome_too():
    empty = np.zeros((3, 0))
    judged = judged_groups(Outcome((), empty, empty, empty, None, empty), ["a", "b", "c"], ["a", "b", "c"])
    assert outcome_of(judged).values.shape == (3, 0)


def test_scores_on_disk_hold_what_every_group_was_told(chain, tmp_path):
    path = tmp_path / "s.json"
    result = evaluate_files(
        [chain.features], chain.annotations, CLASSIFY, validation=Validation(3, 1), json_file=path
    )
    assert json.loads(path.read_text()) == json.loads(scores_json(result)) == result
    for stage_range, judged in result["judged"].items():
        evaluated = [r for r in result["terms"] if r["stage_range"] == stage_range and not r["reason"]]
        assert judged["term"] == [r["term"] for r in evaluated]
        again = evaluate({stage_range: outcome_of(judged)})
        for row, other in zip(evaluated, again["terms"]):
            assert row["auc"] == pytest.approx(other["auc"], abs=1e-12) and row["f1"] == other["f1"]
    old = json.loads(path.read_text())
    del old["judged"]
    path.write_text(json.dumps(old))
    kept = evaluate_files(
        [chain.features], chain.annotations, CLASSIFY, validation=Validation(3, 1), json_file=path
    )
    assert kept == result, "scores of before are made again"
