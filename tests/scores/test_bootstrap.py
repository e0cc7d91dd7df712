"""Laws of intervals over genes, of comparisons, and of calibration; `evaluate --nested`."""

import json
from dataclasses import replace

import numpy as np
import pytest

from flyannot.classifiers.calibration import calibrate, sigmoid
from flyannot.scores.bootstrap import (
    bootstrap_interval,
    compare_outcomes,
    draws_of_genes,
    resampled_aucs,
    with_confidence,
)
from flyannot.scores.calibration_error import brier_score, calibration_error
from flyannot.scores.group_outcomes import group_outcomes
from flyannot.scores.metrics import Outcome, auc_within_folds, evaluate
from flyannot.steps.evaluate import Evaluation, evaluate_files
from flyannot.steps.options import EvaluateOptions
from tests.small_embryos import CLASSIFY


@pytest.fixture
def outcome(rng):
    """Forty groups of twenty genes, two folds, two terms, with ties among the values."""
    truth = rng.random((40, 2)) < 0.4
    values = np.round(truth + rng.normal(size=(40, 2)), 1)
    folds = np.repeat(np.arange(2), 20)
    return Outcome(("a", "b"), truth, values, values > 0.5, folds, sigmoid(values - 0.5))


GENES = [f"g{i // 2}" for i in range(40)]


def result_of(outcome, genes=GENES):
    names = [f"group {i}" for i in range(len(outcome.truth))]
    return evaluate({"4-6": outcome}) | {"evaluated": {"4-6": group_outcomes(outcome, names, genes)}}


def test_a_resampled_auc_is_the_auc_of_the_groups_repeated_as_drawn(outcome):
    names, draws = draws_of_genes(GENES, n_samples=20)
    weights = draws[:, np.searchsorted(names, GENES)]
    assert (draws.sum(axis=1) == 20).all()
    found = resampled_aucs(outcome, weights)
    for sample, weight in zip(found.samples, weights.astype(int)):
        rows = np.repeat(np.arange(40), weight)
        for j in range(2):
            expected = auc_within_folds(outcome.values[rows, j], outcome.truth[rows, j], outcome.folds[rows])
            assert sample[j] == pytest.approx(expected, abs=1e-12)
    for j in range(2):
        measured = auc_within_folds(outcome.values[:, j], outcome.truth[:, j], outcome.folds)
        assert found.auc[j] == pytest.approx(measured, abs=1e-12)


def test_intervals_hold_the_score_and_narrow_with_more_genes(rng):
    widths = []
    for n in (60, 600):
        truth = rng.random((n, 1)) < 0.5
        values = truth + rng.normal(size=(n, 1))
        outcome = Outcome(("a",), truth, values, values > 0.5)
        result = with_confidence(result_of(outcome, [f"g{i}" for i in range(n)]))
        low, high = result["terms"][0]["auc_interval"]
        assert low < result["terms"][0]["auc"] < high
        assert result["summary"]["4-6"]["auc_interval"] == [low, high]
        assert result["summary"]["4-6"]["ece"] is None
        widths.append(high - low)
    assert widths[1] < widths[0] / 2


def test_intervals_are_the_same_every_time_and_ready_for_json(outcome):
    one, other = (json.dumps(with_confidence(result_of(outcome))) for _ in range(2))
    assert one == other


def test_a_configuration_does_not_differ_from_itself(outcome):
    found = compare_outcomes(result_of(outcome), result_of(outcome))["mean"]
    assert found["difference"] == 0 and found["interval"] == [0, 0] and found["p"] == 1


def test_a_comparison_knows_the_better_one_in_whatever_order_its_groups_stand(outcome, rng):
    worse = replace(outcome, values=-outcome.values)
    order = rng.permutation(40)
    shuffled = replace(worse, **{n: getattr(worse, n)[order] for n in ("truth", "values", "yes", "folds")})
    second = result_of(outcome)
    first = result_of(shuffled, [GENES[i] for i in order])
    first["evaluated"]["4-6"]["group"] = [f"group {i}" for i in order]
    found = compare_outcomes(first, second)
    assert found["mean"]["difference"] > 0 and found["mean"]["interval"][0] > 0 and found["mean"]["p"] < 0.05
    back = compare_outcomes(second, first)["mean"]
    assert back["difference"] == pytest.approx(-found["mean"]["difference"], abs=1e-12)
    assert back["first"] == pytest.approx(found["mean"]["second"], abs=1e-12)


def test_no_samples_no_interval():
    assert bootstrap_interval(np.array([np.nan])) is None


def test_calibrated_probabilities_are_calibrated_and_shifted_ones_are_not(rng):
    truth = rng.random(4000) < 0.3
    values = 2 * truth + rng.normal(size=4000)
    slope, offset = calibrate(values[::2], truth[::2])
    told, held_out = sigmoid(slope * values[1::2] + offset), truth[1::2]
    assert calibration_error(told, held_out) < 0.03
    assert calibration_error(told**0.3, held_out) > 0.1
    assert brier_score(told, held_out) < brier_score(told**0.3, held_out)


def test_calibration_error_by_hand():
    probability, truth = np.array([0.05, 0.05, 1.0, 0.9]), np.array([False, True, True, True])
    assert calibration_error(probability, truth) == pytest.approx((0.9 + 0.1) / 4)
    assert brier_score(probability, truth) == pytest.approx((0.05**2 + 0.95**2 + 0.1**2) / 4)


def test_the_nested_score_never_sees_the_genes_of_the_fold_that_tests(chain):
    """Every group is evaluated once in each fold but its own, among the training genes."""
    inner, outer = (
        evaluate_files(
            Evaluation(
                paths=(chain.features,),
                annotations_csv=chain.annotations,
                classify=CLASSIFY,
                options=EvaluateOptions(folds=3, nested=nested),
            )  # fmt: skip
        )
        for nested in (True, False)
    )
    for stage_range, found in inner["evaluated"].items():
        plain = outer["evaluated"][stage_range]
        fold_of = dict(zip(plain["group"], plain["fold"]))
        n_inner = max(found["fold"]) // 3 + 1
        assert n_inner == 3
        for group, fold in zip(found["group"], found["fold"]):
            assert fold_of[group] != fold // 3
        assert sorted(found["group"]) == sorted(plain["group"] * 2)


def test_the_command_compares_two_evaluations(flyannot, chain, tmp_path):
    for name, scheme in (("a", "group"), ("b", "mean")):
        line = f"evaluate F T --json J --folds 3 --min-groups 4 --inner-folds 2 --scheme {scheme}"
        said = flyannot(line, J=tmp_path / f"{name}.json", F=chain.features, T=chain.annotations)
        assert "95 % interval" in said.out and "ECE" in said.out, said.err
    said = flyannot("compare A B", A=tmp_path / "a.json", B=tmp_path / "b.json")
    assert said.code == 0 and "mean of" in said.out
    (tmp_path / "c.json").write_text("{}")
    said = flyannot("compare A B", A=tmp_path / "a.json", B=tmp_path / "c.json")
    assert said.code == 2 and "does not hold scores" in said.err
    said = flyannot("compare A B", A=tmp_path / "a.json", B=tmp_path / "none.json")
    assert said.code == 2 and "cannot read" in said.err
