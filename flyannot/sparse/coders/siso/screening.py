"""Comparing residuals with very many atoms: all of them, or some."""

import numpy as np

from flyannot.runtime.compiled import compiled
from flyannot.sparse.kernels import MAXIMA, dot
from flyannot.sparse.simd.aligned import aligned_zeros
from flyannot.sparse.simd.product import multiply, pack_columns
from flyannot.sparse.simd.vectors import LANES

CHUNK = 2**15  # correlations made at once, which the cache holds


def correlations(D, R):
    """(start, Q) of one part of the atoms after the other: Q[j, i] = D[start + j] R[i], zeros beyond.

    The bits of an entry depend on the atom and on the residual alone.
    """
    panels = pack_columns(R.astype(D.dtype, copy=False), few=len(R) <= 2 * LANES)
    width = max(1, len(panels) * panels.shape[2])
    Q = aligned_zeros((max(1, CHUNK // width), width), D.dtype)
    for start in range(0, len(D), len(Q)):
        part = D[start : start + len(Q)]
        multiply(part, panels, Q)
        yield start, Q[: len(part)]


def compare_correlations(D, R, lam, n_best, actives=None):
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
    tops, atoms = np.full((n, n_best), lam, D.dtype), np.full((n, n_best), -1, np.int64)
    largest = np.zeros(n, D.dtype)
    for start, Q in correlations(D, R):
        _keep_largest(Q, start, active, (tops, atoms), largest)
    return largest.astype(float), [_falling(*lists) for lists in zip(tops, atoms)]


def compare_some(D, r, lam, n_best, active, chosen):
    """As `compare_correlations`, of one residual with the chosen atoms: (largest, best)."""
    tops, atoms = np.full(n_best, lam, D.dtype), np.full(n_best, -1, np.int64)
    largest = _keep_largest_of(D, r.astype(D.dtype), chosen, active, tops, atoms)
    return float(largest), _falling(tops, atoms)


def _falling(tops, atoms):
    """The atoms of a list by falling size, equal ones by number."""
    tops, atoms = tops[atoms >= 0], atoms[atoms >= 0]
    return atoms[np.lexsort((atoms, -tops))]


def _joined(arrays):
    """(first, values) of arrays one after the other."""
    first = np.concatenate([[0], np.cumsum([len(a) for a in arrays])]).astype(np.int64)
    return first, np.concatenate([*arrays, np.zeros(0, np.int64)]).astype(np.int64)


@compiled
def _keep_largest(Q, start, active, lists, largest):
    """Take the atoms `start`, `start` + 1, ... into every sample's list of the largest.

    Q (n_chunk, at least n) holds their correlations.  active is (first, atoms): the atoms of
    atoms[first[i] : first[i + 1]], which rise, never enter list i.  lists is (tops, atoms), both
    (n, top_k): row i of `tops` is a heap, least on top, of the largest |q| so far, all above what it was
    filled with; `atoms` names them.  `largest` (n,) is over all atoms.
    """
    first, actives = active
    tops, atoms = lists
    highest = _column_maxima(Q)
    for i in range(len(largest)):
        largest[i] = max(largest[i], highest[i])
        if highest[i] > tops[i, 0]:
            mine = actives[first[i] : first[i + 1]]
            for j in range(len(Q)):
                if abs(Q[j, i]) > tops[i, 0] and not contains_atom(mine, start + j):
                    _replace_least(tops[i], atoms[i], abs(Q[j, i]), start + j)


@compiled
def _keep_largest_of(D, r, chosen, mine, tops, atoms):
    """As `_keep_largest` for one sample and some atoms, whose correlations are made here.

    Returns the largest |q| of the chosen atoms.
    """
    largest = 0.0
    for k in chosen:
        size = abs(dot(D[k], r, len(r)))
        largest = max(largest, size)
        if size > tops[0] and not contains_atom(mine, k):
            _replace_least(tops, atoms, size, k)
    return largest


@compiled(fastmath=MAXIMA)
def _column_maxima(Q):
    """The largest |q| of every column."""
    highest = np.zeros(Q.shape[1], Q.dtype)
    for j in range(len(Q)):
        row = Q[j]
        for i in range(len(highest)):
            highest[i] = max(highest[i], abs(row[i]))
    return highest


@compiled
def contains_atom(rising, wanted):
    """Whether a rising array holds a number."""
    place = np.searchsorted(rising, wanted)
    return place < len(rising) and rising[place] == wanted


@compiled
def _replace_least(heap, names, size, name):
    """Put (size, name) in the place of the least, and restore the order of the heap."""
    i = 0
    while 2 * i + 1 < len(heap):
        child = 2 * i + 1
        if child + 1 < len(heap) and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= size:
            break
        heap[i], names[i] = heap[child], names[child]
        i = child
    heap[i], names[i] = size, name
