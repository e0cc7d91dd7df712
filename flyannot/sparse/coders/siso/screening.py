"""Comparing residuals with very many atoms: all of them, or some."""

import numpy as np

from flyannot.sparse.coders.siso.kernels import keep_largest, keep_largest_of

CHUNK = 512  # atoms per product: their correlations with a block of residuals stay in cache


def compare(D, R, lam, n_best, actives=None):
    """Compare residuals with all atoms.

    Parameters
    ----------
    D : float array (n_atoms, n_features)
    R : float array (n, n_features)
    lam : float
    n_best : int >= 1
    actives : list of n rising integer arrays, the atoms that are left out; None for none

    Returns
    -------
    largest : float array (n,), the largest |d_k r| of each, of the atoms left out too
    best : list of n integer arrays, the at most `n_best` atoms with the largest |d_k r| > lam, falling
    """
    n = len(R)
    active = _joined([np.zeros(0, np.int64)] * n if actives is None else actives)
    RT = np.ascontiguousarray(R.T, D.dtype)
    tops, atoms = np.full((n, n_best), lam, D.dtype), np.full((n, n_best), -1, np.int64)
    largest = np.zeros(n, D.dtype)
    Q = np.empty((CHUNK, n), D.dtype)
    for start in range(0, len(D), CHUNK):
        part = D[start : start + CHUNK]
        q = np.matmul(part, RT, out=Q[: len(part)])
        keep_largest(q, start, active, (tops, atoms), largest)
    return largest.astype(float), [_falling(*lists) for lists in zip(tops, atoms)]


def compare_some(D, r, lam, n_best, active, chosen):
    """As `compare`, of one residual with the chosen atoms: (largest, best)."""
    tops, atoms = np.full(n_best, lam, D.dtype), np.full(n_best, -1, np.int64)
    largest = keep_largest_of(D, r.astype(D.dtype), chosen, active, tops, atoms)
    return float(largest), _falling(tops, atoms)


def _falling(tops, atoms):
    """The atoms of a list by falling size, equal ones by number."""
    tops, atoms = tops[atoms >= 0], atoms[atoms >= 0]
    return atoms[np.lexsort((atoms, -tops))]


def _joined(arrays):
    """(first, values) of arrays one after the other."""
    first = np.concatenate([[0], np.cumsum([len(a) for a in arrays])]).astype(np.int64)
    return first, np.concatenate([*arrays, np.zeros(0, np.int64)]).astype(np.int64)
