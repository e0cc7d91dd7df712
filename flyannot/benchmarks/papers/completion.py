"""Completing a matrix from its known entries: MODL beside coordinate descent, as the paper's Table 1."""

from dataclasses import dataclass, replace

import numpy as np

from flyannot.benchmarks.papers.ratings import Ratings
from flyannot.benchmarks.speed.clocks import Stopwatch
from flyannot.benchmarks.speed.completion_cd import CoordinateDescent
from flyannot.sparse.fit import random_patches
from flyannot.sparse.learners import LEARNERS

N_COMPONENTS = 30
TEST_SHARE = 0.25
_CLOSE = 0.001  # "convergence time": within 0.1 % of the final error
_N_SWEEPS = 20
_N_EPOCHS = 12
_BATCHES = 100  # an epoch, as in the paper


@dataclass(frozen=True)
class Split:
    """Known entries to learn from, with the biases taken out, and entries to test on."""

    train: Ratings
    test: Ratings
    bias: np.ndarray  # of the test entries


@dataclass(frozen=True)
class Completed:
    """(seconds, test error) after every epoch or sweep."""

    trace: list

    @property
    def rmse(self):
        return self.trace[-1][1]

    @property
    def seconds(self):
        """Until the error is within 0.1 % of its last value."""
        return next(s for s, e in self.trace if abs(e / self.rmse - 1) <= _CLOSE)


def split(ratings, rng, *, test_share=TEST_SHARE):
    """Hold out a share of the entries; row and column means of the rest are alternately taken out."""
    order = rng.permutation(len(ratings))
    n_test = int(test_share * len(ratings))
    train, test = ratings.subset(order[n_test:]), ratings.subset(order[:n_test])
    mean, of_row, of_column = biases(train)
    centred = train.values - mean - of_row[train.rows] - of_column[train.columns]
    return Split(replace(train, values=centred), test, mean + of_row[test.rows] + of_column[test.columns])


def biases(ratings, *, n_rounds=5):
    """The mean of all entries, and what rows and columns have above it (alternated means)."""
    mean = float(ratings.values.mean())
    of_row, of_column = np.zeros(ratings.shape[0]), np.zeros(ratings.shape[1])
    for _ in range(n_rounds):
        of_row = _means(ratings.rows, ratings.values - mean - of_column[ratings.columns], len(of_row))
        of_column = _means(ratings.columns, ratings.values - mean - of_row[ratings.rows], len(of_column))
    return mean, of_row, of_column


def by_coordinate_descent(parts, lam, rng, *, n_sweeps=_N_SWEEPS):
    """`Completed` by the paper's peer."""
    train, test = parts.train, parts.test
    known = train.rows, train.columns, train.values, train.shape
    CoordinateDescent(*(a[:2] for a in known[:3]), train.shape, n_components=1, lam=1.0, rng=rng).sweep()
    trace = []
    with Stopwatch() as watch:
        model = CoordinateDescent(*known, n_components=N_COMPONENTS, lam=lam, rng=rng)
    spent = watch.seconds
    for _ in range(n_sweeps):
        with Stopwatch() as watch:
            model.sweep()
        spent += watch.seconds
        trace.append((spent, rmse(model.predict(test.rows, test.columns) + parts.bias, test)))
    return Completed(trace)


def by_modl(parts, lam, rng, *, n_epochs=_N_EPOCHS, beta=0.9):
    """`Completed` by MODL: rows are samples, missing entries are never seen, codes have |z|^2."""
    train, test = parts.train, parts.test
    X = KnownRows(train)
    full = X[rng.permutation(len(X))[: 4 * N_COMPONENTS]]
    D = random_patches(np.nan_to_num(full) + 1e-3 * rng.normal(size=full.shape), N_COMPONENTS, rng)
    learner = LEARNERS["modl"](
        np.asarray(D, np.float32), len(X), lam=lam, batch_size=max(1, len(X) // _BATCHES), beta=beta,
        code_penalty="l2",
    )  # fmt: skip
    trace, spent = [], 0.0
    for epoch_rng in rng.spawn(n_epochs):
        order = epoch_rng.permutation(len(X))
        learner.begin_epoch(epoch_rng)
        for start in range(0, len(order), learner.block_size):
            rows = order[start : start + learner.block_size]
            with Stopwatch() as watch:
                learner.step(X[rows], rows)
            spent += watch.seconds
        Z, D = learner.codes(), learner.D
        found = np.einsum("ij,ij->i", Z[test.rows].toarray(), D.T[test.columns])
        trace.append((spent, rmse(found + parts.bias, test)))
    return Completed(trace)


class KnownRows:
    """Rows of a matrix, NaN where nothing is known; made as they are asked for."""

    def __init__(self, ratings):
        order = np.argsort(ratings.rows, kind="stable")
        self._columns, self._values = ratings.columns[order], ratings.values[order]
        self._first = np.concatenate([[0], np.cumsum(np.bincount(ratings.rows, minlength=ratings.shape[0]))])
        self.shape = ratings.shape

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, rows):
        X = np.full((len(rows), self.shape[1]), np.nan, np.float32)
        for x, row in zip(X, rows):
            there = slice(self._first[row], self._first[row + 1])
            x[self._columns[there]] = self._values[there]
        return X


def rmse(found, test):
    """The root mean square error of predictions of the test entries."""
    return float(np.sqrt(np.mean((found - test.values) ** 2)))


def best_lam(solve, ratings, lams, rng):
    """The lam with the least error on a third of the entries that the others do not see."""
    parts = split(ratings, rng, test_share=1 / 3)
    return min(lams, key=lambda lam: solve(parts, lam, np.random.default_rng(0)).rmse)


def _means(places, values, n):
    return np.bincount(places, values, n) / np.maximum(np.bincount(places, minlength=n), 1)
