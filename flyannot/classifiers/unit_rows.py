"""Rows of length 1, and the space that few rows of many features span."""

from dataclasses import dataclass

import numpy as np

from flyannot.classifiers.linear_values import checked_columns

COLUMNS = 4096  # of the features, taken in float64 at once
_ROWS = 256


def unit_rows(X):
    """Rows scaled to length 1, float32; rows of zeros stay.  Some rows at a time are taken in float64."""
    units = np.empty(X.shape, np.float32)
    for start in range(0, len(X), _ROWS):
        rows = np.asarray(X[start : start + _ROWS], np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        units[start : start + _ROWS] = rows / np.where(lengths > 0, lengths, 1)[:, None]
    return units


def checked_units(X, n_features):
    """`unit_rows` of X; DataError unless it has `n_features` columns."""
    return unit_rows(checked_columns(X, n_features))


@dataclass(frozen=True)
class Span:
    """The space that rows span, where they are fewer than their features.

    A query's part outside the span is the same for every code.  What is left has the same inner products with
    the rows, hence the same codes, from as many numbers as there are rows.

    A : float array (n_rows, n_features); rows : float32 array (n_rows, rank), their coordinates
    mixing : float64 array (n_rows, rank), from a query's products with the rows to its coordinates
    """

    A: np.ndarray
    rows: np.ndarray
    mixing: np.ndarray

    @classmethod
    def of(cls, A):
        """The span of the rows of A."""
        values, vectors = np.linalg.eigh(products(A, A))
        kept = values > 1e-10 * values[-1]
        values, vectors = np.sqrt(values[kept]), vectors[:, kept]
        return cls(A, (vectors * values).astype(np.float32), vectors / values)

    def coordinates(self, X):
        """Of queries (n_queries, n_features): float32 array (n_queries, rank)."""
        return (products(X, self.A) @ self.mixing).astype(np.float32)


def products(X, A):
    """X A' in float64, of which some columns at a time are taken."""
    products = np.zeros((len(X), len(A)))
    for start in range(0, A.shape[1], COLUMNS):
        mine = A[:, start : start + COLUMNS].astype(np.float64)
        products += X[:, start : start + COLUMNS] @ mine.T
    return products
