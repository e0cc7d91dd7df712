"""Label propagation by sparse codes: a query is written as a sparse sum of the features of labelled groups.

The terms of the groups are passed on with the same weights, sum_i Y_i z_i (the codes z may be negative).

Source: Huang, Yan, Zhang, Hua and Li, ACM Multimedia 2013: "Sparse multi-modal hashing", as SISO and
hash-accelerated SISO in these papers.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flyannot.encode.groups import unit_rows
from flyannot.sparse.coders import siso
from flyannot.terms import feature_rows
from flyannot.terms.feature_rows import CholeskyBasis
from flyannot.terms.scorer import Scorer

FRACTION = 0.002  # lam of a query y relative to |A y|_inf (Huang et al. 2013)
_TOL = 1e-5  # duality gap of a code, relative to 1/2 |y|^2
_BLOCK = 256  # rows that are compared with all queries at once


@dataclass(frozen=True)
class Siso(Scorer):
    """A classifier by label propagation: sparse codes of queries weight the terms of training groups.

    A : float32 (n_groups, n_features), features of the training groups, scaled to length 1
    Y : uint8 (n_groups, n_terms), 1 if the group has the term
    """

    A: np.ndarray
    Y: np.ndarray

    ARRAYS = {"A": ("f", ("n_rows", "n_features")), "Y": ("u", ("n_rows", "n_terms"))}

    @staticmethod
    def settings(n_rows):
        """Return a list with the only setting: the relative weight of the L1 norm in the paper."""
        return [FRACTION]

    @classmethod
    def fit_setting(cls, X, Y, setting, *, rng, n_threads=1, observed=None):
        """Store the normalised rows and their terms; nothing is learned.

        Terms that were not observed are False in Y, so no query gets them from these rows.
        """
        return cls(unit_rows(X), np.asarray(Y, np.uint8))

    def decision_values(self, X, n_threads=1):
        """Return sum_i Y_i z_i for every row, float64 (n_rows, n_terms).

        z is the lasso code of the row x over the training rows A, with lam = FRACTION |A x|_inf.
        """
        X = unit_rows(feature_rows.check_columns(X, self.A.shape[1]))
        largest = largest_inner_products(X, self.A)
        # y / |A y|_inf has the code z / |A y|_inf, and the same lam for every query
        scaled = X / np.where(largest > 0, largest, 1).astype(np.float32)[:, None]
        Z = self._codes(scaled, n_threads)
        used = np.unique(Z.indices)  # about a thousand of a million rows
        return (Z[:, used] @ self.Y[used].astype(np.float64)) * largest[:, None]

    @cached_property
    def _basis(self):
        """The CholeskyBasis of the training rows, computed once for all calls."""
        return CholeskyBasis.from_products(feature_rows.inner_products(self.A))

    def _codes(self, X, n_threads):
        """Return the lasso codes of queries over the training rows, as a sparse matrix (n_queries, n_groups).

        X : float array (n_queries, n_features); n_threads : int
        """
        A = self.A
        if len(A) < A.shape[1]:
            products = feature_rows.cross_products(X, A[self._basis.pivots])
            A = self._basis.coordinates.astype(np.float32)
            X = self._basis.project_rows(products).astype(np.float32)
        return siso.encode(X, A, FRACTION, tol=_TOL, n_threads=n_threads).astype(np.float64)


def largest_inner_products(X, A):
    """Return |A x|_inf for every row x of X, float64 (n_rows,)."""
    largest = np.zeros(len(X))
    for start in range(0, len(A), _BLOCK):
        np.maximum(largest, np.abs(X @ A[start : start + _BLOCK].T).max(axis=1, initial=0), out=largest)
    return largest
