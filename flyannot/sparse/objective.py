"""The one judge of every coder and learner, in float64.  No solver grades itself.

The objective of a sample x with code z over the dictionary D is

    P(z) = 1/2 |x - z D|^2 + lam |z|_1.

With the residual r = x - z D, theta = r * min(1, lam / |D r|_inf) is feasible for the dual
1/2 |x|^2 - 1/2 |x - theta|^2, so P(z) less that value, the duality gap, bounds how far P(z) lies
above the minimum (Kim et al., IEEE JSTSP 2007).  z is optimal exactly when d_k r = lam sign(z_k) on
its support and |d_k r| <= lam off it; the KKT violation is the largest breach of these.

Everything works through the samples in blocks, so that memory stays bounded.
"""

import numpy as np
import scipy.sparse as sp

_BLOCK = 2048  # samples judged at once: 16 MB of correlations at 1,000 atoms


def objective(X, D, Z, lam):
    """P(z) of every sample.

    Parameters
    ----------
    X : float array (n_samples, n_features)
    D : float array (n_atoms, n_features)
    Z : float array or CSR matrix (n_samples, n_atoms)
    lam : float > 0, weight of the L1 norm

    Returns
    -------
    values : float64 array (n_samples,)
    """
    values = np.empty(len(X))
    for rows, _, Zb, R in _blocks(X, D, Z):
        values[rows] = 0.5 * _squares(R) + lam * _l1(Zb)
    return values


def duality_gap(X, D, Z, lam):
    """P(z) less a dual value, for every sample: an upper bound on the distance to the minimum.

    Parameters and shapes as `objective`.  Never negative beyond rounding (about 1e-16 |x|^2).
    """
    gaps = np.empty(len(X))
    D = np.asarray(D, np.float64)
    for rows, Xb, Zb, R in _blocks(X, D, Z):
        largest = np.abs(R @ D.T).max(axis=1, initial=0.0)
        scale = (lam / np.maximum(largest, lam))[:, None]  # min(1, lam / largest)
        primal = 0.5 * _squares(R) + lam * _l1(Zb)
        gaps[rows] = primal - 0.5 * (_squares(Xb) - _squares(Xb - scale * R))
    return gaps


def kkt_violation(X, D, Z, lam):
    """The largest breach of the optimality conditions of every sample; 0 exactly at the minimum.

    Parameters and shapes as `objective`; same unit as `lam`.
    """
    violations = np.empty(len(X))
    D = np.asarray(D, np.float64)
    for rows, _, Zb, R in _blocks(X, D, Z):
        Q = R @ D.T
        z = Zb.toarray()
        breach = np.where(z != 0, np.abs(Q - lam * np.sign(z)), np.maximum(np.abs(Q) - lam, 0.0))
        violations[rows] = breach.max(axis=1, initial=0.0)
    return violations


def lam_max(X, D):
    """The smallest `lam` for which every code of X is zero: the largest |d_k x|."""
    return max(
        (np.abs(Xb @ np.asarray(D, np.float64).T).max(initial=0.0) for Xb in _float64_blocks(X)), default=0.0
    )


def dictionary_stationarity(X, D, Z):
    """First-order stationarity of D for given codes: max |D - P(D - G / L)|, 0 at a stationary D.

    G is the gradient of 1/2 |X - Z D|^2 in D, L = max diagonal of Z'Z its largest coordinate
    curvature, and P the projection of every atom onto the unit ball.  No unit; at most about 1.
    """
    D = np.asarray(D, np.float64)
    gradient, curvature = np.zeros_like(D), np.zeros(len(D))
    for _, _, Zb, R in _blocks(X, D, Z):
        gradient -= Zb.T @ R
        curvature += np.asarray(Zb.multiply(Zb).sum(axis=0)).ravel()
    if not curvature.any():
        return 0.0
    moved = D - gradient / curvature.max()
    moved /= np.maximum(1.0, np.sqrt(_squares(moved)))[:, None]
    return float(np.abs(D - moved).max())


def _blocks(X, D, Z):
    """(rows, X, Z as CSR, residual) of one block after the other, in float64."""
    D = np.asarray(D, np.float64)
    Z = sp.csr_matrix(Z) if not sp.issparse(Z) else Z.tocsr()
    for start, Xb in zip(range(0, len(X), _BLOCK), _float64_blocks(X)):
        rows = slice(start, start + len(Xb))
        Zb = Z[rows].astype(np.float64)
        yield rows, Xb, Zb, Xb - Zb @ D


def _float64_blocks(X):
    for start in range(0, len(X), _BLOCK):
        yield np.asarray(X[start : start + _BLOCK], np.float64)


def _squares(A):
    return np.einsum("ij,ij->i", A, A)


def _l1(Z):
    return np.asarray(abs(Z).sum(axis=1)).ravel()
