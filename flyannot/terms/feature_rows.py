"""Rows of features for classifiers, rewritten as shorter rows.

The shorter rows have the same inner products.  Linear models, distances and cosines depend on rows only
through their inner products K = X X^T.  K adds up over blocks of columns, so that X need not be in memory.
`CholeskyBasis` is a factor A with A A^T = K, which has as many columns as there are rows.  A model of A is
also a model of X: if A^T b are its weights, X^T b are the weights for X.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.jobs.resources import create_thread_pool

COLUMNS = 1024  # columns that are converted to float64 at once
_TILE = 1024  # rows of one task: the order of sums does not depend on the number of threads


def add_inner_products(K, X, *, mean=0.0, n_threads=1):
    """Add the inner products of the rows of X - mean to the lower triangle of K, in place.

    Parameters
    ----------
    K : float64 array (n_rows, n_rows)
    X : float array (n_rows, n_columns), a block of columns
    mean : float, or float array (n_columns,)
    n_threads : int, threads that compute square blocks of K
    """
    mean = np.broadcast_to(mean, X.shape[1])
    tiles = [slice(start, start + _TILE) for start in range(0, len(X), _TILE)]
    with create_thread_pool(n_threads) as pool:
        for start in range(0, X.shape[1], COLUMNS):
            columns = X[:, start : start + COLUMNS] - mean[start : start + COLUMNS]

            def add(tile, columns=columns):
                for other in tiles[: tile.start // _TILE + 1]:
                    K[tile, other] += columns[tile] @ columns[other].T

            list(pool.map(add, tiles))


def inner_products(X, *, mean=0.0, n_threads=1):
    """Return all inner products of the rows of X - mean, float64 (n_rows, n_rows)."""
    K = np.zeros((len(X), len(X)))
    add_inner_products(K, X, mean=mean, n_threads=n_threads)
    for start in range(0, len(K), _TILE):  # mirror the lower triangle
        rows = slice(start, start + _TILE)
        K[rows, start + _TILE :] = K[start + _TILE :, rows].T
        K[rows, rows] = np.tril(K[rows, rows]) + np.tril(K[rows, rows], -1).T
    return K


def feature_weights_from_rows(parts, X, mean):
    """Return the weights parts (X - mean) of linear models, float64 (n_models, n_features).

    Parameters
    ----------
    parts : float array (n_models, n_rows), the weights as combinations of rows
    X : float array (n_rows, n_features)
    mean : float array (n_features,)
    """
    weights = np.empty((len(parts), X.shape[1]))
    for start in range(0, X.shape[1], COLUMNS):
        columns = slice(start, start + COLUMNS)
        centred = X[:, columns] - mean[columns]
        for model, part in enumerate(parts):  # so the numbers of a model do not depend on the others
            weights[model, columns] = part @ centred
    return weights


@dataclass(frozen=True)
class CholeskyBasis:
    """The coordinates of rows in an orthonormal basis of their own span, by a pivoted Cholesky factorisation.

    coordinates : float64 (n_rows, rank); each row that is a pivot is zero for all later pivots
    pivots : int array (rank,), the numbers of rows that span all rows
    """

    coordinates: np.ndarray
    pivots: np.ndarray

    @classmethod
    def from_inner_products(cls, K):
        """Compute the basis from the inner products of the rows.

        A row that depends linearly on others adds no dimension.

        K : float64 array (n_rows, n_rows); only its lower triangle is read, and it is overwritten
        """
        from scipy.linalg.lapack import dpstrf

        factor, order, rank, _ = dpstrf(K.T, lower=0, overwrite_a=1)  # Fortran's order
        order = order - 1
        rank = max(1, rank)
        lower = factor.T
        for start in range(0, len(lower), _TILE):
            lower[start : start + _TILE] = np.tril(lower[start : start + _TILE], start)
        coordinates = np.empty((len(lower), rank))
        coordinates[order] = lower[:, :rank]
        return cls(coordinates, order[:rank])

    def row_coefficients(self, weights):
        """Write the weights of linear models, given in this basis, as combinations of the rows.

        The result for one model does not depend on the other models.

        Parameters
        ----------
        weights : float array (n_models, rank)

        Returns
        -------
        parts : float array (n_models, n_rows)
        """
        from scipy.linalg import solve_triangular

        triangle = self.coordinates[self.pivots]
        parts = np.zeros((len(weights), len(self.coordinates)))
        if triangle.any():
            for part, of_model in zip(parts, weights):
                part[self.pivots] = solve_triangular(triangle, of_model, lower=True, trans="T")
        return parts
