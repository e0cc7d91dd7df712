"""The mean terms of the labelled groups that a query is most like."""

from dataclasses import dataclass

import numpy as np

from flyannot.classifiers.feature_rows import checked_unit_rows, unit_rows
from flyannot.classifiers.scorer import Scorer
from flyannot.classifiers.siso import LABELLED_ROWS

_BLOCK = 256  # queries that are compared with all rows at once


@dataclass(frozen=True)
class NearestNeighbours(Scorer):
    """A : float32 (n_groups, n_features), rows of length 1; Y : uint8 (n_groups, n_terms);
    n_neighbours : int32 (1,); observed : uint8 (n_groups, n_terms), whether Y is known."""

    A: np.ndarray
    Y: np.ndarray
    n_neighbours: np.ndarray
    observed: np.ndarray

    ARRAYS = LABELLED_ROWS | {"n_neighbours": ("i", (1,)), "observed": ("u", ("n_rows", "n_terms"))}

    @staticmethod
    def settings(n_rows):
        """Numbers of neighbours: Huang et al. took 500 of 27,000 and more."""
        return [k for k in (20, 5, 10, 50, 100, 200, 500) if k < n_rows] or [n_rows]

    @classmethod
    def fit_setting(cls, X, Y, setting, *, rng, n_threads=1, observed=None):
        """Keep the rows; there is nothing to learn."""
        Y = np.asarray(Y, np.uint8)
        known = np.ones_like(Y) if observed is None else observed.astype(np.uint8)
        return cls(unit_rows(X), Y, np.array([setting], np.int32), known)

    def decision_values(self, X, n_threads=1):
        """The mean terms of the nearest rows by cosine, of those whose term is known; of equally near ones
        the first."""
        X, k = checked_unit_rows(X, self.A.shape[1]), min(int(self.n_neighbours[0]), len(self.A))
        values = np.zeros((len(X), self.Y.shape[1]))
        for start in range(0, len(X), _BLOCK):
            order = np.argsort(-(X[start : start + _BLOCK] @ self.A.T), axis=1, kind="stable")
            n_known = self.observed[order[:, :k]].sum(axis=1)
            values[start : start + _BLOCK] = self.Y[order[:, :k]].sum(axis=1) / np.maximum(n_known, 1)
        return values
