"""Tests of metrics by hand, by definition, and against scikit-learn."""

import json
from itertools import permutations

import numpy as np
import pytest

from flyannot.base.errors import DataError
from flyannot.terms.metrics import (
    AGREEMENT,
    METRICS,
    NOT_ANATOMY,
    TermOutcomes,
    auc,
    average_precision,
    concordant_pairs,
    evaluate_term,
    score_terms,
    weighted_pairs,
)
from flyannot.terms.table import format_scores


def counted_auc(values, truth, folds):
    """Return the AUC, counted pair by pair."""
    ordered = [
        1.0 if values[i] > values[j] else 0.5 if values[i] == values[j] else 0.0
        for i in np.flatnonzero(truth)
        for j in np.flatnonzero(~truth)
        if folds[i] == folds[j]
    ]
    return sum(ordered) / len(ordered)


def test_auc_is_the_counted_fraction_of_pairs_and_equals_scikit_learns(rng):
    from sklearn.metrics import roc_auc_score

    for _ in range(20):
        values, truth = rng.integers(0, 9, 60) / 4, rng.random(60) < 0.3  # with many ties
        folds = rng.integers(0, 4, 60)
        expected = counted_auc(values, truth, folds)
        assert auc(values, truth, folds) == pytest.approx(expected, abs=1e-14)
        assert auc(values, truth) == pytest.approx(roc_auc_score(truth, values), abs=1e-14)
        assert auc(values, truth) == auc(values, truth, np.zeros(len(values)))


def test_pairs_of_all_terms_are_counted_at_once_among_the_observed_groups_of_each_fold(rng):
    values, truth, folds = rng.integers(0, 5, (40, 3)) / 4, rng.random((40, 3)) < 0.4, rng.integers(0, 3, 40)
    observed = rng.random((40, 3)) < 0.7
    counts = np.stack(concordant_pairs(values, truth, folds, observed))
    for fold, term in np.ndindex(3, 3):
        rows = (folds == fold) & observed[:, term]
        one = values[rows, term], truth[rows, term], np.ones((1, rows.sum()))
        assert counts[:, fold, term].tolist() == np.ravel(weighted_pairs(*one)).tolist()


def test_auc_without_a_pair_is_none_and_with_nan_an_error():
    assert auc([1, 2], [True, True]) is None
    assert auc([], []) is None
    assert auc([1, 2], [True, False], [0, 1]) is None
    for score in (auc, average_precision):
        with pytest.raises(DataError, match="nan"):
            score([1, np.nan], [True, False])


def test_metrics_of_a_hand_worked_case():
    #                  tp tp fn  fp tn tn tn tn
    truth = np.array([1, 1, 1, 0, 0, 0, 0, 0], bool)
    yes = np.array([1, 1, 0, 1, 0, 0, 0, 0], bool)
    values = np.array([5, 4, 1, 4, 3, 0, 0, 0], float)
    scores = evaluate_term(values, yes, truth)
    assert [scores[name] for name in (*METRICS[2:], "precision")] == [2 / 3, 4 / 5, 6 / 8, 2 / 3, 2 / 3]
    # 5 beats all five, 4 beats four and ties with one, 1 beats three: 12.5 of 15
    assert scores["auc"] == 12.5 / 15
    # first place; second or third, with a negative in the other: mean of 2/2 and 2/3; fifth
    assert scores["average_precision"] == pytest.approx((1 + 5 / 6 + 3 / 5) / 3)


def test_nothing_divided_by_nothing_is_none():
    no, all_yes = np.zeros(3, bool), np.ones(3, bool)
    for yes, expected in ((no, [None, 1, 1, None]), (all_yes, [1, None, 1, 1]), (no[:0], [None] * 4)):
        scores = evaluate_term(yes + 0.0, yes, yes)
        assert [scores[name] for name in METRICS[2:]] == expected


def outcome(truth, values, *, terms=None, reasons=None, folds=None):
    truth, values = np.array(truth, bool).T, np.array(values, float).T
    return TermOutcomes(
        terms=tuple(terms or (f"t{j}" for j in range(truth.shape[1]))),
        truth=truth,
        values=values,
        yes=values > 0,
        folds=folds,
        probabilities=1 / (1 + np.exp(-values)),
        reasons=reasons,
    )


