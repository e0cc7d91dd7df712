"""ROC and precision-recall curves with bootstrap bands over genes.

Decision values of different folds have no common scale, so each fold has its own curves. The curve of a term
is their average. True positive rates are weighted by the number of pairs of a positive and a negative in the
fold, and precisions by the number of positives. The area under the first curve is therefore the AUC, and the
mean height of the second is the average precision of `terms.metrics`.

A resample draws genes by `bootstrap_gene_weights`: all groups of a gene together, the same for all terms.
"""

from functools import partial

import numpy as np

GRID = np.linspace(0, 1, 101)
N_RESAMPLES = 200
_BAND_PERCENTILES = (2.5, 50, 97.5)


def confidence_band(heights):
    """Compute a curve with its 95% bootstrap band, clipped to [0, 1].

    A resample repeats groups, which makes curves of folds with few positives look too good. The band is
    therefore shifted so that the median of the resamples lies on the curve.

    Parameters
    ----------
    heights : float array (1 + n_resamples, len(GRID))
        The first row is the curve itself. The other rows are its bootstrap resamples.

    Returns
    -------
    curve, low, high : float arrays (len(GRID),); a band of nan if no resample is defined
    """
    samples = heights[1:] if len(heights) > 1 else heights
    samples = samples[np.isfinite(samples[:, 0])]  # a resample has a whole curve or none
    if not len(samples):
        return heights[0], np.full(len(GRID), np.nan), np.full(len(GRID), np.nan)
    low, middle, high = np.percentile(samples, _BAND_PERCENTILES, axis=0)
    return heights[0], *(np.clip(heights[0] + edge - middle, 0, 1) for edge in (low, high))


def _average_folds(values, truth, folds, weights, draw_fold):
    """Compute a curve in each fold, and average the curves over the folds; one curve for each resample.

    Parameters
    ----------
    values : float array (n,), decision values of n groups
    truth : bool array (n,), True for groups with the term
    folds : int array (n,), the fold of each group
    weights : float array (n_rows, n)
        How often each resample (row) contains each group. The first row is ones: the original groups.
    draw_fold : function
        Takes the weighted numbers of true and of false positives, (n_rows, n_cuts). Returns the heights of
        the curve over GRID, (n_rows, len(GRID)), and the weight of the fold in the average, (n_rows, 1).

    Returns
    -------
    float array (n_rows, len(GRID)); nan in rows in which no fold has a positive weight
    """
    total = np.zeros((len(weights), len(GRID)))
    share = np.zeros((len(weights), 1))
    for fold in np.unique(folds):
        rows = folds == fold
        heights, importance = draw_fold(*_count_positives(values[rows], truth[rows], weights[:, rows]))
        total += np.where(importance > 0, heights * importance, 0)
        share += importance
    with np.errstate(invalid="ignore"):
        return total / np.where(share > 0, share, np.nan)


def _count_positives(values, truth, weights):
    """Count true and false positives at every threshold, for each resample.

    Every distinct decision value is a threshold, the highest first. Parameters are as for `_average_folds`,
    limited to one fold. Returns two float arrays (n_rows, n_thresholds): true positives and false
    positives.
    """
    order = np.argsort(-values, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(values[order])), len(order) - 1)  # ties are one cut
    weights = weights[:, order]
    truth = truth[order]
    return np.cumsum(weights * truth, axis=1)[:, ends], np.cumsum(weights * ~truth, axis=1)[:, ends]


def _roc_heights(tp, fp):
    """Interpolate the true positive rate at the false positive rates in GRID, for each resample.

    `tp` and `fp` are the numbers of true and false positives at each threshold, (n_rows, n_thresholds).
    Returns the rates, (n_rows, len(GRID)), and the number of pairs of a positive and a negative, (n_rows,
    1).
    """
    positives = tp[:, -1:]
    negatives = fp[:, -1:]
    start = np.zeros((len(tp), 1))
    x = np.hstack([start, fp / np.maximum(negatives, 1)])
    y = np.hstack([start, tp / np.maximum(positives, 1)])
    return np.array([np.interp(GRID, xs, ys) for xs, ys in zip(x, y)]), positives * negatives


def _precision_heights(tp, fp):
    """Find the precision at the highest threshold that reaches each recall in GRID, for each resample.

    `tp` and `fp` are the numbers of true and false positives at each threshold, (n_rows, n_thresholds).
    Returns the precisions, (n_rows, len(GRID)), and the number of positives, (n_rows, 1).
    """
    positives = tp[:, -1:]
    precision = tp / np.maximum(tp + fp, 1)
    reached = [np.searchsorted(counts, np.maximum(GRID * counts[-1], 1) - 1e-9) for counts in tp]
    heights = [row[np.minimum(at, len(row) - 1)] for row, at in zip(precision, reached)]
    return np.array(heights), positives


roc_curves = partial(_average_folds, draw_fold=_roc_heights)
precision_curves = partial(_average_folds, draw_fold=_precision_heights)


def reliability_curve(probabilities, truth, n_bins=10):
    """Compute a reliability curve: mean probability and fraction of positives in bins of equal width.

    Parameters
    ----------
    probabilities : float array (n,), in [0, 1]
    truth : bool array (n,), True for positives
    n_bins : int

    Returns
    -------
    float array (2, n_nonempty_bins): mean probabilities in the first row, fractions in the second
    """
    bins = np.minimum((probabilities * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    sums = np.stack([np.bincount(bins, values, n_bins) for values in (probabilities, truth)])
    return (sums / np.maximum(counts, 1))[:, counts > 0]
