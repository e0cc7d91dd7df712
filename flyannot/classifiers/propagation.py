"""Annotation from the labelled groups themselves: their feature vectors are the model.

Four methods share one shape, a frozen dataclass of arrays with

    fit(X, Y, setting, *, rng, n_threads)    from rows (n_rows, n_features) and terms (n_rows, n_terms)
    decision_values(X, n_threads)            (n_rows, n_terms)
    arrays(), from_arrays(arrays)            a flat dict of arrays, and back
    settings(n_rows)                         what inner folds may choose from, the preferred first

`siso` writes a query as a sparse combination of the labelled rows and passes their terms on with the same
weights, sum_i Y_i z_i (the codes z may be negative).  `hash-siso` finds the code through hash cells.
`knn` is the mean of the terms of the nearest rows by cosine, `ridge` a linear map with one alpha.
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from flyannot.classifiers.linear import checked_columns
from flyannot.errors import DataError, InputError
from flyannot.sparse.coders.siso import encode as siso
from flyannot.sparse.coders.siso import hash_siso
from flyannot.sparse.coders.siso.hash_siso import HashSearch
from flyannot.sparse.coders.siso.lsh import Index, build_index

FRACTION = 0.002  # of |A y|_inf: the lam of a query y (Huang et al. 2013)
_TOL = 1e-5  # duality gap of a code, as part of 1/2 |y|^2
_BLOCK = 256  # queries that are compared with all rows at once
_COLUMNS = 4096  # of the features, taken in float64 at once


def fit_propagation(X, Y, *, method="siso", setting=None, rng=None, n_threads=1):
    """Fit one method of METHODS.

    Parameters
    ----------
    X : float array (n_rows, n_features)
    Y : bool array (n_rows, n_terms)
    method : of METHODS
    setting : of the method's `settings`; None for the preferred one
    rng : numpy Generator; only hash-siso draws
    n_threads : int

    Raises
    ------
    InputError
        If the method is unknown.
    DataError
        If X has a nan or an infinity, or X and Y differ in length.
    """
    if method not in METHODS:
        raise InputError(
            f'no propagation method is called "{method}"', fix=f"choose from: {', '.join(METHODS)}"
        )
    X, Y = np.asarray(X), np.asarray(Y, bool)
    if len(X) != len(Y):
        raise DataError(f"features and terms have {len(X)} and {len(Y)} rows; wrong files?")
    if not np.isfinite(X).all():
        raise DataError("the features are not finite", fix="make the features file again")
    kind = METHODS[method]
    setting = kind.settings(len(X))[0] if setting is None else setting
    return kind.fit(X, Y, setting, rng=rng or np.random.default_rng(0), n_threads=n_threads)


def propagate(model, X, *, n_threads=1):
    """The decision value of every row for every term, float64 (n_rows, n_terms), by a fitted model.

    Raises
    ------
    DataError
        If X has another number of columns than the model was fitted on.
    """
    return model.decision_values(X, n_threads=n_threads)


class Stored:
    """A dataclass of arrays that can be written and read as such."""

    def arrays(self):
        """The fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays):
        """What `arrays` gave, as a model again."""
        return cls(**{field.name: np.asarray(arrays[field.name]) for field in fields(cls)})


@dataclass(frozen=True)
class Siso(Stored):
    """A : float32 (n_groups, n_features), rows of length 1; Y : uint8 (n_groups, n_terms)."""

    A: np.ndarray
    Y: np.ndarray

    @staticmethod
    def settings(n_rows):
        """No choice: the weight is the paper's."""
        return [FRACTION]

    @classmethod
    def fit(cls, X, Y, setting, *, rng, n_threads=1):
        """Keep the rows; there is nothing to learn."""
        return cls(unit_rows(X), np.asarray(Y, np.uint8))

    def decision_values(self, X, n_threads=1):
        """sum_i Y_i z_i with z the lasso code of the row at lam = FRACTION |A y|_inf."""
        X = checked_units(X, self.A)
        return self._propagated(X, _largest_products(X, self.A), n_threads)

    def _propagated(self, X, largest, n_threads):
        # y / |A y|_inf has the code z / |A y|_inf, and the same lam for every query
        scaled = X / np.where(largest > 0, largest, 1).astype(np.float32)[:, None]
        Z = self._codes(scaled, n_threads)
        used = np.unique(Z.indices)  # of a million rows a thousand
        return (Z[:, used] @ self.Y[used].astype(np.float64)) * largest[:, None]

    @cached_property
    def _span(self):  # once a model: annotation asks for the values of some images after the other
        return Span.of(self.A)

    def _codes(self, X, n_threads):
        A = self.A
        if len(A) < A.shape[1]:
            A, X = self._span.rows, self._span.coordinates(X)
        Z = siso.encode(X, A, FRACTION, tol=_TOL, n_threads=n_threads)
        return Z.astype(np.float64)


