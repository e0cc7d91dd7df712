"""Optimality conditions of codes and dictionaries, in plain float64."""

import numpy as np
import scipy.sparse as sp

from flyannot.sparse.objective import duality_gap


def kkt_violation(X, D, Z, lam):
    """Return the largest violation of the optimality conditions of every sample; 0 exactly at the minimum.

    They are d_k r = lam sign(z_k) on the support of z and |d_k r| <= lam off it, for r = x - z D.
    """
    X, D, Z = dense(X), dense(D), dense(Z)
    Q = (X - Z @ D) @ D.T
    violation = np.where(Z != 0, np.abs(Q - lam * np.sign(Z)), np.maximum(np.abs(Q) - lam, 0.0))
    return violation.max(axis=1, initial=0.0)


def lam_max(X, D):
    """Return the smallest `lam` for which every code of X is zero: the largest |d_k x|."""
    return np.abs(dense(X) @ dense(D).T).max(initial=0.0)


def dictionary_stationarity(X, D, Z):
    """Return the first-order stationarity of D for given codes: max |D - P(D - G / L)|, 0 at a stationary D.

    G is the gradient of 1/2 |X - Z D|^2 in D.  L = max diagonal of Z'Z is its largest coordinate
    curvature.  P is the projection of every atom onto the unit ball.
    """
    X, D, Z = dense(X), dense(D), dense(Z)
    curvature = (Z**2).sum(axis=0).max()
    if curvature == 0:
        return 0.0
    moved = D + Z.T @ (X - Z @ D) / curvature
    moved /= np.maximum(1.0, np.linalg.norm(moved, axis=1, keepdims=True))
    return np.abs(D - moved).max()


def relative_gap(X, D, Z, lam):
    """Return duality gaps as fractions of 1/2 |x|^2; for a zero sample the gap itself."""
    half = 0.5 * (dense(X) ** 2).sum(axis=1)
    return duality_gap(X, D, Z, lam) / np.where(half > 0, half, 1.0)


def dense(A):
    return np.asarray(A.toarray() if sp.issparse(A) else A, np.float64)
