"""How well probabilities agree with what is found: Brier score and calibration error (ECE)."""

import numpy as np


def brier_score(probability, truth):
    """The mean squared difference of probability and truth (0 or 1): 0 is perfect, 1/4 a coin."""
    return float(np.mean((np.asarray(probability) - truth) ** 2))


def calibration_error(probability, truth, n_bins=10):
    """ECE: by how much, on average, the fraction of positives differs from the probability that was told.

    Parameters
    ----------
    probability : float array (n,) in [0, 1]
    truth : bool array (n,)
    n_bins : bins of equal width; each is weighted by how many probabilities fall into it

    Source
    ------
    Guo, Pleiss, Sun and Weinberger, ICML 2017, arXiv:1706.04599.
    """
    probability, truth = np.asarray(probability), np.asarray(truth)
    place = np.minimum((probability * n_bins).astype(int), n_bins - 1)
    excess = np.bincount(place, probability - truth, n_bins)
    return float(np.abs(excess).sum() / len(probability))
