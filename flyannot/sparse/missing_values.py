"""Codes of samples from their observed features only, over atoms that are stored feature by feature."""

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from flyannot.sparse.coders import CODERS
from flyannot.sparse.coders.blocks import Codes

_DEPENDENT = 1e-7  # eigenvalues of the Gram matrix below this part of the largest count as zero


def split_missing(X):
    """(X with 0 for NaN, observed): `observed` marks what is not NaN; None where nothing is missing."""
    if not np.isnan(np.einsum("ij,ij->i", X, X)).any():
        return X, None
    observed = ~np.isnan(X)
    return np.where(observed, X, X.dtype.type(0)), observed


def split_by_observed(X, D, lam):
    """(rows, their observed features, the atoms there, that part of lam): all at once if none is missing."""
    X, observed = split_missing(X)
    if observed is None:
        yield slice(None), X, D, lam
        return
    for i in np.flatnonzero(observed.any(axis=1)):
        there = observed[i]
        yield slice(i, i + 1), X[i : i + 1, there], D[:, there], lam * there.mean()


def encode_observed(encode, X, D, lam, *, tol, n_threads=1):
    """`Codes` of every sample from its observed features; where there are none, no code.

    encode : `Coder`, whose parameters the others are; X may hold NaN
    """
    found = [Codes(sp.csr_matrix((1, len(D)), dtype=X.dtype), np.zeros(1))] * len(X)
    for rows, Xk, Dk, lam_k in split_by_observed(X, D, lam):
        if rows == slice(None):
            return encode.codes(Xk, Dk, lam_k, tol=tol, n_threads=n_threads)
        found[rows.start] = encode.codes(Xk, Dk, lam_k, tol=tol)
    return Codes(sp.vstack([Z for Z, _ in found], format="csr"), np.concatenate([gaps for _, gaps in found]))


def solve_observed_lasso(X, observed, F, lam, tol):
    """The z that minimise 1/2 |M (x - z D)|^2 + lam s |z|_1, M the s observed features of the sample.

    For learners: of codes that miss `tol` nothing is said.

    Parameters
    ----------
    X : float array (n_samples, n_features), 0 where not observed
    observed : bool array of the same shape, or None for all
    F : float array (n_features, n_atoms)
        The atoms, D transposed.
    lam : float > 0, weight of the L1 norm for one observed feature
    tol : float
        A sample is done when its duality gap is at most tol / 2 |M x|^2.

    Returns
    -------
    Z : CSR matrix (n_samples, n_atoms)
    """
    if observed is None and F.shape[0] <= F.shape[1]:
        return CODERS["cd"].codes(X, F.T, lam * len(F), tol=tol).Z
    problems = _group_problems(X, observed, F)
    encoded = [_lasso_in_few_dimensions(X[rows] @ F, gram, lam * s, tol) for rows, gram, s in problems]
    return encoded[0] if len(encoded) == 1 else sp.vstack(encoded, format="csr", dtype=X.dtype)


def solve_observed_ridge(X, observed, F, lam):
    """The z that minimise 1/2 |M (x - z D)|^2 + lam s |z|^2; parameters as `solve_observed_lasso`."""
    encoded = [
        scipy.linalg.solve(gram + 2 * lam * max(s, 1) * np.eye(len(gram)), (X[rows] @ F).T, assume_a="pos").T
        for rows, gram, s in _group_problems(X, observed, F)
    ]
    return sp.csr_matrix(np.concatenate(encoded), dtype=X.dtype)


def _group_problems(X, observed, F):
    """(rows, Gram matrix, number of observed features) for every set of samples that shares them."""
    if observed is None:
        yield slice(len(X)), F.T @ F, len(F)
        return
    for i, observed_here in enumerate(observed):
        there = F[observed_here]
        yield slice(i, i + 1), there.T @ there, len(there)


def _lasso_in_few_dimensions(Q, gram, lam, tol):
    """The lasso from Q = X D^T and D D^T = L L^T alone: that of X' = Q L^-T over the atoms L.

    |x - z D|^2 and |x' - z L|^2 differ by a constant, however many features x has.
    """
    gram64 = gram.astype(np.float64)
    try:
        L = np.linalg.cholesky(gram64)
        X = scipy.linalg.solve_triangular(L, Q.T, lower=True).T
    except np.linalg.LinAlgError:  # atoms that are zero or depend on one another
        values, vectors = np.linalg.eigh(gram64)
        there = values > _DEPENDENT * max(values[-1], np.finfo(float).tiny)
        if not there.any():
            return sp.csr_matrix(Q.shape, dtype=Q.dtype)
        roots = np.sqrt(values[there])
        L, X = vectors[:, there] * roots, Q @ vectors[:, there] / roots
    return CODERS["cd"].codes(X.astype(Q.dtype), L.astype(Q.dtype), lam, tol=tol, gram=gram).Z
