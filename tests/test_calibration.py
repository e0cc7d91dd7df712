import numpy as np
import pytest

from flyannot.calibration import best_threshold, calibrate
from flyannot.scores import confusion


def test_calibration_is_monotone_and_right_on_average(rng):
    values = 3 * rng.normal(size=4000) + 8
    truth = rng.random(4000) < 1 / (1 + np.exp(-(1.5 * (values - 8) - 2)))
    slope, offset = calibrate(values, truth)
    assert slope == pytest.approx(1.5, rel=0.1)
    assert offset == pytest.approx(-14, rel=0.1)
    assert (1 / (1 + np.exp(-(slope * values + offset)))).mean() == pytest.approx(truth.mean(), abs=1e-3)


def test_calibration_of_misleading_separable_or_constant_values_stays_finite():
    truth = np.array([True] * 2 + [False] * 8)
    assert calibrate(np.where(truth, -1.0, 1.0), truth)[0] == 0
    slope, offset = calibrate(np.where(truth, 1.0, -1.0), truth)
    # the two targets of Platt, 3/4 and 1/10, are met exactly
    assert 1 / (1 + np.exp(-(slope + offset))) == pytest.approx(3 / 4, abs=1e-4)
    assert 1 / (1 + np.exp(slope - offset)) == pytest.approx(1 / 10, abs=1e-4)
    slope, offset = calibrate(np.full(10, 3.0), truth)
    assert 1 / (1 + np.exp(-(3 * slope + offset))) == pytest.approx((2 * 3 / 4 + 8 / 10) / 10, abs=1e-6)


def youden(values, truth, threshold):
    tp, fp, fn, tn = confusion(values > threshold, truth)
    return tp / (tp + fn) + tn / (tn + fp) - 1


def test_no_threshold_has_a_larger_youden_index(rng):
    for _ in range(30):
        values, truth = rng.integers(0, 12, 25) / 3, rng.random(25) < 0.4
        if truth.all() or not truth.any():
            continue
        best = best_threshold(values, truth)
        others = np.unique(values)
        indices = [youden(values, truth, other) for other in others]
        assert youden(values, truth, best) == pytest.approx(max(indices))
        assert best >= others[np.flatnonzero(np.isclose(indices, max(indices)))[-1]]  # ties: the highest


def test_the_threshold_lies_between_neighbours_or_says_no_to_all():
    truth = np.array([False, False, True])
    assert best_threshold(np.array([0.0, 1, 3]), truth) == 2
    assert best_threshold(np.array([3.0, 2, 1]), truth) == 3
    close = np.array([0.0, 1.0, np.nextafter(1.0, 2)])
    assert (close > best_threshold(close, truth)).tolist() == truth.tolist()
