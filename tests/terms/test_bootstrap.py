"""Tests of intervals over genes, of comparisons, of calibration, and of outcomes in JSON."""

import json
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from flyannot.pipeline.options import EvaluateOptions
from flyannot.pipeline.steps.evaluate import build_evaluation
from flyannot.terms import bootstrap
from flyannot.terms.calibration import calibration_errors, reliability_bins, sigmoid
from flyannot.terms.group_outcomes import outcomes_from_json, outcomes_to_json
from flyannot.terms.metrics import TermOutcomes, auc, group_agreement, score_terms
from tests.small_embryos import CLASSIFY


@pytest.fixture
def outcome(rng):
    """Return forty groups of twenty genes, two folds, two terms, with ties among the values."""
    truth = rng.random((40, 2)) < 0.4
    values = np.round(truth + rng.normal(size=(40, 2)), 1)
    folds = np.repeat(np.arange(2), 20)
    return TermOutcomes(("a", "b"), truth, values, values > 0.5, sigmoid(values - 0.5), folds)


GENES = [f"g{i // 2}" for i in range(40)]


def result_of(outcome, genes=GENES, names=None):
    names = names or [f"group {i}" for i in range(len(outcome.truth))]
    return score_terms({"4-6": outcome}) | {"evaluated": {"4-6": outcomes_to_json(outcome, names, genes)}}


def test_a_resampled_auc_is_the_auc_of_the_groups_repeated_as_drawn(outcome):
    (weights,) = bootstrap.bootstrap_gene_weights(GENES, n_samples=20)
    assert (weights.sum(axis=1) == 40).all()  # each gene has two groups
    found = bootstrap.bootstrap_aucs(outcome, weights)
    for sample, weight in zip(found[1:], weights[1:].astype(int)):
        rows = np.repeat(np.arange(40), weight)
        for j in range(2):
            expected = auc(outcome.values[rows, j], outcome.truth[rows, j], outcome.folds[rows])
            assert sample[j] == pytest.approx(expected, abs=1e-12)
    for j in range(2):
        measured = auc(outcome.values[:, j], outcome.truth[:, j], outcome.folds)
        assert found[0, j] == pytest.approx(measured, abs=1e-12)


def test_what_is_the_same_gives_the_same_interval_ready_for_json_and_no_difference(outcome):
    one, other = (json.dumps(bootstrap.add_confidence(result_of(outcome))) for _ in range(2))
    assert one == other
    found = bootstrap.compare_outcomes(result_of(outcome), result_of(outcome))["mean"]
    assert found["difference"] == 0 and found["interval"] == [0, 0] and found["p"] == 1


def test_a_comparison_knows_the_better_one_in_whatever_order_its_groups_stand(outcome, rng):
    worse, second = replace(outcome, values=-outcome.values), result_of(outcome)
    order = rng.permutation(40)
    first = result_of(worse.subset(order, range(2)), [GENES[i] for i in order], [f"group {i}" for i in order])
    found = bootstrap.compare_outcomes(first, second)
    assert found["mean"]["difference"] > 0 and found["mean"]["interval"][0] > 0 and found["mean"]["p"] < 0.05
    in_order = bootstrap.compare_outcomes(result_of(worse), second)["mean"]
    assert found["mean"]["interval"] == pytest.approx(in_order["interval"], abs=1e-12)
    back = bootstrap.compare_outcomes(second, first)["mean"]
    assert back["difference"] == pytest.approx(-found["mean"]["difference"], abs=1e-12)
    assert back["first"] == pytest.approx(found["mean"]["second"], abs=1e-12)


