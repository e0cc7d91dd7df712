"""LIBSVM's linear support vector machine as it comes: the hinge loss, C of 1, and yes above 0."""

import numpy as np

from flyannot.classifiers.folds import look_up_folds
from flyannot.scores.metrics import TermOutcomes


def evaluate_by_libsvm(rows, *, folds):
    """The held-out answers of every row, by machines trained on the genes of the other folds.

    The features are scaled by one number, so that rows less their mean have length 1 on average: C means the
    same whatever they are.  No class weighs more than another, and no threshold is chosen.

    Parameters
    ----------
    rows : flyannot.classifiers.training_set.LabelledRows
    folds : dict from gene to fold

    Returns
    -------
    outcome : flyannot.scores.metrics.TermOutcomes, without probabilities
    """
    X, Y, row_folds = np.asarray(rows.X, np.float64), rows.Y, look_up_folds(np.asarray(rows.genes), folds)
    products, values = X @ X.T, np.full(Y.shape, np.nan)
    for fold in np.unique(row_folds):
        held = row_folds == fold
        values[held] = _values(products, Y, ~held, held)
    nothing = np.full(Y.shape, np.nan)
    return TermOutcomes(tuple(rows.terms), Y, values, values > 0, row_folds, nothing, ("",) * len(rows.terms))


def _values(products, Y, trained, held):
    """Decision values of the rows that are held out."""
    from sklearn.svm import SVC

    inner = products[np.ix_(trained, trained)]
    scale = np.trace(inner) / len(inner) - inner.mean()  # the mean square of rows less their mean
    machines = (SVC(kernel="precomputed", C=1.0).fit(inner / scale, y) for y in Y[trained].T)
    across = products[np.ix_(held, trained)] / scale
    return np.stack([machine.decision_function(across) for machine in machines], axis=1)
