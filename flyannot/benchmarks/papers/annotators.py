"""The methods of Huang et al. and their stand-ins: each gives values of queries, and the time it took."""

import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from flyannot.benchmarks.speed.clocks import Stopwatch
from flyannot.classifiers.propagation import FRACTION, METHODS, unit_rows
from flyannot.classifiers.rbf_svm import RbfSvm
from flyannot.scores.average_precision import mean_average_precision

LASSO, SPREADING = "lasso", "label spreading"
HASH, HASH_EXACT = "hash-siso", "hash-siso, exact"
N_CHECKED = 50  # queries of LASSO, and of hash-siso, exact: both are slow, and have SISO's result
_ENDINGS = {HASH: "none", HASH_EXACT: "solve"}  # the paper believes an empty answer of the hash
_TOL = (
    5e-6  # of the gap of LASSO's codes, relative to |y|^2: what flyannot.classifiers.propagation asks of SISO
)
_MOST_SWEEPS = 2_000
_N_WARM = 20  # rows of a first small fit
_N_NEIGHBOURS = 7  # of label spreading's graph


@dataclass(frozen=True)
class Annotated:
    """What a method answered to the first queries: values (n_queries, n_labels), and what is true of them.

    Seconds are those of fitting, and of these queries.
    """

    method: str
    seconds_fit: float
    seconds_queries: float
    values: np.ndarray
    truth: np.ndarray

    @property
    def n_queries(self):
        return len(self.values)

    @property
    def map_score(self):
        return self.map_of(self.n_queries)

    def map_of(self, n):
        """The mean average precision over the first n queries."""
        return mean_average_precision(self.values[:n], self.truth[:n])

    @property
    def ms_per_query(self):
        return 1000 * self.seconds_queries / self.n_queries

    @property
    def total(self):
        return self.seconds_fit + self.seconds_queries

    def row(self, **more):
        """For the table of measurements."""
        return more | {
            "method": self.method,
            "seconds_fit": self.seconds_fit,
            "seconds_queries": self.seconds_queries,
            "n_queries": self.n_queries,
            "ms_per_query": self.ms_per_query,
            "map": self.map_score,
        }


@lru_cache(maxsize=128)  # tables and figures on one collection share what was found at all of its rows
def annotate_by(setup, method, labelled):
    """Fit a method on the labelled rows, and answer the queries: the first N_CHECKED or all."""
    if method == SPREADING:
        return _spread(labelled)
    queries = labelled.X_test[: N_CHECKED if method in (LASSO, HASH_EXACT) else None]
    truth = labelled.Y_test[: len(queries)]
    if method == LASSO:
        return _by_lasso(labelled, queries, truth)
    model, seconds = fitted(method, labelled.X, labelled.Y, setup.rng(method))
    with Stopwatch() as answering:
        values = model.decision_values(queries)
    return Annotated(method, seconds, answering.seconds, values, truth)


def fitted(method, X, Y, rng):
    """A fitted model of flyannot.classifiers.propagation or flyannot.classifiers.rbf_svm, and the seconds
    that it took."""
    kind = RbfSvm if method == "svm" else METHODS[method.partition(",")[0]]
    setting = _ENDINGS.get(method, kind.settings(len(X))[0])
    warm = kind.fit(X[:_N_WARM], Y[:_N_WARM], setting, rng=np.random.default_rng(0))
    warm.decision_values(X[:2])  # imported, compiled
    with Stopwatch() as watch:
        model = kind.fit(X, Y, setting, rng=rng)
    return model, watch.seconds


def _by_lasso(labelled, queries, truth):
    """Codes over all labelled rows at once, by scikit-learn's coordinate descent: no active set."""
    A, X = unit_rows(labelled.X), unit_rows(queries)
    with Stopwatch() as watch:
        values = lasso_codes(X, A) @ labelled.Y.astype(float)
    return Annotated(LASSO, 0.0, watch.seconds, values, truth)


def lasso_codes(X, A):
    """Codes (n_queries, n_labelled) at lam = FRACTION |A x|_inf."""
    from sklearn.linear_model import Lasso

    columns, Z = np.asfortranarray(A.T, np.float64), np.zeros((len(X), len(A)))
    for z, x in zip(Z, np.asarray(X, np.float64)):
        lam = FRACTION * np.abs(A @ x).max()
        if lam > 0:
            alpha = lam / len(x)  # scikit-learn divides the square, not the norm, by the number of features
            lasso = Lasso(alpha, fit_intercept=False, tol=_TOL, max_iter=_MOST_SWEEPS, copy_X=False)
            with _quiet():
                z[:] = lasso.fit(columns, x).coef_
    return Z


def _spread(labelled):
    """Label spreading (Zhou et al. 2004, the paper's LGC) on one graph of neighbours, label by label."""
    from sklearn.neighbors import kneighbors_graph
    from sklearn.semi_supervised import LabelSpreading

    X = np.concatenate([unit_rows(labelled.X), unit_rows(labelled.X_test)])
    n, values = len(labelled.X), np.zeros(labelled.Y_test.shape)
    with Stopwatch() as building:
        graph = kneighbors_graph(X, _N_NEIGHBOURS, include_self=True)
    with Stopwatch() as answering:
        for j in np.flatnonzero(labelled.Y.any(axis=0)):
            given = np.concatenate([labelled.Y[:, j].astype(int), np.full(len(labelled.X_test), -1)])
            model = LabelSpreading(kernel=lambda *_: graph, max_iter=30, tol=1e-3)
            values[:, j] = _last_column(model, X, given)[n:]
    return Annotated(SPREADING, building.seconds, answering.seconds, values, labelled.Y_test)


def _last_column(model, X, given):
    """The share of the label 1, once it has been spread."""
    with _quiet():
        return np.nan_to_num(model.fit(X, given).label_distributions_[:, -1])


@contextmanager
def _quiet():
    """Without scikit-learn's remarks on early ends and on points that no label reaches."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
