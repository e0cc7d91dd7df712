"""Sparse codes of samples with missing values (NaN), from their observed features alone.

Let M select the s observed features of a sample x with p features.  Its code z minimises

    1/2 |M (x - z D)|^2 + lam s/p |z|_1.

Learners store atoms feature by feature, as F = D^T.
"""

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from flyannot.sparse.coders.blocks import Codes

_DEPENDENT = 1e-7  # eigenvalues of the Gram matrix below this fraction of the largest count as zero


def replace_missing(X):
    """Replace missing values (NaN) in samples by 0, and return which entries are observed.

    Parameters
    ----------
    X : float array (n_samples, n_features)

    Returns
    -------
    X : float array of the same shape, not copied if nothing is missing
    observed : bool array of the same shape, or None if nothing is missing
    """
    if not np.isnan(np.einsum("ij,ij->i", X, X)).any():
        return X, None
    observed = ~np.isnan(X)
    return np.where(observed, X, X.dtype.type(0)), observed


def split_by_missing_pattern(X, D, lam):
    """Split a sparse coding problem with missing values (NaN) into problems without missing values.

    Parameters
    ----------
    X : float array (n_samples, n_features), may contain NaN
    D : float array (n_atoms, n_features)
    lam : float, weight of the L1 norm

    Yields
    ------
    rows : slice
        All samples if nothing is missing, otherwise one sample.  Samples with nothing observed are skipped.
    X, D : arrays of these samples and of all atoms, with the observed features of these samples only
    lam : float, multiplied by the fraction of observed features
    """
    X, observed = replace_missing(X)
    if observed is None:
        yield slice(None), X, D, lam
        return
    for i in np.flatnonzero(observed.any(axis=1)):
        there = observed[i]
        yield slice(i, i + 1), X[i : i + 1, there], D[:, there], lam * there.mean()


def encode_observed(encode, X, D, lam, *, tol, n_threads=1, gram=None):
    """Compute the code of every sample from its observed features.

    Parameters
    ----------
    encode : Coder, the solver
    X : float array (n_samples, n_features), may contain NaN
    D : float array (n_atoms, n_features)
    lam : float, weight of the L1 norm
    tol : float, relative duality gap at which the solver stops
    n_threads : int
    gram : array (n_atoms, n_atoms), as `gram_for` computes it, for samples without missing values; or None

    Returns
    -------
    codes : Codes, the CSR matrix (n_samples, n_atoms) and the duality gap of every sample
        A sample with nothing observed gets the zero code.
    """
    found = [Codes(sp.csr_matrix((1, len(D)), dtype=X.dtype), np.zeros(1))] * len(X)
    for rows, Xk, Dk, lam_k in split_by_missing_pattern(X, D, lam):
        if rows == slice(None):
            return encode.codes(Xk, Dk, lam_k, tol=tol, n_threads=n_threads, gram=gram)
        found[rows.start] = encode.codes(Xk, Dk, lam_k, tol=tol)
    return Codes(sp.vstack([Z for Z, _ in found], format="csr"), np.concatenate([gaps for _, gaps in found]))


def solve_observed_lasso(encode, X, observed, F, lam, tol):
    """Solve the lasso of every sample over its observed features: 1/2 |M (x - z D)|^2 + lam s |z|_1.

    M selects the s observed features of a sample x.  Learners call this function; it does not warn about
    codes that miss `tol`.

    Parameters
    ----------
    encode : Coder, the solver
    X : float array (n_samples, n_features), 0 if not observed
    observed : bool array of the same shape, or None if everything is observed
    F : float array (n_features, n_atoms), the atoms, D transposed
    lam : float > 0, weight of the L1 norm per observed feature
    tol : float
        A sample is done when its duality gap is at most tol / 2 |M x|^2.

    Returns
    -------
    Z : CSR matrix (n_samples, n_atoms)
    """
    if observed is None and F.shape[0] <= F.shape[1]:
        return encode.codes(X, F.T, lam * len(F), tol=tol).Z
    problems = _group_problems(X, observed, F)
    encoded = [_lasso_in_few_dimensions(encode, X[i] @ F, gram, lam * s, tol) for i, gram, s in problems]
    return encoded[0] if len(encoded) == 1 else sp.vstack(encoded, format="csr", dtype=X.dtype)


def solve_observed_ridge(X, observed, F, lam):
    """Solve ridge regression of every sample over its observed features: 1/2 |M (x - z D)|^2 + lam s |z|^2.

    M selects the s observed features of a sample x.

    Parameters
    ----------
    X : float array (n_samples, n_features), 0 if not observed
    observed : bool array of the same shape, or None if everything is observed
    F : float array (n_features, n_atoms)
        The atoms, D transposed.
    lam : float > 0, weight of the penalty per observed feature

    Returns
    -------
    Z : CSR matrix (n_samples, n_atoms)
    """
    encoded = [
        scipy.linalg.solve(gram + 2 * lam * max(s, 1) * np.eye(len(gram)), (X[rows] @ F).T, assume_a="pos").T
        for rows, gram, s in _group_problems(X, observed, F)
    ]
    return sp.csr_matrix(np.concatenate(encoded), dtype=X.dtype)


def _group_problems(X, observed, F):
    """Group the least-squares problems of samples by their observed features, and yield them one by one.

    Parameters
    ----------
    X : float array (n_samples, n_features)
    observed : bool array of the same shape, or None if everything is observed
    F : float array (n_features, n_atoms), D transposed

    Yields
    ------
    rows : slice
        All samples if everything is observed, otherwise one sample.
    gram : array (n_atoms, n_atoms)
        Inner products of the atoms over the observed features.
    n_observed : int
    """
    if observed is None:
        yield slice(len(X)), F.T @ F, len(F)
        return
    for i, observed_here in enumerate(observed):
        there = F[observed_here]
        yield slice(i, i + 1), there.T @ there, len(there)


def _lasso_in_few_dimensions(encode, Q, gram, lam, tol):
    """Solve the lasso of samples X over atoms D, given only Q = X D^T and the Gram matrix D D^T = L L^T.

    The result is a CSR matrix (n_samples, n_atoms).  Its codes also solve the lasso of X' = Q L^-T over the
    atoms L, because |x - z D|^2 and |x' - z L|^2 differ by a constant.  So the cost does not depend on the
    number of features.

    Parameters
    ----------
    encode : Coder, the solver
    Q : float array (n_samples, n_atoms), inner products of samples and atoms
    gram : float array (n_atoms, n_atoms), inner products of atoms
    lam : float, weight of the L1 norm
    tol : float, relative duality gap at which the solver stops
    """
    gram64 = gram.astype(np.float64)
    try:
        L = np.linalg.cholesky(gram64)
        X = scipy.linalg.solve_triangular(L, Q.T, lower=True).T
    except np.linalg.LinAlgError:  # atoms are zero or linearly dependent
        values, vectors = np.linalg.eigh(gram64)
        there = values > _DEPENDENT * max(values[-1], np.finfo(float).tiny)
        if not there.any():
            return sp.csr_matrix(Q.shape, dtype=Q.dtype)
        roots = np.sqrt(values[there])
        L, X = vectors[:, there] * roots, Q @ vectors[:, there] / roots
    return encode.codes(X.astype(Q.dtype), L.astype(Q.dtype), lam, tol=tol, gram=gram).Z