def test_summaries_of_a_hand_worked_case():
    # t0: tp 1, fp 1, fn 0, tn 2, auc 3/3;  t1: tp 1, fp 0, fn 1, tn 2, auc 4/4
    result = score_terms({"4-6": outcome([[1, 0, 0, 0], [1, 1, 0, 0]], [[3, 2, -1, -2], [4, -0.5, -3, -3]])})
    t0, t1 = result["terms"]
    assert (t0["n_groups"], t0["n_positive"], t0["reason"]) == (4, 1, "")
    assert (t0["auc"], t0["sensitivity"], t0["specificity"], t0["accuracy"]) == (1, 1, 2 / 3, 3 / 4)
    assert (t1["auc"], t1["sensitivity"], t1["specificity"], t1["accuracy"]) == (1, 1 / 2, 1, 3 / 4)
    assert (t0["f1"], t1["f1"]) == (2 / 3, 2 / 3)
    summary = result["summary"]["4-6"]
    assert summary["macro"]["sensitivity"] == 3 / 4
    assert summary["weighted_top10"]["sensitivity"] == pytest.approx((1 * 1 + 2 * 1 / 2) / 3)
    assert summary["weighted_top10"]["specificity"] == pytest.approx((1 * 2 / 3 + 2 * 1) / 3)
    # summed counts: tp 2, fp 1, fn 1, tn 4; pooled: 3 and 4 beat all five, -0.5 beats all but the 2
    expected = {"sensitivity": 2 / 3, "specificity": 4 / 5, "accuracy": 6 / 8, "f1": 4 / 6, "auc": 14 / 15}
    expected |= {"average_precision": (1 + 1 + 3 / 4) / 3, "precision": 2 / 3}
    assert summary["micro"] == pytest.approx(expected)
    assert summary["macro"]["average_precision"] == (t0["average_precision"] + t1["average_precision"]) / 2
    assert summary["n_terms"] == 2
    assert result["summary"]["all"] == summary


def test_a_term_without_an_evaluation_has_a_reason_and_leaves_the_averages_alone():
    good = outcome([[1, 0, 0, 1]], [[3, -2, 1, 2]], terms=["good"])
    bad = [[0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 0, 1], [1, 0, 0, 1], [1, 0, 0, 1]]
    values = [[3, -2, 1, 2]] + [[9, 9, 9, 9]] * 4 + [[np.nan] * 4]
    terms = ["good", "never", "always", "maternal", "told", "untrained"]
    mixed = outcome([[1, 0, 0, 1], *bad], values, terms=terms, reasons=("",) * 4 + ("because", "no model"))
    result = score_terms({"4-6": mixed}, excluded=NOT_ANATOMY)
    assert result["summary"]["all"] == score_terms({"4-6": good})["summary"]["all"]
    reasons = [row["reason"] for row in result["terms"]]
    assert reasons[:3] == ["", "not evaluable: no positive group", "not evaluable: no negative group"]
    assert reasons[3:] == ["excluded by request", "because", "no model"]
    assert all(row[metric] is None for row in result["terms"][1:] for metric in METRICS)
    json.dumps(result, allow_nan=False)
    row = score_terms({"4-6": outcome([[1, 0]], [[1, 0]], folds=np.array([0, 1]))})["terms"][0]
    assert (row["auc"], row["reason"]) == (None, "not evaluable: no fold has both classes")


def test_the_summary_over_all_stage_ranges_takes_every_term_of_every_stage_range(rng):
    a = outcome(rng.random((7, 30)) < 0.4, rng.normal(size=(7, 30)))
    b = outcome(rng.random((6, 20)) < 0.4, rng.normal(size=(6, 20)))
    summary = score_terms({"4-6": a, "13-16": b})["summary"]
    assert summary["all"]["n_terms"] == 13
    for metric in METRICS:
        both = (7 * summary["4-6"]["macro"][metric] + 6 * summary["13-16"]["macro"][metric]) / 13
        assert summary["all"]["macro"][metric] == pytest.approx(both)
    yes, truth = [np.concatenate([getattr(o, name).ravel() for o in (a, b)]) for name in ("yes", "truth")]
    assert summary["all"]["micro"]["f1"] == evaluate_term(yes, yes, truth)["f1"]


