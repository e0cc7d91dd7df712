"""The rounds of SISO: small problems between full passes over the atoms, which a block of samples shares.

A pass compares residuals with all of very many atoms; hashing compares them with some.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.jobs.compiled import compiled
from flyannot.sparse.coders.cd import FewAtoms
from flyannot.sparse.kernels import MAXIMA, dot, track_gap
from flyannot.sparse.simd.product import gram_of, multiply, pack_columns
from flyannot.sparse.simd.vectors import LANES, aligned_zeros

CHUNK = 2**15  # correlations made at once, which the cache holds
PATIENCE = 20  # rounds in which a gap that does not halve says that rounding forbids more
TOP_K = 100  # atoms that join an active set in one round: Huang et al. took 100 or 200

# The part of a gap that a small problem may leave: of the gap that is asked for, and of the last gap.
_SMALL_PART = 0.25
_SMALL_DROP = 0.02


@dataclass(frozen=True)
class SISOProblem:
    """What all samples share."""

    D: np.ndarray
    lam: float
    tol: float
    max_sweeps: int
    top_k: int = TOP_K
    gram: np.ndarray | None = None


def solve_block(X, codes, problem, small=None):
    """Codes, gaps, rounds and full passes of the samples of one block; small : FewAtoms of this thread."""
    small = small or FewAtoms(X.shape[1])
    gaps, n_rounds, n_passes = np.full(len(X), np.nan), np.zeros(len(X), int), np.zeros(len(X), int)
    best, n_stale = np.full(len(X), np.inf), np.zeros(len(X), int)
    polished = set()  # samples whose code is as good as it gets on its active set, with none to join
    open_rows = np.arange(len(X))
    for n_left in reversed(range(problem.max_sweeps)):
        R = np.array([residual_of_code(X[i], codes[i], problem.D) for i in open_rows])
        actives = [codes[i][0] for i in open_rows]
        largest, joining = largest_correlations(problem.D, R, problem.lam, problem.top_k, actives)
        n_passes[open_rows] += 1
        still_open = []
        for i, r, top, new in zip(open_rows, R, largest, joining):
            gaps[i] = gap_of_residual(X[i], r, codes[i][1], top, problem.lam)
            best[i], n_stale[i] = track_gap(gaps[i], best[i], n_stale[i])
            is_stuck = (not len(new) and i in polished) or n_stale[i] > PATIENCE
            if gaps[i] <= allowed_gap(X[i], problem) or not n_left or is_stuck:
                continue
            before, codes[i] = codes[i], solve_active(X[i], codes[i], new, gaps[i], problem, small)
            n_rounds[i] += 1
            if not is_same_code(before, codes[i]):  # else only rounding told the new atoms from others
                still_open.append(i)
            if not len(new):
                polished.add(i)
        open_rows = np.array(still_open, int)
        if not still_open:
            break
    return codes, gaps, n_rounds, n_passes


def is_same_code(code, after):
    """Whether two codes are the same to the bit."""
    return np.array_equal(code[0], after[0]) and np.array_equal(code[1], after[1])


def allowed_gap(x, problem):
    """The duality gap at which a sample is done."""
    return 0.5 * problem.tol * np.square(x, dtype=np.float64).sum()


def residual_of_code(x, code, D):
    """x - z D in float64, from the few atoms that are in the code."""
    atoms, values = code
    return x.astype(np.float64) - values @ D[atoms].astype(np.float64)


def gap_of_residual(x, r, values, largest, lam):
    """The duality gap of one sample from its residual and the largest |d_k r|.

    With s = min(1, lam / largest) it is 1/2 |r|^2 (1 - s)^2 + lam |z|_1 - s z q, and z q = (x - r) r.
    """
    s = min(1.0, lam / largest) if largest > 0 else 1.0
    return 0.5 * (r @ r) * (1 - s) ** 2 + lam * np.abs(values).sum() - s * ((x - r) @ r)


def solve_active(x, code, joining, gap, problem, small):
    """The lasso on the active set and the atoms that join, from the code so far; shrunk to its support.

    Parameters
    ----------
    x : float array (n_features,)
    code : (atoms, values)
    joining : integer array, atoms outside the code; may be empty
    gap : float, the duality gap of the code over all atoms, or over those compared; it is solved to a part
        of that, and with no atoms to join to what is asked for
    small : FewAtoms of this thread

    Returns
    -------
    code : (atoms, values)
    """
    atoms, values = np.concatenate([code[0], joining]), np.concatenate([code[1], np.zeros(len(joining))])
    if not len(atoms):
        return code
    order = np.argsort(atoms)
    atoms, z = atoms[order], values[order]
    D, x64 = problem.D[atoms].astype(np.float64), x.astype(np.float64)
    gram = gram_of(D) if problem.gram is None else problem.gram[np.ix_(atoms, atoms)]
    target = max(_SMALL_PART * allowed_gap(x, problem), _SMALL_DROP * gap if len(joining) else 0.0)
    z = small.solve(gram, D @ x64, float(x64 @ x64), z, lam=problem.lam, gap=target)
    return atoms[z != 0], z[z != 0]


def correlation_blocks(D, R):
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


def largest_correlations(D, R, lam, n_best, actives=None):
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
    for start, Q in correlation_blocks(D, R):
        _keep_largest(Q, start, active, (tops, atoms), largest, np.zeros(Q.shape[1], Q.dtype))
    return largest.astype(float), [_falling(*lists) for lists in zip(tops, atoms)]


def largest_correlations_among(D, r, lam, n_best, active, chosen):
    """As `largest_correlations`, of one residual with the chosen atoms: (largest, best)."""
    tops, atoms = np.full(n_best, lam, D.dtype), np.full(n_best, -1, np.int64)
    largest = _keep_largest_of(D, r.astype(D.dtype), chosen.astype(np.int64), active, tops, atoms)
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
def _keep_largest(Q, start, active, lists, largest, highest):
    """Take the atoms `start`, `start` + 1, ... into every sample's list of the largest.

    Q (n_chunk, at least n) holds their correlations.  active is (first, atoms): the atoms of
    atoms[first[i] : first[i + 1]], which rise, never enter list i.  lists is (tops, atoms), both
    (n, top_k): row i of `tops` is a heap, least on top, of the largest |q| so far, all above what it was
    filled with; `atoms` names them.  `largest` (n,) is over all atoms.
    """
    first, actives = active
    tops, atoms = lists
    _column_maxima(Q, highest)
    for i in range(len(largest)):
        largest[i] = max(largest[i], highest[i])
        if highest[i] > tops[i, 0]:
            left_out = actives[first[i] : first[i + 1]]
            for j in range(len(Q)):
                if abs(Q[j, i]) > tops[i, 0] and not contains_atom(left_out, start + j):
                    _replace_least(tops[i], atoms[i], abs(Q[j, i]), start + j)


@compiled
def _keep_largest_of(D, r, chosen, left_out, tops, atoms):
    """As `_keep_largest` for one sample and some atoms, whose correlations are made here.

    Returns the largest |q| of the chosen atoms.
    """
    largest = 0.0
    for k in chosen:
        size = abs(dot(D[k], r, len(r)))
        largest = max(largest, size)
        if size > tops[0] and not contains_atom(left_out, k):
            _replace_least(tops, atoms, size, k)
    return largest


@compiled(fastmath=MAXIMA)
def _column_maxima(Q, highest):
    """The largest |q| of every column."""
    for j in range(len(Q)):
        row = Q[j]
        for i in range(len(highest)):
            highest[i] = max(highest[i], abs(row[i]))


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
