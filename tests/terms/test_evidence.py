"""Tests of the evidence for a term: numbers of genes, and an unbiased AUC."""

import numpy as np
import pytest
from scipy.stats import norm

from flyannot.terms.calibration import fit_platt, reliability_bins
from flyannot.terms.metrics import auc, auc_interval
from flyannot.terms.model import LEAST_GENES, assess_terms, count_genes
from flyannot.terms.scorer import OutOfFoldValues, choose_setting
from flyannot.terms.training_set import ENOUGH_GROUPS
from tests.campaign.trials import IN_CAMPAIGN


def held_out(values, folds):
    return OutOfFoldValues(values, values, np.repeat(folds[:, None], values.shape[1], axis=1))


def test_genes_are_counted_once_however_many_groups_they_have():
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 0]], bool)
    carry, lack = count_genes(Y, ["b", "b", "a", "b"], np.ones_like(Y))
    assert (carry.tolist(), lack.tolist()) == ([1, 1], [1, 1])


@pytest.mark.parametrize("n_positive", [LEAST_GENES - 1, LEAST_GENES, 25, 26])
def test_a_term_of_too_few_genes_is_untested_and_any_other_has_its_auc_within_folds(n_positive, rng):
    assert ENOUGH_GROUPS == LEAST_GENES, "as many as evaluate wants where no number is given"
    genes, folds = np.array([f"g{i}" for i in range(30)]), np.arange(30) % 3
    Y = (np.arange(30) < n_positive)[:, None]
    values = rng.normal(size=(30, 1)) + Y + 5 * folds[:, None]  # folds have no common scale
    area, low, high = np.ravel(assess_terms(held_out(values, folds), Y, genes, np.ones_like(Y))[0])
    if n_positive in (LEAST_GENES - 1, 26):
        assert np.isnan([area, low, high]).all()
    else:
        assert area == auc(values[:, 0], Y[:, 0], folds)
        assert low < area < high or (low, high) == (area, area) == (1, 1)


def test_the_reliability_of_a_fold_is_by_a_calibration_on_the_other_folds(rng):
    folds, Y = np.arange(60) % 3, rng.random((60, 2)) < [0.5, 0.05]
    Y[:4, 1], Y[4:, 1] = True, False  # too few to test
    values = rng.normal(size=Y.shape) + Y
    of_terms = assess_terms(held_out(values, folds), Y, np.arange(60), np.ones_like(Y))[1]
    bins = 0
    for fold in range(3):
        out = folds == fold
        slope, offset = fit_platt(values[~out, 0], Y[~out, 0])
        bins = bins + reliability_bins(1 / (1 + np.exp(-slope * values[out, 0] - offset)), Y[out, 0])
    assert of_terms[0] == pytest.approx(bins) and not of_terms[1].any()


@pytest.mark.parametrize("share", [0.0, 0.3])  # of the positive genes, of those that look like negative ones
@pytest.mark.parametrize("width", [1, 2])  # of positive values, relative to the negative ones
@pytest.mark.parametrize("n_positive", [5, 20, 60] if IN_CAMPAIGN else [20])
@pytest.mark.parametrize("n", [60, 150, 400] if IN_CAMPAIGN else [60])
def test_the_interval_holds_the_true_area_about_as_often_as_it_says(n, n_positive, width, share, trials):
    rng = np.random.default_rng(n_positive)
    n_draws = trials(40, campaign=200)
    n_positive = min(n_positive, n // 2)
    positive = np.arange(n) < n_positive
    for distance in (0.4, 1.5, 3.0):
        area = (1 - share) * norm.cdf(distance / np.hypot(1, width)) + share / 2
        held = 0
        for _ in range(n_draws):
            values = rng.normal(size=n)
            is_moved = rng.random(n_positive) >= share
            values[:n_positive][is_moved] = distance + width * values[:n_positive][is_moved]
            low, high = auc_interval(values, positive, folds=rng.permutation(n) % 3)
            held += low <= area <= high
        assert held / n_draws >= 0.85


def test_the_interval_has_the_areas_that_the_measured_one_does_not_contradict(rng):
    """A slow twin: pairs are counted one by one, and each area is tried."""
    values, positive = np.round(rng.normal(size=30), 1), np.arange(30) < 9
    values[positive] += 0.8
    ahead, behind = values[positive], values[~positive]
    wins = np.array([[(a > b) + (a == b) / 2 for b in behind] for a in ahead])
    area, delong = wins.mean(), wins.mean(1).var(ddof=1) / 9 + wins.mean(0).var(ddof=1) / 21
    inside = []
    for at in np.arange(0.0005, 1, 0.001):
        both_ahead, both_behind = at / (2 - at), 2 * at**2 / (1 + at)
        hanley = (at * (1 - at) + 8 * (both_ahead - at**2) + 20 * (both_behind - at**2)) / (9 * 21)
        if abs(area - at) <= 1.96 * max(hanley, delong * at * (1 - at) / (area * (1 - area))) ** 0.5:
            inside.append(at)
    assert auc_interval(values, positive) == pytest.approx((inside[0], inside[-1]), abs=2e-3)
    wide = auc_interval(values, positive, 0.99)
    assert wide[0] < inside[0] and wide[1] > inside[-1]
    twice = auc_interval(np.repeat(values, 2), np.repeat(positive, 2), genes=np.repeat(np.arange(30), 2))
    assert twice == pytest.approx(auc_interval(values, positive), abs=1e-9), "a gene counts once"
    low, high = auc_interval(positive, positive)
    assert 0.8 < low < high == 1 and auc_interval(~positive, positive)[0] == 0
    assert auc_interval(values[5:], positive[5:]) is None, "four genes have the term"


def test_the_best_of_many_settings_by_chance_does_not_flatter_what_is_scored(rng):
    """Choose among forty settings of noise: the best looks good only on the rows that chose it."""
    folds, chosen, scored = np.arange(60) % 3, [], []
    Y = (np.arange(60) < 15)[:, None]
    for _ in range(40):
        _, found = choose_setting(list(rng.normal(size=(40, 60, 1))), Y, folds)
        chosen.append(auc(found.values[:, 0], Y[:, 0], folds))
        scored.append(auc(found.scored[:, 0], Y[:, 0], folds))
    assert np.mean(chosen) > 0.65
    assert abs(np.mean(scored) - 0.5) < 0.05


def test_where_there_is_no_choice_all_held_out_values_are_scored(rng):
    values, folds = rng.normal(size=(30, 2)), np.arange(30) % 3
    number, found = choose_setting([values], np.repeat(np.arange(30)[:, None] < 9, 2, axis=1), folds)
    assert number == 0 and (found.scored == values).all() and (found.values == values).all()
    assert (found.folds == folds[:, None]).all()


def test_of_equally_good_settings_the_first_is_taken_and_others_must_be_better_by_the_margin():
    folds, truth = np.arange(20) % 2, (np.arange(20) < 8)[:, None]
    good, bad = truth + 0.0, 1.0 - truth
    assert choose_setting([good, good, bad], truth, folds)[0] == 0
    assert choose_setting([bad, good], truth, folds)[0] == 1
    assert choose_setting([bad, good], truth, folds, margin=1.1)[0] == 0
