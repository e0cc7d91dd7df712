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
    """Return a curve with the lower and the upper end of its 95% band; nan where nothing is defined.

    A resample repeats groups, which flatters curves of folds with few positives. The band is therefore moved
    by the distance of the median resample from the curve.

    Parameters
    ----------
    heights : float array (1 + n_resamples, len(GRID)), the curve itself in the first row
    """
    samples = heights[1:] if len(heights) > 1 else heights
    low, middle, high = np.nanpercentile(samples, _BAND_PERCENTILES, axis=0)
    return heights[0], *(np.clip(heights[0] + edge - middle, 0, 1) for edge in (low, high))


def _average_folds(values, truth, folds, weights, draw_fold):
    """Return curves over GRID, averaged over the folds, (n_rows, len(GRID)); nan without pairs.

    Parameters
    ----------
    values : float array (n,); truth : bool array (n,); folds : int array (n,)
    weights : float array (n_rows, n), how often a resample has each group; the first row is ones
    draw_fold : function from true and false positives to the heights and the weight of one fold
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
    """Return weighted true and false positives above each distinct value, highest first, (n_rows, n_cuts)."""
    order = np.argsort(-values, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(values[order])), len(order) - 1)  # ties are one cut
    weights = weights[:, order]
    truth = truth[order]
    return np.cumsum(weights * truth, axis=1)[:, ends], np.cumsum(weights * ~truth, axis=1)[:, ends]


def _roc_heights(tp, fp):
    """Return the true positive rate over GRID of false positive rates, and the number of pairs."""
    positives = tp[:, -1:]
    negatives = fp[:, -1:]
    start = np.zeros((len(tp), 1))
    x = np.hstack([start, fp / np.maximum(negatives, 1)])
    y = np.hstack([start, tp / np.maximum(positives, 1)])
    return np.array([np.interp(GRID, xs, ys) for xs, ys in zip(x, y)]), positives * negatives


def _precision_heights(tp, fp):
    """Return the precision at the first threshold that reaches each recall of GRID, and the positives."""
    positives = tp[:, -1:]
    precision = tp / np.maximum(tp + fp, 1)
    reached = [np.searchsorted(counts, np.maximum(GRID * counts[-1], 1) - 1e-9) for counts in tp]
    heights = [row[np.minimum(at, len(row) - 1)] for row, at in zip(precision, reached)]
    return np.array(heights), positives


roc_curves = partial(_average_folds, draw_fold=_roc_heights)
precision_curves = partial(_average_folds, draw_fold=_precision_heights)


def reliability(probabilities, truth, n_bins=10):
    """Return the mean probability and the fraction of positives in bins of equal width, without empty bins.

    Parameters
    ----------
    probabilities : float array (n,), in [0, 1]
    truth : bool array (n,)
    """
    bins = np.minimum((probabilities * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    sums = np.stack([np.bincount(bins, values, n_bins) for values in (probabilities, truth)])
    return (sums / np.maximum(counts, 1))[:, counts > 0]
