"""The methods of Huang et al. and their stand-ins: what each answers to queries, and the time it takes."""

from functools import partial

import numpy as np
from scipy.linalg import solve_triangular

from benchmarks.measures import Stopwatch
from benchmarks.references.classifiers import fit_nearest_neighbours, fit_rbf_svm
from benchmarks.references.other_programs import celer_codes, lasso_codes, spread_labels
from benchmarks.references.p_stable import atoms_beside, build_tables
from benchmarks.siso import hash_siso
from flyannot.encode.groups import unit_rows
from flyannot.sparse.coders import siso
from flyannot.terms.feature_rows import CholeskyBasis, inner_products
from flyannot.terms.ridge import ALPHAS, Ridge

FRACTION = 0.002  # lam of a query y relative to |A y|_inf
LASSO, SPREADING, SISO = "lasso", "label spreading", "siso"
LASSOS = LASSO, "lasso, float32", "celer"  # solvers of the lasso over all rows, one query at a time
HASH, P_STABLE, PUBLISHED = "hash-siso", "hash-siso, p-stable", "siso, as published"
VARIANT = (
    "label propagation: lam 0.002 |A y|_inf, tol 1e-5; an empty answer of the hash ends it, as in the paper; "
    "hash-siso, p-stable has tables as Datar et al. 2004 (16 of 8 functions), hash-siso alone the cells of "
    "flyannot; one setting each, the preferred one"
)
_TOL = 1e-5  # of the gap of a code, as part of 1/2 |y|^2
_ROWS = 256  # labelled rows that are compared with all queries
_N_WARM = 20  # rows of a first small fit


def fitted_annotator(method, X, Y, rng):
    """Fit on labelled rows; return a function from queries to values, and the seconds."""
    fit = _FITS[method]
    fit(X[:_N_WARM], Y[:_N_WARM], np.random.default_rng(0))(X[:2])  # imported and compiled: no query pays
    with Stopwatch() as watch:
        answer = fit(X, Y, rng)
    return answer, watch.seconds


def _fit_ridge(X, Y, rng):
    """Fit our ridge regression with its preferred setting, and return its decision values."""
    return Ridge.fit_alpha(X, Y, ALPHAS[0]).decision_values


def _fit_propagation(encoder, X, Y, rng):
    """Fit label propagation; `encoder` makes a function from queries and labelled rows to codes."""
    A = unit_rows(X)
    encode = encoder(A, rng)
    return lambda queries: _propagated(encode, A, Y, unit_rows(queries))


def _siso_encoder(A, rng):
    """SISO over labelled rows, which are written in a basis of their own span if that is shorter."""
    basis = CholeskyBasis.from_inner_products(inner_products(A)) if len(A) < A.shape[1] else None

    def encode(queries, A):
        if basis is not None:
            products = queries @ A[basis.pivots].astype(np.float64).T
            queries = solve_triangular(basis.coordinates[basis.pivots], products.T, lower=True).T
            A = basis.coordinates.astype(np.float32)
        return siso.encode(queries.astype(np.float32), A, FRACTION, tol=_TOL).astype(np.float64)

    return encode


def _hash_encoder(build, candidates, A, rng):
    """SISO's codes through cells; the paper believes an empty answer of the hash."""
    search = partial(candidates, build(A, rng))
    return lambda queries, A: hash_siso.solve(queries, A, FRACTION, search, tol=_TOL)


def answered_queries(method, X, Y, queries, rng):
    """Return the values of queries, the seconds of fitting and the seconds of the queries."""
    if method == SPREADING:
        return spread_labels(unit_rows(X), Y, unit_rows(queries))
    answer, seconds = fitted_annotator(method, X, Y, rng)
    with Stopwatch() as watch:
        values = answer(queries)
    return values, seconds, watch.seconds


def _propagated(encode, A, Y, X):
    """Labels by the codes of queries of length 1 over all labelled rows."""
    scaled, largest = _scaled(X, A)
    Z = encode(scaled, A)
    used = np.flatnonzero(np.asarray(abs(Z).sum(axis=0)))  # of a million rows a thousand
    return largest * (Z[:, used] @ Y[used].astype(float))


def _scaled(X, A):
    """Return queries divided by their largest product, so that lam is FRACTION, and those products."""
    largest = np.zeros((len(X), 1))
    for at in range(0, len(A), _ROWS):
        largest = np.maximum(largest, np.abs(X @ A[at : at + _ROWS].T).max(axis=1, initial=0, keepdims=True))
    return X / np.where(largest > 0, largest, 1).astype(X.dtype), largest


_CODES = {  # of scaled queries over labelled rows; PUBLISHED makes a pass over all rows in every round
    **dict(zip(LASSOS, (lasso_codes, partial(lasso_codes, kind="float32"), celer_codes))),
    PUBLISHED: lambda X, A, lam, tol: siso.encode(X.astype(np.float32), A, lam, tol=tol),
}
_ENCODERS = {
    SISO: _siso_encoder,
    HASH: partial(_hash_encoder, hash_siso.build_index, hash_siso.candidates_of_query),
    P_STABLE: partial(_hash_encoder, build_tables, atoms_beside),
}
_ENCODERS |= {name: lambda A, rng, c=c: partial(c, lam=FRACTION, tol=_TOL) for name, c in _CODES.items()}
_FITS = {"svm": fit_rbf_svm, "knn": fit_nearest_neighbours, "ridge": _fit_ridge}
_FITS |= {name: partial(_fit_propagation, encoder) for name, encoder in _ENCODERS.items()}
