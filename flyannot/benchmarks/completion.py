"""Missing features filled in from a dictionary: the code of what is observed says what is not."""

import numpy as np

from flyannot.errors import InputError
from flyannot.sparse.coders.missing_values import lasso_of_observed, split_missing

_BLOCK_ENTRIES = 2**24  # of X worked on at once


def complete(X, D, lam, *, tol=1e-4):
    """X with every NaN replaced by its entry of z D, z the code of the sample's observed features.

    Parameters
    ----------
    X : float array (n_samples, n_features)
        NaN where missing.  float32 is solved in float32, all else in float64.
    D : float array (n_atoms, n_features)
    lam : float > 0
        Weight of the L1 norm of a sample with all features; one with s of p observed gets lam s / p.
    tol : float
        A code is done when its duality gap is at most tol / 2 |x|^2 over the observed features.

    Returns
    -------
    filled : float array (n_samples, n_features)
        Known entries as they are.  A sample without any observed entry has code 0 and is filled with 0.

    Raises
    ------
    InputError
        If X and D have different numbers of features, or lam is not above 0.

    Source
    ------
    Mensch, Mairal, Thirion and Varoquaux, ICML 2016, Section 1.3 (the code from the observed features).
    """
    dtype = np.float32 if np.asarray(X).dtype == np.float32 else np.float64
    X, F = np.asarray(X, dtype), np.ascontiguousarray(np.asarray(D, dtype).T)
    if X.ndim != 2 or X.shape[1] != len(F):
        raise InputError(
            f"samples of shape {X.shape} do not fit atoms of {len(F)} features",
            fix="use the dictionary that was learned on such samples",
        )
    if not lam > 0:
        raise InputError(f"cannot complete with lam = {lam}", fix="choose lam above 0")
    filled = X.copy()
    incomplete = np.flatnonzero(np.isnan(X).any(axis=1))
    block = max(1, _BLOCK_ENTRIES // max(1, len(F)))
    for start in range(0, len(incomplete), block):
        rows = incomplete[start : start + block]
        Xb, observed = split_missing(X[rows])
        Z = lasso_of_observed(Xb, observed, F, lam / len(F), tol)
        filled[rows] = np.where(observed, Xb, Z @ F.T)
    return filled
