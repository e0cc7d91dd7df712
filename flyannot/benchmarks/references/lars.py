"""Least angle regression by scikit-learn: a reference for the other coders, not a fast one."""

import warnings

import numpy as np
import scipy.sparse as sp

from flyannot.sparse.coders.cd.encode import encode as encode_by_cd

BLOCK = 1024  # samples whose codes are dense at one time


def encode(X, D, lam, *, tol=1e-4, max_sweeps=1000, start=None, gram=None, n_threads=1):
    """Codes of X over a fixed dictionary by following the lasso path down to `lam`.

    Each sample minimises 1/2 |x - z D|^2 + lam |z|_1.  scikit-learn gives no gap, drops atoms that
    depend on others, and stops early without a word: coordinate descent measures every code, and goes
    on from it where `tol` is not met.

    Parameters
    ----------
    X : float array (n_samples, n_features)
    D : float array (n_atoms, n_features)
        Atoms of any norm; codes of zero atoms are zero.
    lam : float > 0, weight of the L1 norm
    tol : float
        A sample is done when its duality gap is at most tol / 2 |x|^2.
    max_sweeps : int
        Most corners of a sample's path, and most passes of coordinate descent after it.
    start : CSR matrix (n_samples, n_atoms), optional
        Not used: a path begins at zero.
    gram : float array (n_atoms, n_atoms), optional
        D D^T, where the caller has it.
    n_threads : int, used by coordinate descent only

    Returns
    -------
    Z : CSR matrix (n_samples, n_atoms), float32 if X is, else float64

    Source
    ------
    Efron, Hastie, Johnstone and Tibshirani, Annals of Statistics 32(2), 2004; scikit-learn's
    `sparse_encode`.
    """
    dtype = np.float32 if np.asarray(X).dtype == np.float32 else np.float64
    X, D = np.asarray(X, np.float64), np.ascontiguousarray(D, np.float64)
    gram = D @ D.T if gram is None else np.ascontiguousarray(gram, np.float64)
    rules = {"tol": tol, "max_sweeps": max_sweeps, "gram": gram, "n_threads": n_threads}
    codes = [_follow_paths(X[f : f + BLOCK], D, gram, lam, max_sweeps) for f in range(0, len(X), BLOCK)]
    start = sp.vstack(codes, format="csr") if codes else None
    return encode_by_cd(X, D, lam, start=start, **rules).astype(dtype, copy=False)


def _follow_paths(X, D, gram, lam, max_corners):
    from sklearn.decomposition import sparse_encode

    if not D.size:
        return sp.csr_matrix((len(X), len(D)))
    rules = {"algorithm": "lasso_lars", "alpha": lam, "max_iter": max_corners}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of dropped atoms and early stops: the gap is measured after
        return sp.csr_matrix(sparse_encode(X, D, gram=gram, cov=D @ X.T, **rules))
