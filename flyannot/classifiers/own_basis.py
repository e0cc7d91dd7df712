"""Few rows of many features, written in an orthonormal basis of the space that they span.

Linear models, distances and cosines see the rows through their inner products K = X X^T only.  K adds up over
blocks of columns, so that X need not be in memory.  A factor A of it, A A^T = K, has as many numbers to a row
as there are rows: a model of A is one of X, and its weights w are X^T b with A^T b = w.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.runtime.resources import threads_of_one_blas

_TILE = 1024  # rows whose inner products are one task: a sum's order depends on no number of threads
COLUMNS = 1024  # columns that are taken in float64 at once


def add_products(K, X, *, mean=0.0, n_threads=1):
    """Add the inner products of the rows of X - mean, float64, to the lower triangle of K, tile by tile."""
    mean = np.broadcast_to(mean, X.shape[1])
    tiles = [slice(start, start + _TILE) for start in range(0, len(X), _TILE)]
    with threads_of_one_blas(n_threads) as pool:
        for start in range(0, X.shape[1], COLUMNS):
            columns = X[:, start : start + COLUMNS] - mean[start : start + COLUMNS]

            def add(mine, columns=columns):
                for others in tiles[: mine.start // _TILE + 1]:
                    K[mine, others] += columns[mine] @ columns[others].T

            list(pool.map(add, tiles))


def inner_products(X, *, mean=0.0, n_threads=1):
    """All inner products of the rows of X - mean, float64 (n_rows, n_rows)."""
    K = np.zeros((len(X), len(X)))
    add_products(K, X, mean=mean, n_threads=n_threads)
    fill_upper_triangle(K)
    return K


def fill_upper_triangle(K):
    """Make K symmetric by its lower triangle, in place."""
    for start in range(0, len(K), _TILE):
        rows = slice(start, start + _TILE)
        K[rows, start + _TILE :] = K[start + _TILE :, rows].T
        K[rows, rows] = np.tril(K[rows, rows]) + np.tril(K[rows, rows], -1).T


def weights_of_rows(parts, X, mean):
    """The weights parts (X - mean) of linear models, float64 (n_models, n_features), by blocks of columns."""
    weights = np.empty((len(parts), X.shape[1]))
    for start in range(0, X.shape[1], COLUMNS):
        columns = slice(start, start + COLUMNS)
        centred = X[:, columns] - mean[columns]
        for mine, one in zip(weights, parts):  # one model's numbers do not depend on the others
            mine[columns] = one @ centred
    return weights


@dataclass(frozen=True)
class OwnBasis:
    """The rows of X in a basis of their own.

    coordinates : float64 (n_rows, rank), of which each of `pivots` has a zero for every later one
    pivots : int array (rank,), rows that span all of them
    """

    coordinates: np.ndarray
    pivots: np.ndarray

    @classmethod
    def of_products(cls, K):
        """From the inner products of the rows, of which the lower triangle is read; K is overwritten.

        Rows that depend on others add nothing: the factor is Cholesky's with pivoting.
        """
        from scipy.linalg.lapack import dpstrf

        factor, order, rank, _ = dpstrf(K.T, lower=0, overwrite_a=1)  # K in the other order of storage
        order, rank = order - 1, max(1, rank)
        lower = factor.T
        for start in range(0, len(lower), _TILE):
            lower[start : start + _TILE] = np.tril(lower[start : start + _TILE], start)
        coordinates = np.empty((len(lower), rank))
        coordinates[order] = lower[:, :rank]
        return cls(coordinates, order[:rank])

    def of_rows(self, weights):
        """How many times each row of X makes these weights (n_models, rank) in its own space: (n_models,
        n_rows).  One model's numbers do not depend on the others."""
        from scipy.linalg import solve_triangular

        triangle = self.coordinates[self.pivots]
        parts = np.zeros((len(weights), len(self.coordinates)))
        for mine, one in zip(parts, weights if triangle.any() else ()):
            mine[self.pivots] = solve_triangular(triangle, one, lower=True, trans="T")
        return parts