def test_groups_that_one_of_two_did_not_evaluate_are_left_out_of_the_comparison(outcome):
    """Leave them out of the larger or the smaller one, in any order."""
    better, rows = replace(outcome, values=outcome.values + outcome.truth), np.arange(40)[::-1][:30]
    few, fewer = outcome.subset(rows, range(2)), better.subset(rows, range(2))
    shared = [GENES[i] for i in rows], [f"group {i}" for i in rows]
    expected = bootstrap.compare_outcomes(result_of(few, *shared), result_of(fewer, *shared))["mean"]
    assert expected["difference"] > 0.05
    assert bootstrap.compare_outcomes(result_of(few, *shared), result_of(better))["mean"] == expected
    assert bootstrap.compare_outcomes(result_of(outcome), result_of(fewer, *shared))["mean"] == expected

    others = result_of(outcome, names=[f"other {i}" for i in range(40)])
    for second in (others, others | {"evaluated": {"7-8": others["evaluated"]["4-6"]}}):
        assert bootstrap.compare_outcomes(result_of(outcome), second) == {"terms": [], "mean": None}


def test_answers_that_one_of_two_does_not_know_are_left_out_of_the_comparison(outcome, rng):
    known = rng.random((40, 2)) < 0.7
    better = replace(outcome, values=outcome.values + outcome.truth)
    cut = [result_of(replace(one, observed=known)) for one in (outcome, better)]
    whole = [result_of(outcome), result_of(better)]
    expected = bootstrap.compare_outcomes(*cut)["terms"]
    for pair in ((cut[0], whole[1]), (whole[0], cut[1])):
        assert bootstrap.compare_outcomes(*pair)["terms"] == expected
    assert bootstrap.compare_outcomes(*whole)["terms"] != expected


def test_terms_that_one_of_two_does_not_score_are_left_out_of_the_comparison(outcome):
    worse = replace(outcome, values=-outcome.values)
    only_a = bootstrap.compare_outcomes(result_of(worse.subset(slice(None), [0])), result_of(outcome))
    assert [row["term"] for row in only_a["terms"]] == ["a"]
    without_b = score_terms({"4-6": outcome}, excluded=("b",))
    without_b["evaluated"] = result_of(outcome)["evaluated"]
    assert bootstrap.compare_outcomes(result_of(worse), without_b) == only_a
    assert bootstrap.compare_outcomes(result_of(worse) | {"terms": without_b["terms"]}, without_b) == only_a


def test_intervals_of_the_agreement_of_groups_are_of_the_groups_repeated_as_drawn(outcome):
    summary = bootstrap.add_confidence(result_of(outcome))["summary"]
    assert summary["all"] == summary["4-6"]
    (weights,) = bootstrap.bootstrap_gene_weights(GENES)
    samples = {"f1": [], "jaccard": []}
    for weight in weights[1:].astype(int):
        drawn = outcome.subset(np.repeat(np.arange(40), weight), range(2))
        for name, means in samples.items():
            means.append(group_agreement(drawn)[name].mean())
    for name, means in samples.items():
        interval = summary["all"]["groups"][f"{name}_interval"]
        assert interval == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=1e-12)


def test_calibration_error_by_hand():
    probability, truth = np.array([0.05, 0.05, 1.0, 0.9]), np.array([False, True, True, True])
    errors = calibration_errors(reliability_bins(probability, truth))
    assert errors["ece"] == pytest.approx((0.9 + 0.1) / 4)
    in_last_bin = calibration_errors(reliability_bins(np.array([0.91, 1.0]), np.array([True, False])))
    assert in_last_bin["ece"] == pytest.approx((0.91 + 1.0 - 1) / 2)
    known = {"terms": ["gap"], "observed": np.array([True, True, True, False])}
    both = bootstrap._calibration([SimpleNamespace(probabilities=probability, truth=truth, **known)])
    errors = (0.05**2 + 0.95**2 + 0) / 3, (0.9 + 0) / 3  # of what is known
    assert (both["brier"], both["ece"]) == pytest.approx(errors)