def test_the_ten_terms_with_most_positive_groups_are_weighted_by_their_number(rng):
    truth = np.arange(40) < np.arange(2, 15)[:, None]  # 13 terms with 2 to 14 positive groups
    result = score_terms({"4-6": outcome(truth, rng.normal(size=(13, 40)))})
    frequent = [row for row in result["terms"] if row["n_positive"] >= 5]
    assert len(frequent) == 10
    for metric in METRICS:
        expected = sum(row["n_positive"] * row[metric] for row in frequent) / sum(range(5, 15))
        assert result["summary"]["4-6"]["weighted_top10"][metric] == pytest.approx(expected)


def test_nothing_to_evaluate_gives_none_and_no_nan():
    nothing = dict.fromkeys(METRICS)
    result = score_terms({"4-6": outcome([[0, 0]], [[1, 2]])})
    expected = dict.fromkeys(("macro", "weighted_top10"), nothing) | {"micro": nothing | {"precision": None}}
    expected |= {"groups": dict.fromkeys(AGREEMENT), "ranked_terms": None, "n_terms": 0}
    assert result["summary"] == {"4-6": expected, "all": expected}
    assert score_terms({})["summary"] == {"all": expected}


def test_the_terms_of_each_group_are_ranked_among_those_that_can_be_evaluated(rng):
    truth, values = rng.random((5, 20)) < 0.4, rng.normal(size=(5, 20))
    truth[0], truth[:, 7] = False, False  # a term and a group of which there is nothing to say
    scored = outcome(truth, values)
    ranked = zip(scored.probabilities[:, 1:], truth[1:].T)
    expected = np.mean([average_precision(values, carried) for values, carried in ranked if carried.any()])
    assert score_terms({"4-6": scored})["summary"]["4-6"]["ranked_terms"] == pytest.approx(expected)


def test_the_table_shows_the_best_term_first_fits_100_columns_and_says_synthetic():
    terms = ["worse", "best " + "b" * 90, "never"]
    truth, values = [[1, 1, 0], [1, 1, 0], [0, 0, 0]], [[1, -1, 0], [2, 1, 0], [0, 0, 0]]
    result = score_terms({"7-8": outcome(truth, values, terms=terms)})
    text = format_scores(result, synthetic=True)
    assert text.index("best b") < text.index("worse") < text.index("not evaluable: no positive group")
    assert "SYNTHETIC" in text.splitlines()[0]
    assert "SYNTHETIC" not in format_scores(result)
    assert max(map(len, text.splitlines())) <= 100
    columns = [line.rindex("1.000") for line in text.splitlines() if line.endswith("1.000")]
    assert len(set(columns)) == 1 and " AP " in text
    assert "a sentence" in format_scores(result | {"notes": ["a sentence"]})
    assert " - " in text and format_scores(score_terms({})) == "Scores"


def test_scores_compare_groups_of_one_fold_only(rng):
    truth, values, folds = rng.random((4, 30)) < 0.4, rng.normal(size=(4, 30)), np.arange(30) % 3
    scored = outcome(truth, values, folds=folds)
    pairs = scored.probabilities.ravel(), truth.T.ravel(), np.repeat(folds, 4)
    result = score_terms({"4-6": scored})
    shifted = score_terms({"4-6": outcome(truth, values + 9 * folds, folds=folds)})
    for row, other, one, positive in zip(result["terms"], shifted["terms"], values, truth):
        expected = average_precision(one, positive, folds)
        assert row["average_precision"] == other["average_precision"] == expected
        assert row["auc"] == other["auc"] == auc(one, positive, folds)
    micro = result["summary"]["4-6"]["micro"]
    assert micro["auc"] == pytest.approx(counted_auc(*pairs), abs=1e-14)
    assert micro["average_precision"] == pytest.approx(average_precision(*pairs), abs=1e-14)
    assert abs(micro["auc"] - counted_auc(*pairs[:2], 0 * pairs[2])) > 1e-6


def precision_of_order(truth):
    """Return the average precision of groups in a given order, by its definition."""
    ends = [i for i, positive in enumerate(truth) if positive]
    return np.mean([sum(truth[: end + 1]) / (end + 1) for end in ends])


@pytest.mark.parametrize("n_values", [3, 9999])
def test_ties_score_the_mean_over_all_their_orders(n_values, rng):
    for _ in range(10):
        values, truth = rng.integers(n_values, size=6), rng.random(6) < 0.5
        truth[0] = True
        orders = [order for order in permutations(range(6)) if (np.diff(values[list(order)]) <= 0).all()]
        expected = np.mean([precision_of_order(truth[list(order)].tolist()) for order in orders])
        assert average_precision(values, truth) == pytest.approx(expected)
