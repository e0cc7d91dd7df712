"""ROC and precision-recall curves with bootstrap bands over genes.

Decision values of different folds have no common scale, so each fold has curves of its own, and a term's
curve is their average: true positive rates weighted by the fold's pairs of a positive and a negative,
precisions by its positives.  So the area under the curve is the AUC, and the mean height of the other the
average precision, that `flyannot.terms.metrics` gives.

A resample draws genes by `bootstrap_gene_weights`: all groups of a gene together, the same for all terms.
"""

from functools import partial

import numpy as np

GRID = np.linspace(0, 1, 101)
N_RESAMPLES = 200
_LEVEL = (2.5, 97.5)  # percentiles of the band


def confidence_band(heights):
    """Return the heights of the first row, and those of the 95 % band of the others, low and high.

    What is defined nowhere is nan.

    A resample repeats groups, which flatters curves of folds with few positives: so the quantiles are
    moved by what the median of the resamples lies off the curve.
    """
    samples = heights[1:] if len(heights) > 1 else heights
    low, middle, high = np.nanpercentile(samples, (_LEVEL[0], 50, _LEVEL[1]), axis=0)
    return heights[0], *(np.clip(heights[0] + edge - middle, 0, 1) for edge in (low, high))


def _fold_average(values, truth, folds, weights, curves_of_fold):
    """Return curves over GRID, the average of those of the folds, (n_rows, len(GRID)); nan without pairs.

    Parameters
    ----------
    values : float array (n,); truth : bool array (n,); folds : int array (n,)
    weights : float array (n_rows, n), how often a resample has each group; the first row is ones
    """
    total, share = np.zeros((len(weights), len(GRID))), np.zeros((len(weights), 1))
    for fold in np.unique(folds):
        rows = folds == fold
        heights, importance = curves_of_fold(*_ranked(values[rows], truth[rows], weights[:, rows]))
        total += np.where(importance > 0, heights * importance, 0)
        share += importance
    with np.errstate(invalid="ignore"):
        return total / np.where(share > 0, share, np.nan)


def _ranked(values, truth, weights):
    """Return weighted true and false positives above each distinct value, highest first, (n_rows, n_cuts)."""
    order = np.argsort(-values, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(values[order])), len(order) - 1)  # ties are one cut
    weights, truth = weights[:, order], truth[order]
    return np.cumsum(weights * truth, axis=1)[:, ends], np.cumsum(weights * ~truth, axis=1)[:, ends]


def _roc_of_fold(tp, fp):
    """Return the true positive rate over GRID of false positive rates, and the number of pairs."""
    positives, negatives = tp[:, -1:], fp[:, -1:]
    x, y = fp / np.maximum(negatives, 1), tp / np.maximum(positives, 1)
    start = np.zeros((len(tp), 1))
    x, y = np.hstack([start, x]), np.hstack([start, y])
    return np.array([np.interp(GRID, xs, ys) for xs, ys in zip(x, y)]), positives * negatives


def _precision_of_fold(tp, fp):
    """Return the precision at the first threshold that reaches each recall of GRID, and the positives."""
    positives = tp[:, -1:]
    precision = tp / np.maximum(tp + fp, 1)
    reached = [np.searchsorted(counts, np.maximum(GRID * counts[-1], 1) - 1e-9) for counts in tp]
    heights = [row[np.minimum(at, len(row) - 1)] for row, at in zip(precision, reached)]
    return np.array(heights), positives


roc_curves = partial(_fold_average, curves_of_fold=_roc_of_fold)
precision_curves = partial(_fold_average, curves_of_fold=_precision_of_fold)
