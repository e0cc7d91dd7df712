"""The methods of Huang et al. and their stand-ins: each gives values of queries, and the time it took."""

import warnings
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from flyannot.bench.clocks import Stopwatch
from flyannot.propagation import FRACTION, METHODS, unit_rows
from flyannot.ranking import mean_average_precision
from flyannot.rbf_svm import RbfSvm

LASSO, SPREADING = "lasso", "label spreading"
HASH, HASH_EXACT = "hash-siso", "hash-siso, exact"
ALL = ("svm", "ridge", "knn", SPREADING, "siso", HASH, HASH_EXACT)
_ENDINGS = {HASH: "none", HASH_EXACT: "solve"}  # the paper believes an empty answer of the hash
_TOL = 5e-6  # of the gap of LASSO's codes, relative to |y|^2: what flyannot.propagation asks of SISO
_MOST_SWEEPS = 2_000
_N_NEIGHBOURS = 7  # of label spreading's graph


@dataclass(frozen=True)
class Annotated:
    """What a method answered; seconds of fitting and of all queries; `map_score` is None for a part."""

    method: str
    seconds_fit: float
    seconds_queries: float
    n_queries: int
    map_score: float | None

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


def annotate_by(method, labelled, rng):
    """Fit a method of ALL, or LASSO, on the labelled rows, and answer the queries."""
    if method == SPREADING:
        return _spread(labelled)
    if method == LASSO:
        return annotate_by_lasso(labelled, len(labelled.X_test))
    model, seconds = fitted(method, labelled.X, labelled.Y, rng)
    model.decision_values(labelled.X_test[:2])  # compiled
    with Stopwatch() as answering:
        values = model.decision_values(labelled.X_test)
    score = mean_average_precision(values, labelled.Y_test)
    return Annotated(method, seconds, answering.seconds, len(values), score)


def fitted(method, X, Y, rng):
    """A fitted model of flyannot.propagation or flyannot.rbf_svm, and the seconds that it took."""
    kind = RbfSvm if method == "svm" else METHODS[method.partition(",")[0]]
    setting = _ENDINGS.get(method, kind.settings(len(X))[0])
    with Stopwatch() as watch:
        model = kind.fit(X, Y, setting, rng=rng)
    return model, watch.seconds


def annotate_by_lasso(labelled, n_queries):
    """Codes over all labelled rows at once, by scikit-learn's coordinate descent: no active set."""
    A, X = unit_rows(labelled.X), unit_rows(labelled.X_test[:n_queries])
    with Stopwatch() as watch:
        values = lasso_codes(X, A) @ labelled.Y.astype(float)
    is_all = n_queries >= len(labelled.X_test)
    score = mean_average_precision(values, labelled.Y_test) if is_all else None
    return Annotated(LASSO, 0.0, watch.seconds, len(X), score)


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
    score = mean_average_precision(values, labelled.Y_test)
    return Annotated(SPREADING, building.seconds, answering.seconds, len(values), score)


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