def test_the_nested_score_never_sees_the_genes_of_the_fold_that_tests(chain):
    """Check that every group is evaluated once in each fold except its own."""

    def evaluated(nested):
        options = EvaluateOptions(folds=3, nested=nested)
        evaluation = build_evaluation([chain.features], chain.curated, train=CLASSIFY, options=options)
        return evaluation.result()["evaluated"]

    outer = evaluated(nested=False)
    for stage_range, inner in evaluated(nested=True).items():
        fold_of = dict(zip(outer[stage_range]["group"], outer[stage_range]["fold"]))
        assert max(inner["fold"]) // 3 + 1 == 3
        assert all(fold_of[group] != fold // 3 for group, fold in zip(inner["group"], inner["fold"]))
        assert sorted(inner["group"]) == sorted(outer[stage_range]["group"] * 2)


def test_an_interval_holds_the_middle_95_percent_of_the_samples(rng):
    samples = rng.permutation(np.append(np.arange(1001.0), [np.nan, np.inf]))
    assert bootstrap.bootstrap_interval(samples) == pytest.approx([25, 975])
    assert bootstrap.bootstrap_interval(np.array([np.nan])) is None


def test_p_is_twice_the_part_of_the_samples_on_the_rarer_side_the_measured_one_counted():
    for n_below, n_equal in ((0, 0), (4, 0), (3, 2), (40, 0), (99, 0), (50, 0)):
        of_second = np.concatenate([np.full(n_below, 0.4), np.full(n_equal, 0.5), np.full(99 - n_below, 0.7)])
        samples = np.stack([np.full(len(of_second), 0.5), of_second])
        n = len(of_second)
        rarer = min(n_below + n_equal, n - n_below)
        expected = min(1, 2 * (rarer + 1) / (n + 1))
        assert bootstrap._difference(np.array([0.5, 0.6]), samples)["p"] == pytest.approx(expected)


def test_a_term_that_could_not_be_evaluated_has_no_interval_and_moves_no_mean(outcome):
    truth = np.column_stack([outcome.truth, np.zeros(40, bool)])
    more = replace(outcome.subset(slice(None), [0, 1, 0]), terms=("a", "b", "never"), truth=truth)
    two, three = (bootstrap.add_confidence(result_of(one)) for one in (outcome, more))
    assert three["summary"] == two["summary"]
    assert [three["terms"][2][name] for name in ("auc_interval", "brier", "ece")] == [None] * 3
    low, high = two["summary"]["all"]["auc_interval"]
    assert low < np.mean([row["auc"] for row in two["terms"]]) < high
    nothing = replace(outcome.subset(slice(None), [0]), truth=np.zeros((40, 1), bool))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no mean of nothing is taken
        assert bootstrap.add_confidence(result_of(nothing))["summary"]["all"]["auc_interval"] is None


@pytest.mark.parametrize("without", [{}, {"folds": None}])
def test_an_outcome_comes_back_from_json_and_scores_the_same(outcome, without):
    """Check it also for an outcome without terms."""
    with_rare = replace(outcome.subset(slice(None), [0, 1, 0]), terms=("a", "b", "rare"))
    with_rare = replace(with_rare, reasons=("", "", "not evaluable: too rare"), **without)
    names = [f"g{i}" for i in range(40)]
    found = outcomes_to_json(with_rare, names, names)
    back = outcomes_from_json(json.loads(json.dumps(found)))
    assert back.terms == ("a", "b") and found["group"] == names
    assert (back.truth == outcome.truth).all() and (back.yes == outcome.yes).all()
    np.testing.assert_allclose(back.values, outcome.values, rtol=1e-8)
    before, after = (score_terms({"4-6": o})["summary"]["4-6"] for o in (with_rare, back))
    assert before["macro"] == after["macro"] and before["n_terms"] == after["n_terms"]
    empty = replace(outcome.subset(slice(3), []), **without)
    assert outcomes_from_json(outcomes_to_json(empty, names[:3], names[:3])).values.shape == (3, 0)
