"""Tests of probabilities and thresholds."""

import numpy as np
import pytest
from scipy.optimize import minimize

from flyannot.terms.calibration import choose_threshold, fit_platt, reliability_bins
from flyannot.terms.options import BALANCED


def test_calibration_is_monotone_and_right_on_average(rng):
    values = 3 * rng.normal(size=4000) + 8
    truth = rng.random(4000) < 1 / (1 + np.exp(-(1.5 * (values - 8) - 2)))
    slope, offset = fit_platt(values, truth)
    assert slope == pytest.approx(1.5, rel=0.1)
    assert offset == pytest.approx(-14, rel=0.1)
    assert (1 / (1 + np.exp(-(slope * values + offset)))).mean() == pytest.approx(truth.mean(), abs=1e-3)


@pytest.mark.parametrize("seed", range(8))
def test_calibration_has_the_least_loss_of_any_also_for_values_with_long_tails(seed):
    """SciPy's minimiser is the slow twin; a plain step of Newton's method would go too far."""
    rng = np.random.default_rng(seed)
    truth = np.arange(60) < (1, 2, 7, 30)[seed % 4]
    values = np.exp(3 * rng.normal(size=60)) + 1000 * truth * (seed < 4) + truth
    target = np.where(truth, (truth.sum() + 1) / (truth.sum() + 2), 1 / ((~truth).sum() + 2))
    X = np.stack([values / values.std(), np.ones(60)])

    def loss(parameters):
        return (np.logaddexp(0, parameters @ X) - target * (parameters @ X)).sum()

    least = minimize(loss, [0, 0], bounds=[(0, None), (None, None)], method="Nelder-Mead", tol=1e-10)
    slope, offset = fit_platt(values, truth)
    assert loss(np.array([slope * values.std(), offset])) <= least.fun + 1e-9


def test_calibration_of_misleading_separable_or_constant_values_stays_finite():
    truth = np.array([True] * 2 + [False] * 8)
    assert fit_platt(np.where(truth, -1.0, 1.0), truth)[0] == 0
    slope, offset = fit_platt(np.where(truth, 1.0, -1.0), truth)
    # the two targets of Platt, 3/4 and 1/10, are met exactly
    assert 1 / (1 + np.exp(-(slope + offset))) == pytest.approx(3 / 4, abs=1e-4)
    assert 1 / (1 + np.exp(slope - offset)) == pytest.approx(1 / 10, abs=1e-4)
    slope, offset = fit_platt(np.where(np.arange(200) < 7, 1.0, -1.0), np.arange(200) < 7)  # 8/9, 1/195
    assert (slope + offset, slope - offset) == pytest.approx((np.log(8), np.log(194)))
    slope, offset = fit_platt(np.full(10, 3.0), truth)
    assert 1 / (1 + np.exp(-(3 * slope + offset))) == pytest.approx((2 * 3 / 4 + 8 / 10) / 10, abs=1e-6)


@pytest.mark.parametrize(
    ("values", "truth", "at", "threshold"),
    [
        ((0, 1, 3), "001", BALANCED, 2),  # half way between neighbours
        ((3, 2, 1), "001", BALANCED, 3),  # nothing is better than no to all
        ((0, 1, 2, 3), "1010", BALANCED, 3),
        ((0, 1, 2, 3), "0101", BALANCED, 2.5),  # 0.5 has the same sum: the highest is taken
        ((0, 1, 4), "011", ("sensitivity", 0.5), 2.5),
        ((0, 1, 4), "011", ("sensitivity", 1.0), 0.5),
        ((0, 1, 4), "011", ("precision", 1.0), 0.5),
        ((3, 2, 1), "010", ("sensitivity", 1.0), 1.5),
        ((3, 2, 1), "010", ("precision", 0.9), 3),  # out of reach: no to all
        ((0, 1, 2, 3, 4), "10001", ("sensitivity", 1.0), -0.5),  # below all
        ((0, 1, 2, 3, 4), "10001", ("sensitivity", 0.5), 3.5),
        ((0, 1, 2, 3, 4), "01111", ("precision", 0.8), -0.5),  # 4 of 5, exactly
        ((0, 1, 2, 3, 4), "00001", ("precision", 1.0), 3.5),
    ],
)
def test_thresholds_found_by_hand(values, truth, at, threshold):
    truth = np.array([letter == "1" for letter in truth])
    assert choose_threshold(np.array(values, float), truth, at) == threshold


@pytest.mark.parametrize("at", [BALANCED, ("sensitivity", 1.0)])
def test_a_threshold_divides_neighbours_that_nothing_lies_between(at):
    truth, close = np.array([False, False, True]), np.array([0.0, 1.0, np.nextafter(1.0, 2)])
    assert (close > choose_threshold(close, truth, at)).tolist() == truth.tolist()
    for lowest in (0.0, 1e300, -1e300):
        values = np.array([lowest, 1.1e300])
        assert (values > choose_threshold(values, np.array([True, False]), ("sensitivity", 1.0))).all()


def evaluated(yes, truth):
    tp, fp, fn = (np.count_nonzero(one) for one in (yes & truth, yes & ~truth, ~yes & truth))
    return {"precision": tp / max(1, tp + fp), "sensitivity": tp / (tp + fn), "tp": tp, "fp": fp}


@pytest.mark.parametrize("what", ["precision", "sensitivity"])
def test_a_threshold_gives_what_is_wanted_and_as_much_of_the_other_as_any_that_does(rng, what):
    for wanted in (0.3, 0.7, 0.95, 1.0):
        truth = rng.random(40) < 0.4
        values = np.round(truth + rng.normal(size=40), 1)
        every = [evaluated(values > cut, truth) for cut in (*np.unique(values), values.min() - 1)]
        fitting = [one for one in every if one[what] >= wanted and one["tp"]]
        found = evaluated(values > choose_threshold(values, truth, (what, wanted)), truth)
        if not fitting:
            assert found["tp"] == found["fp"] == 0
        elif what == "precision":
            assert found[what] >= wanted and found["tp"] == max(one["tp"] for one in fitting)
        else:
            assert found[what] >= wanted and found["fp"] == min(one["fp"] for one in fitting)


def test_bins_add_up_answers_of_which_each_counts_by_its_weight(rng):
    p = rng.random(20000)
    truth = rng.random(20000) < p
    bins = reliability_bins(p, truth)
    assert bins[:, 2].sum() == 20000 and np.abs(bins[:, 0] - bins[:, 1]).max() < 0.05 * bins[:, 2].min()
    assert bins[:, 3].sum() == pytest.approx(((p - truth) ** 2).sum())
    weighted = reliability_bins(np.array([1.0, 0.25]), np.array([True, False]), np.array([3, 2]))
    assert weighted[[2, 9]].tolist() == [[0.5, 0, 2, 0.125], [3, 3, 3, 0]]
