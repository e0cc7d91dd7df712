"""The objective and the duality gap of codes, in float64, for any coder.

The objective of a sample x with code z over the dictionary D is

    P(z) = 1/2 |x - z D|^2 + lam |z|_1.

Its dual is to maximise 1/2 |x|^2 - 1/2 |x - theta|^2 over |D theta|_inf <= lam.  With r = x - z D, theta = r
* min(1, lam / |D r|_inf) is feasible.  The duality gap is P(z) minus the dual value at theta.  It bounds how
far P(z) lies above the minimum (Kim et al., IEEE JSTSP 2007).

If codes must not be negative, D theta <= lam is enough.  Some u may have D u >= 1, as it always is for atoms
without negative entries.  Then theta = r - u max(0, max D r - lam) is feasible, too, and the better of both
counts.  For a tiny lam it is much nearer to r.

All functions process the samples in blocks, so that memory stays bounded.
"""

import numpy as np

from flyannot.base.options import FloatType, require_number

FINEST_TOL = 32 * np.finfo(np.float64).eps  # smaller gaps are rounding
_BLOCK = 2048  # samples in a block: 16 MB of correlations at 1,000 atoms


def validate_lam(lam):
    """Return the weight of the L1 norm as a float, or raise InputError unless it is positive."""
    return require_number("lam", lam, FloatType(above=0), "above 0, such as 1.2 / sqrt(n_features)")


def objective(X, D, Z, lam):
    """Compute P(z) = 1/2 |x - z D|^2 + lam |z|_1 of every sample x and its code z.

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
    for rows, _, Zb, R in _iterate_blocks(X, D, Z):
        values[rows] = 0.5 * _squared_norms(R) + lam * _l1_norms(Zb)
    return values


def duality_gap(X, D, Z, lam, *, positive=False):
    """Bound how far the objective P(z) = 1/2 |x - z D|^2 + lam |z|_1 of every code z is above its minimum.

    Parameters
    ----------
    X : float array (n_samples, n_features)
    D : float array (n_atoms, n_features)
    Z : float array or CSR matrix (n_samples, n_atoms)
    lam : float > 0, weight of the L1 norm
    positive : bool
        Whether codes must not be negative, as in Z.  The bound is then on the minimum over such codes.

    Returns
    -------
    gaps : float64 array (n_samples,)
        At least P(z) minus the minimum of P, and never negative beyond rounding (about 1e-16 |x|^2).
    """
    gaps = np.empty(len(X))
    D = np.asarray(D, np.float64)
    atoms = D[D.any(axis=1)]
    u = atoms.sum(axis=0)
    least = (atoms @ u).min(initial=np.inf) if positive else -1.0
    for rows, Xb, Zb, R in _iterate_blocks(X, D, Z):
        Q = R @ D.T
        largest = (Q if positive else np.abs(Q)).max(axis=1, initial=0.0)
        scale = (lam / np.maximum(largest, lam))[:, None]  # min(1, lam / largest)
        primal = 0.5 * _squared_norms(R) + lam * _l1_norms(Zb)
        gaps[rows] = primal - 0.5 * (_squared_norms(Xb) - _squared_norms(Xb - scale * R))
        if least > 0:
            excess = np.maximum(largest - lam, 0) / least
            mismatch = np.ravel(Zb.multiply(lam - Q).sum(axis=1)) + excess * (Zb @ (D @ u))
            gaps[rows] = np.minimum(gaps[rows], 0.5 * excess**2 * (u @ u) + mismatch)
    return gaps


def unconverged_rows(gaps, tol):
    """Return the indices of the codes whose duality gaps are above `tol` or nan, an int array.

    If `tol` is smaller than rounding errors, the size of these errors is used instead.

    gaps : float64 array (n_samples,), as fractions of 1/2 |x|^2
    """
    return np.flatnonzero(~(gaps <= max(tol, FINEST_TOL)))


def _iterate_blocks(X, D, Z):
    """Yield blocks of `_BLOCK` samples with their codes and residuals in float64, to bound memory.

    Parameters
    ----------
    X, D, Z : arrays of samples, atoms and codes, as in `objective`

    Yields
    ------
    rows : slice, the samples of the block
    X : float64 array (n_rows, n_features)
    Z : CSR matrix (n_rows, n_atoms)
    R : float64 array (n_rows, n_features), the residuals X - Z D
    """
    import scipy.sparse as sp  # imports slowly

    D = np.asarray(D, np.float64)
    Z = sp.csr_matrix(Z) if not sp.issparse(Z) else Z.tocsr()
    for start in range(0, len(X), _BLOCK):
        rows = slice(start, start + _BLOCK)
        Xb, Zb = np.asarray(X[rows], np.float64), Z[rows].astype(np.float64)
        yield rows, Xb, Zb, Xb - Zb @ D


def _squared_norms(A):
    """Return the squared norm of every row of a matrix A, array (n_rows,)."""
    return np.einsum("ij,ij->i", A, A)


def _l1_norms(Z):
    """Return the L1 norm of every row of a matrix Z, array (n_rows,)."""
    return np.asarray(abs(Z).sum(axis=1)).ravel()
