"""A linear model of single terms that is learned in milliseconds, where a linear SVM takes seconds.

Ridge regression on +1 and -1, both classes weighing the same.  What every row would get if it were left out
follows in closed form; calibration and thresholds are made of these values, as those of the classifiers are.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.classifiers.calibration import calibrate, sigmoid, threshold_at

_PENALTY = 10.0  # on rows of mean squared length 1


@dataclass(frozen=True)
class QuickRidge:
    """weights : float array (n_features + 1, n_terms), the last row the intercept; the others (n_terms,)"""

    weights: np.ndarray
    slope: np.ndarray
    offset: np.ndarray
    threshold: np.ndarray

    def decision_values(self, X):
        """(n_rows, n_terms)."""
        return X @ self.weights[:-1] + self.weights[-1]

    def probabilities(self, values):
        """Calibrated probabilities of decision values."""
        return sigmoid(self.slope * values + self.offset)

    @property
    def threshold_probability(self):
        """The probability above which the answer is yes, (n_terms,)."""
        return self.probabilities(self.threshold)


def fit_quick_ridge(X, Y, known):
    """Fit every term on the rows in which it is known.

    Parameters
    ----------
    X : float array (n_rows, n_features); Y, known : bool arrays (n_rows, n_terms)
    """
    found = [_fitted(X[mine], truth[mine]) for truth, mine in zip(Y.T, known.T)]
    weights, slope, offset, threshold = (np.array(one) for one in zip(*found))
    return QuickRidge(weights.T, slope, offset, threshold)


def _fitted(X, truth):
    A = np.hstack([X, np.ones((len(X), 1))])
    weight = np.where(truth, 0.5 / truth.sum(), 0.5 / (~truth).sum()) * len(X)
    inverse = np.linalg.inv((A * weight[:, None]).T @ A + _PENALTY * np.eye(A.shape[1]))
    wanted = np.where(truth, 1.0, -1.0)
    weights = inverse @ (A.T @ (weight * wanted))
    leverage = weight * np.einsum("ij,ij->i", A @ inverse, A)
    left_out = (A @ weights - leverage * wanted) / (1 - leverage)
    return weights, *calibrate(left_out, truth), threshold_at(left_out, truth, None)
