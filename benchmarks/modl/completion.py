"""A matrix completed from its observed entries, by MODL and by coordinate descent, its peer in the paper."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp

from benchmarks.inputs.ratings import Ratings
from benchmarks.measures import Stopwatch, timed_steps
from benchmarks.modl.claims import CD, FULL, MODL
from benchmarks.references.plain_learners import OfSeenFeatures
from flyannot.jobs.compiled import compiled
from flyannot.sparse.fit import random_patches

N_COMPONENTS = 30
TEST_SHARE = 0.25
INNER_SHARE = 1 / 3  # of the training entries, held out to choose lam
_N_FINER = 2  # times that lam is chosen from a finer grid
_N_ROUNDS = 5  # of means of rows and columns
_N_SWEEPS = 20
_N_EPOCHS = 12
_BATCHES = 100  # an epoch, as in the paper


@dataclass(frozen=True)
class Split:
    """Observed entries to learn from, with the biases taken out, and entries to test on."""

    train: Ratings
    test: Ratings
    bias: np.ndarray  # of the test entries

    def rmse(self, found):
        """Return the root mean square error of predictions of the test entries, less their biases."""
        return float(np.sqrt(np.mean((found + self.bias - self.test.values) ** 2)))


def complete_ratings(ratings, solver, lams, n_inner, seed, **options):
    """Choose `lam` on the training entries of a random split, and return it and `trace`; runs in a worker.

    `trace` is (seconds, test error) after every epoch or sweep.

    Parameters
    ----------
    n_inner : int, how often a third of the training entries is left out to choose lam
    options : options of the solver, once lam is chosen
    """
    with np.load(ratings) as arrays:
        found = Ratings(arrays["rows"], arrays["columns"], arrays["values"], tuple(arrays["shape"]))
    rng = np.random.default_rng(seed)
    train, test = drawn_apart(found, rng, TEST_SHARE)
    lam = best_lam(train, SOLVERS[solver], lams, n_inner, rng)
    return {"lam": lam, "trace": SOLVERS[solver](debiased(train, test), lam, rng, **options)}


def best_lam(train, solve, lams, n_inner, rng):
    """Return the lam with the least mean error on thirds of the entries that the solver does not see.

    The fewer entries a row or column has, the larger its lam should be, so the choice is made on all entries.
    The result is one of `lams`, which rise by a factor, or a value between them: the grid around the best is
    refined twice by the root of the factor. A solver may be best in less than a factor, and a coarse grid
    would be unfair.
    """
    if len(lams) == 1:
        return lams[0]
    parts = [debiased(*drawn_apart(train, rng, INNER_SHARE)) for _ in range(n_inner)]
    errors, tried, factor = {}, lams, lams[1] / lams[0]
    for _ in range(1 + _N_FINER):
        for lam in tried:
            errors[lam] = sum(solve(part, lam, np.random.default_rng(0))[-1][1] for part in parts)
        best, factor = min(errors, key=lambda lam: errors[lam]), factor**0.5
        tried = [best / factor, best * factor]
    return best


def drawn_apart(ratings, rng, test_share):
    """(training entries, test entries), drawn at random."""
    order = rng.permutation(len(ratings))
    n_test = int(test_share * len(ratings))
    return ratings.subset(order[n_test:]), ratings.subset(order[:n_test])


def debiased(train, test):
    """Return the `Split` after alternately removing row and column means of the training entries."""
    mean, of_row, of_column = train.values.mean(), np.zeros(train.shape[0]), np.zeros(train.shape[1])
    for _ in range(_N_ROUNDS):
        of_row = _means(train.rows, train.values - mean - of_column[train.columns], len(of_row))
        of_column = _means(train.columns, train.values - mean - of_row[train.rows], len(of_column))
    centred = train.values - mean - of_row[train.rows] - of_column[train.columns]
    return Split(replace(train, values=centred), test, mean + of_row[test.rows] + of_column[test.columns])


def _means(places, values, n):
    return np.bincount(places, values, n) / np.maximum(np.bincount(places, minlength=n), 1)


def completed_by_coordinate_descent(parts, lam, rng):
    """(seconds, test error) after every sweep of the paper's reference."""
    train, test = parts.train, parts.test
    observed = train.rows, train.columns, train.values
    CoordinateDescent(*(a[:2] for a in observed), train.shape, n_components=1, lam=1.0, rng=rng).sweep()
    model = CoordinateDescent(*observed, train.shape, n_components=N_COMPONENTS, lam=lam, rng=rng)
    trace, spent = [], 0.0
    for _ in range(_N_SWEEPS):
        with Stopwatch() as watch:
            model.sweep()
        spent += watch.seconds
        trace.append((spent, parts.rmse(model.predict(test.rows, test.columns))))
    return trace


