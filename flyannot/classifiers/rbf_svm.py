"""One support vector machine with a Gaussian kernel for each term, all over the same training rows."""

from dataclasses import dataclass

import numpy as np

from flyannot.classifiers.feature_rows import checked_unit_rows, cross_products, unit_rows
from flyannot.classifiers.scorer import Scorer, observed_rows

_BLOCK = 1024  # rows whose kernel with the training rows is made at once


@dataclass(frozen=True)
class RbfSvm(Scorer):
    """A : float32 (n_support, n_features), the rows that support any term, of length 1
    dual : float64 (n_terms, n_support); intercept : float64 (n_terms,); gamma, C : float64 (1,)."""

    A: np.ndarray
    dual: np.ndarray
    intercept: np.ndarray
    gamma: np.ndarray
    C: np.ndarray

    ARRAYS = {
        "A": ("f", ("n_support", "n_features")),
        "dual": ("f", ("n_terms", "n_support")),
        "intercept": ("f", ("n_terms",)),
        "gamma": ("f", (1,)),
        "C": ("f", (1,)),
    }

    @staticmethod
    def settings(n_rows):
        """(C, gamma): the ends and the middle of the grid of Huang et al. 2013, and one wider C."""
        return [(C, gamma) for gamma in (0.6, 0.2, 1.0) for C in (1.0, 0.5, 2.0, 10.0)]

    @classmethod
    def fit_setting(cls, X, Y, setting, *, rng, n_threads=1, observed=None):
        """scikit-learn's SVC of every term on one kernel matrix, classes weighted by balance.

        A term with one class gets the constant value of that class, +1 or -1.
        """
        from sklearn.svm import SVC

        C, gamma = setting
        A, Y = unit_rows(X), np.asarray(Y, bool)
        kernel = _kernel(A, A, gamma)
        dual, intercept = np.zeros((Y.shape[1], len(A))), np.zeros(Y.shape[1])
        for j, mine in enumerate(observed_rows(observed, Y.shape[1])):
            positive = Y[mine, j]
            if positive.all() or not positive.any():
                intercept[j] = 1.0 if positive.any() else -1.0
                continue
            svm = SVC(C=C, kernel="precomputed", class_weight="balanced")
            svm.fit(kernel[mine][:, mine], positive)
            dual[j, np.arange(len(A))[mine][svm.support_]] = svm.dual_coef_[0]
            intercept[j] = svm.intercept_[0]
        used = dual.any(axis=0)
        return cls(A[used], dual[:, used], intercept, np.array([float(gamma)]), np.array([float(C)]))

    def decision_values(self, X, n_threads=1):
        """Sum of dual exp(-gamma |x - a|^2), and the intercept; the rows of X scaled to length 1."""
        X = checked_unit_rows(X, self.A.shape[1])
        values = np.empty((len(X), len(self.dual)))
        for start in range(0, len(X), _BLOCK):
            rows = slice(start, start + _BLOCK)
            values[rows] = _kernel(X[rows], self.A, self.gamma[0]) @ self.dual.T + self.intercept
        return values


def _kernel(X, A, gamma):
    """exp(-gamma |x - a|^2) of all rows of X and A."""
    squares = [np.einsum("ij,ij->i", Z, Z, dtype=np.float64) for Z in (X, A)]
    distances = np.maximum(np.add.outer(*squares) - 2 * cross_products(X, A), 0)
    return np.exp(-gamma * distances)
