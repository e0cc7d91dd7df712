"""The methods of Huang et al. and their stand-ins: what each answers to queries, and the time it takes."""

import numpy as np

from flyannot.benchmarks.measures import Stopwatch
from flyannot.benchmarks.references.full_sweep_cd import reference_full_sweep_cd
from flyannot.benchmarks.references.scikit_learn import lasso_codes, spread_labels
from flyannot.classifiers import CLASSIFIERS
from flyannot.classifiers.siso import FRACTION
from flyannot.classifiers.unit_rows import unit_rows
from flyannot.sparse.coders.siso import encode as siso

LASSO, SPREADING, SISO = "lasso", "label spreading", "siso"
HASH, HASH_EXACT = "hash-siso", "hash-siso, exact"
PUBLISHED, CD = "siso, as published", "coordinate descent"
VARIANT = (
    "label propagation: lam 0.002 |A y|_inf, tol 1e-5; hash-siso as in the paper (an empty answer of the "
    "hash ends it), hash-siso, exact goes on to SISO's result; one setting each, the preferred one"
)
_NAMES = {"svm": "rbf-svm", HASH_EXACT: HASH}
_ENDINGS = {HASH: "none", HASH_EXACT: "solve"}  # the paper believes an empty answer of the hash
_TOL = 1e-5  # of the gap of a code, as part of 1/2 |y|^2: what flyannot's classifiers ask of SISO
_N_WARM = 20  # rows of a first small fit


def fitted_annotator(method, X, Y, rng):
    """Fit on labelled rows: a function from queries (n_queries, n_features) to values, and the seconds."""
    if method in _CODES:
        A = unit_rows(X)
        return lambda queries: _propagated(_CODES[method], A, Y, unit_rows(queries)), 0.0
    kind = CLASSIFIERS[_NAMES.get(method, method)]
    setting = _ENDINGS.get(method, kind.settings(len(X))[0])
    warm = kind.fit_setting(X[:_N_WARM], Y[:_N_WARM], setting, rng=np.random.default_rng(0))
    warm.decision_values(X[:2])
    with Stopwatch() as watch:
        model = kind.fit_setting(X, Y, setting, rng=rng)
    return model.decision_values, watch.seconds


def answered_queries(method, X, Y, queries, rng):
    """The values of queries, the seconds of fitting, and those of the queries."""
    if method == SPREADING:
        return spread_labels(unit_rows(X), Y, unit_rows(queries))
    answer, seconds = fitted_annotator(method, X, Y, rng)
    with Stopwatch() as watch:
        values = answer(queries)
    return values, seconds, watch.seconds


def _propagated(encode, A, Y, X):
    """Labels by the codes of queries of length 1 over all labelled rows."""
    largest = np.abs(X @ A.T).max(axis=1, keepdims=True)
    Z = encode(X / np.where(largest > 0, largest, 1), A)
    used = np.flatnonzero(np.asarray(abs(Z).sum(axis=0)))  # of a million rows a thousand
    return largest * (Z[:, used] @ Y[used].astype(float))


def _by_lasso(X, A):
    return lasso_codes(X, A, FRACTION, tol=_TOL / 2)


def _as_published(X, A):
    """With a pass over all rows in every round."""
    return siso.solve_with_full_passes(X.astype(np.float32), A, FRACTION, tol=_TOL).Z


def _by_cd(X, A):
    """By sweeps over the support between sweeps over all rows."""
    return np.array([reference_full_sweep_cd(x, A, FRACTION, tol=_TOL) for x in X])


_CODES = {LASSO: _by_lasso, PUBLISHED: _as_published, CD: _by_cd}
