from itertools import permutations

import numpy as np
import pytest

from flyannot.scores.average_precision import average_precision, mean_average_precision


def precision_of_order(truth):
    """Average precision of groups in a given order, by its definition."""
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


def test_terms_without_positives_are_left_out_of_the_mean(rng):
    values, truth = rng.normal(size=(20, 3)), rng.random((20, 3)) < 0.5
    truth[:, 1] = False
    kept = [average_precision(values[:, j], truth[:, j]) for j in (0, 2)]
    assert mean_average_precision(values, truth) == pytest.approx(np.mean(kept))
    assert mean_average_precision(values[:, 1:2], truth[:, 1:2]) is None