def completed_by_modl(parts, lam, rng, projection="approximate", beta=0.9):
    """Return (seconds, test error) after every epoch of MODL, with rows as samples and |z|^2 as penalty.

    Missing entries are never seen.
    """
    train, test = parts.train, parts.test
    X = RowsWithMissing(train)
    full = X[rng.permutation(len(X))[: 4 * N_COMPONENTS]]
    D = random_patches(np.nan_to_num(full) + 1e-3 * rng.normal(size=full.shape), N_COMPONENTS, rng)
    options = {"lam": lam, "batch_size": max(1, len(X) // _BATCHES), "beta": beta, "code_penalty": "l2"}
    learner = OfSeenFeatures(np.asarray(D, np.float32), len(X), projection=projection, **options)
    trace, spent = [], 0.0
    for epoch_rng in rng.spawn(_N_EPOCHS):
        order = epoch_rng.permutation(len(X))
        learner.begin_epoch(epoch_rng)
        size = learner.block_size
        spent += timed_steps(learner, X, (order[i : i + size] for i in range(0, len(order), size)))
        found = np.einsum("ij,ij->i", learner.codes()[test.rows].toarray(), learner.D.T[test.columns])
        trace.append((spent, parts.rmse(found)))
    return trace


SOLVERS = {
    CD: completed_by_coordinate_descent,
    MODL: completed_by_modl,
    FULL: partial(completed_by_modl, projection="exact"),
}


class RowsWithMissing:
    """Rows of a matrix, NaN where nothing was observed; made as they are asked for."""

    def __init__(self, ratings):
        self._known = sp.csr_matrix((ratings.values, (ratings.rows, ratings.columns)), ratings.shape)
        self.shape = ratings.shape

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, rows):
        known = self._known[rows].tocoo()
        X = np.full(known.shape, np.nan, np.float32)
        X[known.row, known.col] = known.data
        return X


class CoordinateDescent:
    """Factors U (n_rows, k) and V (n_columns, k) of the observed entries of a matrix.

    Minimises sum (x_ij - u_i v_j)^2 + lam (sum_i n_i |u_i|^2 + sum_j n_j |v_j|^2), n_i and n_j the observed
    entries of a row and of a column.

    Parameters
    ----------
    rows, columns : int32 arrays (n_known,); values : float64 array (n_known,); shape : (n_rows, n_columns)
    n_components : int
    lam : float > 0
    rng : numpy Generator, for the first V

    Source
    ------
    Yu, Hsieh, Si and Dhillon, "Scalable coordinate descent approaches to parallel matrix factorization for
    recommender systems", ICDM 2012 (CCD++): one component at a time, its rows, then its columns.
    """

    def __init__(self, rows, columns, values, shape, *, n_components, lam, rng):
        self.lam = lam
        self.U = np.zeros((shape[0], n_components))
        self.V = rng.normal(scale=1 / np.sqrt(n_components), size=(shape[1], n_components))
        self._by_row = _sorted_by(rows, columns, shape[0])
        self._by_column = _sorted_by(columns, rows, shape[1])
        self._residual = np.array(values, np.float64)  # U begins at 0

    def sweep(self):
        """Re-solve every component once."""
        for k in range(self.U.shape[1]):
            u, v = np.ascontiguousarray(self.U[:, k]), np.ascontiguousarray(self.V[:, k])
            _add(self._residual, *self._by_row, u, v)
            _solve(self._residual, *self._by_row, u, v, self.lam)
            _solve(self._residual, *self._by_column, v, u, self.lam)
            _add(self._residual, *self._by_row, -u, v)
            self.U[:, k], self.V[:, k] = u, v

    def predict(self, rows, columns):
        """Return the entries at the given places."""
        return np.einsum("ij,ij->i", self.U[rows], self.V[columns])


def _sorted_by(these, others, n):
    """(order, first, others): the entries of every row (or column) end to end."""
    order = np.argsort(these, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(these, minlength=n))])
    return order, first, np.asarray(others)[order]


@compiled
def _add(residual, order, first, others, u, v):
    for i in range(len(u)):
        for s in range(first[i], first[i + 1]):
            residual[order[s]] += u[i] * v[others[s]]


@compiled
def _solve(residual, order, first, others, u, v, lam):
    """Compute the best u for the residual without this component, for a given v."""
    for i in range(len(u)):
        above, below = 0.0, lam * (first[i + 1] - first[i])
        for s in range(first[i], first[i + 1]):
            above += residual[order[s]] * v[others[s]]
            below += v[others[s]] ** 2
        u[i] = above / below if below > 0 else 0.0
