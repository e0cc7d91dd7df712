"""The SISO coder: the lasso over very many atoms, through a series of small problems.

Every sample x has the code z that minimises 1/2 |x - z D|^2 + lam |z|_1.  Each sample keeps an active set
of atoms.  In a round the lasso on that set is solved from the code so far.  The set shrinks to the support
of the solution, and grows by the atoms outside it that violate the optimality conditions most.  When no
atom violates them, the small solution solves the whole problem.

The Gram matrix of many atoms is never computed.  A pass over all atoms costs one product with the
residuals, which a block of samples shares.

Source
------
Huang et al., ACM Multimedia 2013, Algorithm 1 without the hashing.  Here an atom outside the active set
joins if |d_k r| > lam.  Their "at least" includes the active set itself, and would never end.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from flyannot.jobs.compiled import compiled
from flyannot.sparse.coders.blocks import Codes, map_slices, product_rounding_error
from flyannot.sparse.coders.cd import SmallLassoSolver
from flyannot.sparse.coders.verified import Coder
from flyannot.sparse.kernels import MAXIMA, track_gap
from flyannot.sparse.simd.product import gram_matrix, multiply, pack_columns
from flyannot.sparse.simd.vectors import LANES, aligned_zeros

BLOCK = 64  # samples whose residuals share one pass over the atoms
FEW_ATOMS = 3000  # most atoms for which the Gram matrix of all atoms is computed: 72 MB
CHUNK = 2**15  # correlations computed at once, which fit in the cache
PATIENCE = 20  # rounds without halving the gap after which rounding is the limit
TOP_K = 100  # most atoms that join an active set in one round; Huang et al. took 100 or 200

# The part of a duality gap that a small problem may leave: of the requested gap, and of the last gap.
_SMALL_PART = 0.25
_SMALL_DROP = 0.02


@dataclass(frozen=True)
class SISOProblem:
    """The data that all samples of a call share.

    D : float array (n_atoms, n_features)
    lam : weight of the L1 norm
    tol : float, tolerance of the duality gap as for every coder
    max_sweeps : int
    gram : float64 array (n_atoms, n_atoms), D D^T; None if there are too many atoms
    """

    D: np.ndarray
    lam: float
    tol: float
    max_sweeps: int
    gram: np.ndarray | None = None


@Coder
def encode(samples, lam, *, tol, max_sweeps, start, gram, n_threads):
    """Return codes of X over very many atoms, each within a given duality gap of its minimum.

    Residuals are compared with float32 atoms in float32.  All other work is in float64.  Parameters and
    result are those of every coder (`coders`).  A `gram` of float32 is not used, because its rounding would
    change the problem.
    """
    X, D, squares, norms = samples
    problem = SISOProblem(D, float(lam), float(tol), int(max_sweeps), exact_gram(D, gram))
    codes = split_codes(start, len(X))
    blocks = map_slices(lambda rows: solve_block(X[rows], codes[rows], problem), len(X), BLOCK, n_threads)
    Z = codes_to_csr([code for solved, _ in blocks for code in solved], len(D), X.dtype)
    gaps = np.concatenate([gaps for _, gaps in blocks] or [np.zeros(0)])
    mass = norms.max(initial=0) * np.asarray(abs(Z).sum(axis=1), np.float64).ravel()
    gaps += product_rounding_error(X.shape[1], Z.dtype) * mass * (np.sqrt(squares) + mass)
    return Codes(Z, 2 * gaps / np.where(squares > 0, squares, 1))


def exact_gram(D, gram=None):
    """Return D D^T in float64, or None if there are too many atoms for it.

    gram : the given Gram matrix, which is used if it is float64; or None
    """
    if gram is not None and gram.dtype == np.float64:
        return gram
    return gram_matrix(D.astype(np.float64, copy=False)) if len(D) <= FEW_ATOMS else None


def split_codes(Z, n_samples):
    """Return a list with (atoms, values) of every row of a CSR matrix Z; all are empty if Z is None."""
    if Z is None:
        return [(np.zeros(0, np.int64), np.zeros(0)) for _ in range(n_samples)]
    Z = sp.csr_matrix(Z, dtype=np.float64, copy=True)
    Z.sum_duplicates()
    Z.eliminate_zeros()
    return [(Z.indices[a:b].astype(np.int64), Z.data[a:b]) for a, b in zip(Z.indptr[:-1], Z.indptr[1:])]


def codes_to_csr(codes, n_atoms, dtype):
    """Return a CSR matrix (len(codes), n_atoms) whose rows are given as (atoms, values)."""
    first, atoms = _joined([atoms for atoms, _ in codes])
    values = np.concatenate([values for _, values in codes] or [np.zeros(0)])
    return sp.csr_matrix((values.astype(dtype), atoms, first), shape=(len(codes), n_atoms))


def solve_block(X, codes, problem):
    """Solve the samples of one block, from the given codes.

    Parameters
    ----------
    X : float array (n_samples, n_features)
    codes : list of (atoms, values)
    problem : SISOProblem

    Returns
    -------
    codes : list of (atoms, values)
    gaps : float64 array (n_samples,), the duality gaps over all atoms
    """
    codes = list(codes)
    small = SmallLassoSolver(X.shape[1])
    gaps, best, n_stale = np.full(len(X), np.nan), np.full(len(X), np.inf), np.zeros(len(X), int)
    polished = set()  # samples solved once with no atom to join: more rounds would change nothing
    open_rows = np.arange(len(X))
    for n_left in reversed(range(problem.max_sweeps)):
        R = np.array([code_residual(X[i], codes[i], problem.D) for i in open_rows])
        actives = [codes[i][0] for i in open_rows]
        largest, joining = largest_correlations(problem.D, R, problem.lam, TOP_K, actives)
        still_open = []
        for i, r, top, new in zip(open_rows, R, largest, joining):
            gaps[i] = residual_gap(X[i], r, codes[i][1], top, problem.lam)
            best[i], n_stale[i] = track_gap(gaps[i], best[i], n_stale[i])
            is_stuck = (not len(new) and i in polished) or n_stale[i] > PATIENCE
            if gaps[i] <= allowed_gap(X[i], problem) or not n_left or is_stuck:
                continue
            before = codes[i]
            codes[i] = solve_active_set(X[i], codes[i], new, gaps[i], problem, small)
            if not all(map(np.array_equal, before, codes[i])):  # else the new atoms are rounding
                still_open.append(i)
            if not len(new):
                polished.add(i)
        open_rows = np.array(still_open, int)
        if not still_open:
            break
    return codes, gaps


def allowed_gap(x, problem):
    """Return the duality gap at which the sample x is done."""
    return 0.5 * problem.tol * np.square(x, dtype=np.float64).sum()


def code_residual(x, code, D):
    """Return x - z D in float64.

    x : (n_features,); code : (atoms, values) of z; D : (n_atoms, n_features)
    """
    atoms, values = code
    return x.astype(np.float64) - values @ D[atoms].astype(np.float64)


def residual_gap(x, r, values, largest, lam):
    """Return the duality gap of one sample.

    With s = min(1, lam / largest) and z q = (x - r) r, it is

        1/2 |r|^2 (1 - s)^2 + lam |z|_1 - s z q.

    Parameters
    ----------
    x : float64 array (n_features,)
    r : float64 array (n_features,), the residual x - z D
    values : the non-zeros of the code z
    largest : float, the largest |d_k r| over all atoms
    lam : float
    """
    s = min(1.0, lam / largest) if largest > 0 else 1.0
    return 0.5 * (r @ r) * (1 - s) ** 2 + lam * np.abs(values).sum() - s * ((x - r) @ r)


def solve_active_set(x, code, joining, gap, problem, small):
    """Solve the lasso on the active set and the atoms that join, from the code so far.

    Parameters
    ----------
    x : float array (n_features,)
    code : (atoms, values)
    joining : integer array, atoms outside the code; may be empty
    gap : float, the duality gap of the code
        The small problem is solved to a fraction of it, or, if no atoms join, to the requested gap.
    problem : SISOProblem
    small : SmallLassoSolver of this thread

    Returns
    -------
    code : (atoms, values), with the support of the solution only
    """
    atoms, values = np.concatenate([code[0], joining]), np.concatenate([code[1], np.zeros(len(joining))])
    if not len(atoms):
        return code
    order = np.argsort(atoms)
    atoms, z = atoms[order], values[order]
    D, x64 = problem.D[atoms].astype(np.float64), x.astype(np.float64)
    gram = gram_matrix(D) if problem.gram is None else problem.gram[np.ix_(atoms, atoms)]
    target = max(_SMALL_PART * allowed_gap(x, problem), _SMALL_DROP * gap if len(joining) else 0.0)
    z = small.solve(gram, D @ x64, float(x64 @ x64), z, lam=problem.lam, gap=target)
    return atoms[z != 0], z[z != 0]


def largest_correlations(D, R, lam, n_best, actives):
    """Find for each residual r the largest |d_k r| over all atoms d_k, and which atoms violate optimality.

    Parameters
    ----------
    D : float array (n_atoms, n_features)
    R : float array (n, n_features), residuals
        A correlation has the same bits for any other residuals in R.
    lam : float
    n_best : int >= 1
    actives : list of n sorted int arrays, the active atoms of each residual

    Returns
    -------
    largest : float array (n,), the largest |d_k r| of each residual, over all atoms
    best : list of n int arrays
        The atoms with the largest |d_k r| > lam that are not active: at most `n_best`, the largest first.
    """
    n = len(R)
    active = _joined(actives)
    tops, atoms = np.full((n, n_best), lam, D.dtype), np.full((n, n_best), -1, np.int64)
    largest = np.zeros(n, D.dtype)
    panels = pack_columns(R.astype(D.dtype, copy=False), narrow=n <= 2 * LANES)
    width = max(1, len(panels) * panels.shape[2])
    Q = aligned_zeros((max(1, CHUNK // width), width), D.dtype)
    for start in range(0, len(D), len(Q)):
        part = D[start : start + len(Q)]
        multiply(part, panels, Q)
        highest = np.zeros(width, D.dtype)
        _keep_largest(Q[: len(part)], start, active, (tops, atoms), largest, highest)
    return largest.astype(float), [_largest_first(*lists) for lists in zip(tops, atoms)]


def _largest_first(tops, atoms):
    """Sort the atoms of a list by falling size, and atoms of equal size by number.

    tops : float array, the sizes; atoms : int array
    """
    tops, atoms = tops[atoms >= 0], atoms[atoms >= 0]
    return atoms[np.lexsort((atoms, -tops))]


def _joined(arrays):
    """Concatenate integer arrays.

    Return (first, values), where array i is values[first[i] : first[i + 1]].
    """
    first = np.cumsum([0, *map(len, arrays)])
    return first, np.concatenate([*arrays, np.zeros(0, np.int64)]).astype(np.int64)


@compiled
def _keep_largest(Q, start, active, lists, largest, highest):
    """Update every sample's list of its largest correlations with the atoms `start`, `start` + 1, ...

    Parameters
    ----------
    Q : array (n_chunk, at least n), their correlations
    start : int
    active : (first, atoms)
        The sorted atoms of atoms[first[i] : first[i + 1]] never enter list i.
    lists : (tops, atoms), both (n, top_k)
        Row i of `tops` is a heap, smallest on top, of the largest |q| so far, all above its initial values.
        `atoms` names them.
    largest : array (n,), over all atoms
    highest : array (n,), zeros
    """
    first, actives = active
    tops, atoms = lists
    _column_maxima(Q, highest)
    for i in range(len(largest)):
        largest[i] = max(largest[i], highest[i])
        if highest[i] > tops[i, 0]:
            left_out = actives[first[i] : first[i + 1]]
            for j in range(len(Q)):
                if abs(Q[j, i]) > tops[i, 0] and not _contains_atom(left_out, start + j):
                    _replace_least(tops[i], atoms[i], abs(Q[j, i]), start + j)


@compiled(fastmath=MAXIMA)
def _column_maxima(Q, highest):
    """Raise highest[i] to the largest |Q[j, i]| of column i, unless it is larger already.

    Only the first len(highest) columns are read.
    """
    for j in range(len(Q)):
        row = Q[j]
        for i in range(len(highest)):
            highest[i] = max(highest[i], abs(row[i]))


@compiled
def _contains_atom(rising, wanted):
    """Return True if the sorted array `rising` contains the number `wanted`."""
    place = np.searchsorted(rising, wanted)
    return place < len(rising) and rising[place] == wanted


@compiled
def _replace_least(heap, names, size, name):
    """Replace the smallest entry of a heap by (size, name), and restore the order of the heap.

    heap : float array, the sizes, smallest first; names : int array, the atoms that belong to them
    """
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
