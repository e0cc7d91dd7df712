"""Rows of features as classifiers take them: of length 1, or few rows of many features as fewer numbers.

Linear models, distances and cosines see rows through their inner products K = X X^T only.  K adds up over
blocks of columns, so that X need not be in memory.  `CholeskyBasis` is a factor A of it, A A^T = K, with as
many numbers to a row as there are rows: a model of A is one of X, and its weights w are X^T b with A^T b = w.
Other rows, such as queries, matter only by their part within the space that the rows span.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.base.errors import DataError
from flyannot.jobs.resources import threads_of_one_blas

COLUMNS = 1024  # that are taken in float64 at once
_QUERY_COLUMNS = 4096  # the same, where few rows meet many
_TILE = 1024  # rows whose inner products are one task: a sum's order depends on no number of threads
_ROWS = 256  # scaled at once


def checked_columns(X, n_features):
    """X as an array; DataError unless it is a table of `n_features` columns."""
    X = np.asarray(X)
    if X.ndim != 2 or X.shape[1] != n_features:
        raise DataError(
            f"the features have {X.shape[-1]} columns, the model {n_features}",
            fix="make the features with the dictionary and the pooling that the model was trained on",
        )
    return X


def unit_rows(X):
    """Rows scaled to length 1, float32; rows of zeros stay.  Some rows at a time are taken in float64."""
    units = np.empty(X.shape, np.float32)
    for start in range(0, len(X), _ROWS):
        rows = np.asarray(X[start : start + _ROWS], np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        units[start : start + _ROWS] = rows / np.where(lengths > 0, lengths, 1)[:, None]
    return units


def add_inner_products(K, X, *, mean=0.0, n_threads=1):
    """Add the inner products of the rows of X - mean, float64, to the lower triangle of K, tile by tile."""
    mean = np.broadcast_to(mean, X.shape[1])
    tiles = [slice(start, start + _TILE) for start in range(0, len(X), _TILE)]
    with threads_of_one_blas(n_threads) as pool:
        for start in range(0, X.shape[1], COLUMNS):
            columns = X[:, start : start + COLUMNS] - mean[start : start + COLUMNS]

            def add(tile, columns=columns):
                for other in tiles[: tile.start // _TILE + 1]:
                    K[tile, other] += columns[tile] @ columns[other].T

            list(pool.map(add, tiles))


def inner_products(X, *, mean=0.0, n_threads=1):
    """All inner products of the rows of X - mean, float64 (n_rows, n_rows)."""
    K = np.zeros((len(X), len(X)))
    add_inner_products(K, X, mean=mean, n_threads=n_threads)
    for start in range(0, len(K), _TILE):  # the upper triangle is the lower one's mirror image
        rows = slice(start, start + _TILE)
        K[rows, start + _TILE :] = K[start + _TILE :, rows].T
        K[rows, rows] = np.tril(K[rows, rows]) + np.tril(K[rows, rows], -1).T
    return K


def cross_products(X, A):
    """X A' in float64, of which some columns at a time are taken."""
    products = np.zeros((len(X), len(A)))
    for start in range(0, A.shape[1], _QUERY_COLUMNS):
        columns = A[:, start : start + _QUERY_COLUMNS].astype(np.float64)
        products += X[:, start : start + _QUERY_COLUMNS] @ columns.T
    return products


def weights_of_rows(parts, X, mean):
    """The weights parts (X - mean) of linear models, float64 (n_models, n_features), by blocks of columns."""
    weights = np.empty((len(parts), X.shape[1]))
    for start in range(0, X.shape[1], COLUMNS):
        columns = slice(start, start + COLUMNS)
        centred = X[:, columns] - mean[columns]
        for model, part in enumerate(parts):  # one model's numbers do not depend on the others
            weights[model, columns] = part @ centred
    return weights


@dataclass(frozen=True)
class CholeskyBasis:
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
        if triangle.any():
            for part, of_model in zip(parts, weights):
                part[self.pivots] = solve_triangular(triangle, of_model, lower=True, trans="T")
        return parts

    def coordinates_of(self, products):
        """Return other rows in this basis, (n_others, rank), by their inner products with the `pivots`.

        What lies outside the span of the rows is left out.
        """
        from scipy.linalg import solve_triangular

        return solve_triangular(self.coordinates[self.pivots], products.T, lower=True).T
