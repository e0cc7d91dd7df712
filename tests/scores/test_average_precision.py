from itertools import permutations

import numpy as np
import pytest

from flyannot.scores.average_precision import average_precision, mean_average_precision


def precision_of_order(truth):
    """Average precision of groups in a given order, by its definition."""
    ends = [i for i, positive in enumerate(truth) if positive]
    return np.mean([sum(truth[: end + 1]) / (end + 1) for end in ends])


def test_without_ties_scikit_learn_agrees(rng):
    from sklearn.metrics import average_precision_score

    for _ in range(20):
        values, truth = rng.normal(size=50), rng.random(50) < 0.2
        truth[0] = True
        assert average_precision(values, truth) == pytest.approx(average_precision_score(truth, values))


def test_ties_score_the_mean_over_all_their_orders(rng):
    for _ in range(10):
        values, truth = rng.integers(3, size=6), rng.random(6) < 0.5
        truth[0] = True
        orders = [order for order in permutations(range(6)) if (np.diff(values[list(order)]) <= 0).all()]
        expected = np.mean([precision_of_order(truth[list(order)].tolist()) for order in orders])
        assert average_precision(values, truth) == pytest.approx(expected)


def test_a_ranking_by_hand_and_a_perfect_one_whatever_the_order_of_rows(rng):
    assert average_precision([4, 3, 2, 1], [1, 0, 1, 0]) == pytest.approx((1 + 2 / 3) / 2)
    values, truth, order = rng.normal(size=30), np.arange(30) < 7, rng.permutation(30)
    assert average_precision(truth.astype(float), truth) == 1
    assert average_precision(values, truth) == average_precision(values[order], truth[order])


def test_folds_are_ranked_apart(rng):
    values, truth = rng.normal(size=40), rng.random(40) < 0.4
    folds = np.repeat([0, 1], 20)
    shifted = values + 100 * folds
    assert average_precision(values, truth, folds) == pytest.approx(average_precision(shifted, truth, folds))


def test_terms_without_positives_are_left_out_of_the_mean(rng):
    values, truth = rng.normal(size=(20, 3)), rng.random((20, 3)) < 0.5
    truth[:, 1] = False
    kept = [average_precision(values[:, j], truth[:, j]) for j in (0, 2)]
    assert mean_average_precision(values, truth) == pytest.approx(np.mean(kept))
    assert mean_average_precision(values[:, 1:2], truth[:, 1:2]) is None