@dataclass(frozen=True)
class HashSiso(Siso):
    """As `Siso`, with the arrays of the hash index; ending : uint8 (1,), a place in hash_siso.ENDINGS."""

    directions: np.ndarray
    cells: np.ndarray
    ending: np.ndarray

    @staticmethod
    def settings(n_rows):
        """How a code ends: by the look at all rows that makes it SISO's."""
        return ["solve"]

    @classmethod
    def fit(cls, X, Y, setting, *, rng, n_threads=1):
        """Hash the rows."""
        A = unit_rows(X)
        index = build_index(A, rng, n_threads=n_threads)
        ending = np.array([hash_siso.ENDINGS.index(setting)], np.uint8)
        return cls(A, np.asarray(Y, np.uint8), index.directions, index.cells, ending)

    def _codes(self, X, n_threads):
        index = Index(self.directions, self.cells, len(self.A))
        search = HashSearch(index, ending=hash_siso.ENDINGS[int(self.ending[0])])
        options = {"tol": _TOL, "n_threads": n_threads, "search": search}
        Z = hash_siso.encode(X, self.A, FRACTION, **options)
        return Z.astype(np.float64)


@dataclass(frozen=True)
class Neighbours(Stored):
    """A and Y as in `Siso`; n_neighbours : int32 (1,)."""

    A: np.ndarray
    Y: np.ndarray
    n_neighbours: np.ndarray

    @staticmethod
    def settings(n_rows):
        """Numbers of neighbours: Huang et al. took 500 of 27,000 and more."""
        return [k for k in (20, 5, 10, 50, 100, 200, 500) if k < n_rows] or [n_rows]

    @classmethod
    def fit(cls, X, Y, setting, *, rng, n_threads=1):
        """Keep the rows; there is nothing to learn."""
        return cls(unit_rows(X), np.asarray(Y, np.uint8), np.array([setting], np.int32))

    def decision_values(self, X, n_threads=1):
        """The mean terms of the nearest rows by cosine; of equally near ones the first."""
        X, k = checked_units(X, self.A), min(int(self.n_neighbours[0]), len(self.A))
        values = np.zeros((len(X), self.Y.shape[1]))
        for start in range(0, len(X), _BLOCK):
            order = np.argsort(-(X[start : start + _BLOCK] @ self.A.T), axis=1, kind="stable")
            values[start : start + _BLOCK] = self.Y[order[:, :k]].mean(axis=1)
        return values


@dataclass(frozen=True)
class Ridge(Stored):
    """weights : float64 (n_terms, n_features); intercept : float64 (n_terms,); alpha : float64 (1,)."""

    weights: np.ndarray
    intercept: np.ndarray
    alpha: np.ndarray

    @staticmethod
    def settings(n_rows):
        """Values of alpha, relative to rows of length 1."""
        return [1.0, 0.01, 0.03, 0.1, 0.3, 3.0, 10.0, 30.0]

    @classmethod
    def fit(cls, X, Y, setting, *, rng, n_threads=1):
        """Minimise |Y - X W - b|^2 + alpha |W|^2, the rows of X scaled to length 1, b free."""
        X, Y = unit_rows(X).astype(np.float64), np.asarray(Y, np.float64)
        mean, level = X.mean(axis=0), Y.mean(axis=0)
        X, Y = X - mean, Y - level
        if len(X) < X.shape[1]:  # the same minimiser through the smaller of two systems
            W = X.T @ np.linalg.solve(X @ X.T + setting * np.eye(len(X)), Y)
        else:
            W = np.linalg.solve(X.T @ X + setting * np.eye(X.shape[1]), X.T @ Y)
        return cls(np.ascontiguousarray(W.T), level - mean @ W, np.array([float(setting)]))

    def decision_values(self, X, n_threads=1):
        """X W + b, the rows of X scaled to length 1."""
        return checked_units(X, self.weights).astype(np.float64) @ self.weights.T + self.intercept


METHODS = {"siso": Siso, "hash-siso": HashSiso, "knn": Neighbours, "ridge": Ridge}


def unit_rows(X):
    """Rows scaled to length 1, float32; rows of zeros stay."""
    X = np.asarray(X, np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    return np.ascontiguousarray(X / np.where(lengths > 0, lengths, 1)[:, None], np.float32)


def checked_units(X, like):
    """`unit_rows` of X; DataError unless X has as many columns as `like`."""
    return unit_rows(checked_columns(X, like.shape[1]))


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
        values, vectors = np.linalg.eigh(_products(A, A))
        kept = values > 1e-10 * values[-1]
        values, vectors = np.sqrt(values[kept]), vectors[:, kept]
        return cls(A, (vectors * values).astype(np.float32), vectors / values)

    def coordinates(self, X):
        """Of queries (n_queries, n_features): float32 array (n_queries, rank)."""
        return (_products(X, self.A) @ self.mixing).astype(np.float32)


def _products(X, A):
    """X A' in float64, of which some columns at a time are taken."""
    products = np.zeros((len(X), len(A)))
    for start in range(0, A.shape[1], _COLUMNS):
        mine = A[:, start : start + _COLUMNS].astype(np.float64)
        products += X[:, start : start + _COLUMNS] @ mine.T
    return products


def _largest_products(X, A):
    """|A x|_inf of every row, float64 (n_rows,)."""
    largest = np.zeros(len(X))
    for start in range(0, len(A), _BLOCK):
        np.maximum(largest, np.abs(X @ A[start : start + _BLOCK].T).max(axis=1, initial=0), out=largest)
    return largest
