"""The rivals of SISO in Huang et al. 2013: an SVM with a Gaussian kernel, and the nearest neighbours.

Each learns from labelled rows X (n_rows, n_features), Y bool (n_rows, n_terms), and returns a function from
queries (n_queries, n_features) to values (n_queries, n_terms).  Rows are scaled to length 1.
"""

import numpy as np

from flyannot.encode.groups import unit_rows
from flyannot.terms.folds import look_up_folds
from flyannot.terms.metrics import TermOutcomes

_C, _GAMMA = 1.0, 0.6  # at an end of the grid of Huang et al.
_N_NEIGHBOURS = 20
_KERNEL_ROWS, _QUERIES = 1024, 256  # whose kernel, or whose distances, are made at once


def fit_rbf_svm(X, Y, rng=None, *, C=_C, gamma=_GAMMA):
    """scikit-learn's SVC of every term on one kernel matrix, classes weighted by balance.

    A term with one class gets the constant value of that class, +1 or -1.
    """
    from sklearn.svm import SVC

    A, Y = unit_rows(X), np.asarray(Y, bool)
    kernel = gaussian_kernel(A, A, gamma)
    dual, intercept = np.zeros((Y.shape[1], len(A))), np.zeros(Y.shape[1])
    for j, positive in enumerate(Y.T):
        if positive.all() or not positive.any():
            intercept[j] = 1.0 if positive.any() else -1.0
            continue
        svm = SVC(C=C, kernel="precomputed", class_weight="balanced").fit(kernel, positive)
        dual[j, svm.support_] = svm.dual_coef_[0]
        intercept[j] = svm.intercept_[0]
    used = dual.any(axis=0)
    A, dual = A[used], dual[:, used]

    def decision_values(queries):
        units, values = unit_rows(queries), np.empty((len(queries), len(dual)))
        for start in range(0, len(units), _KERNEL_ROWS):
            rows = slice(start, start + _KERNEL_ROWS)
            values[rows] = gaussian_kernel(units[rows], A, gamma) @ dual.T + intercept
        return values

    return decision_values


def gaussian_kernel(X, A, gamma):
    """exp(-gamma |x - a|^2) of all rows of X and A."""
    squares = [np.einsum("ij,ij->i", Z, Z, dtype=np.float64) for Z in (X, A)]
    distances = np.maximum(np.add.outer(*squares) - 2 * (X @ A.astype(np.float64).T), 0)
    return np.exp(-gamma * distances)


def fit_nearest_neighbours(X, Y, rng=None, *, n_neighbours=_N_NEIGHBOURS):
    """Fit nearest neighbours, whose answer is the mean terms of the nearest rows by cosine.

    Of equally near rows the first counts.
    """
    A, Y, k = unit_rows(X), np.asarray(Y, np.uint8), min(n_neighbours, len(X))

    def mean_terms(queries):
        units, values = unit_rows(queries), np.zeros((len(queries), Y.shape[1]))
        for start in range(0, len(units), _QUERIES):
            rows = slice(start, start + _QUERIES)
            order = np.argsort(-(units[rows] @ A.T), axis=1, kind="stable")
            values[rows] = Y[order[:, :k]].sum(axis=1) / k
        return values

    return mean_terms


def evaluate_by_libsvm(rows, *, folds):
    """Answer for every row, held out, by machines trained on the genes of the other folds.

    The features are scaled by one number, so that rows less their mean have length 1 on average: C means the
    same whatever they are.  No class weighs more than another, and no threshold is chosen.

    Parameters
    ----------
    rows : LabelledRows
    folds : dict from gene to fold

    Returns
    -------
    outcome : TermOutcomes, whose probabilities are nan
    """
    from sklearn.svm import SVC

    X, Y, row_folds = np.asarray(rows.X, np.float64), rows.Y, look_up_folds(np.asarray(rows.genes), folds)
    products, values = X @ X.T, np.full(Y.shape, np.nan)
    for fold in np.unique(row_folds):
        held, trained = row_folds == fold, row_folds != fold
        inner = products[np.ix_(trained, trained)]
        scale = np.trace(inner) / len(inner) - inner.mean()  # the mean square of rows less their mean
        machines = (SVC(kernel="precomputed", C=1.0).fit(inner / scale, y) for y in Y[trained].T)
        across = products[np.ix_(held, trained)] / scale
        values[held] = np.stack([machine.decision_function(across) for machine in machines], axis=1)
    nothing = np.full(Y.shape, np.nan)
    return TermOutcomes(tuple(rows.terms), Y, values, values > 0, nothing, row_folds, ("",) * len(rows.terms))
