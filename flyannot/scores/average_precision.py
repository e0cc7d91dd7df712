"""How well groups are ranked for a term: average precision, and its mean over terms.

Groups are ranked by falling decision value.  Average precision is the mean, over the positive groups, of
the precision of the list that ends with that group.  Among groups of one value the order is open: the
score is the expected one over all orders, so that a constant scores what a random ranking would, not 1.
(scikit-learn ends all lists at the end of a tie instead; without ties both agree.)
"""

import numpy as np

from flyannot.errors import DataError


def average_precision(values, truth, folds=None):
    """The expected average precision of one term, in (0, 1]; None without positives.

    Parameters
    ----------
    values : float array (n_groups,); DataError if one is nan
    truth : bool array (n_groups,)
    folds : int array (n_groups,), or None where one model predicts all.  Values of different models have no
        common scale: each fold is ranked separately, and the folds are weighted by their positives.
    """
    values, truth = checked_decision_values(values, truth)
    if not truth.any():
        return None
    folds = np.zeros(len(values), int) if folds is None else np.asarray(folds)
    total = sum(_sum_of_precisions(values[folds == fold], truth[folds == fold]) for fold in np.unique(folds))
    return float(total / truth.sum())


def checked_decision_values(values, truth):
    """Decision values as floats and truth as bool; DataError if a value is nan."""
    values, truth = np.asarray(values, float), np.asarray(truth, bool)
    if np.isnan(values).any():
        raise DataError("a decision value is nan", fix="train again: the model or the features are damaged")
    return values, truth


def mean_average_precision(values, truth):
    """The mean of `average_precision` over the terms that have positives; None if none has.

    `values` are floats and `truth` bool, both (n_groups, n_terms).
    """
    scores = [average_precision(v, t) for v, t in zip(np.asarray(values).T, np.asarray(truth).T)]
    scores = [score for score in scores if score is not None]
    return float(np.mean(scores)) if scores else None


def _sum_of_precisions(values, truth):
    """The expected sum, over the positives, of the precision of the list that ends there.

    In a tie of m groups, t of them positive, with a groups and b positives before it, place j = 1..m is
    positive with probability t / m, and then has (j - 1) (t - 1) / (m - 1) positives of the tie before it.
    """
    ties, place = np.unique(-values, return_inverse=True)
    m = np.bincount(place, minlength=len(ties))
    t = np.bincount(place, truth, minlength=len(ties))
    a, b = np.cumsum(m) - m, np.cumsum(t) - t
    tie = np.repeat(np.arange(len(ties)), m)
    j = np.arange(len(values)) - a[tie]  # places before it in its tie
    before = b[tie] + j * (t[tie] - 1) / np.maximum(m[tie] - 1, 1)
    return float((t[tie] / m[tie] * (1 + before) / (a[tie] + j + 1)).sum())
