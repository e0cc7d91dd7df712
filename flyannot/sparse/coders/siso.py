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
    """The part of a lasso problem that is the same for all samples, for the SISO coder.

    D : float array (n_atoms, n_features), the dictionary
    lam : weight of the L1 norm
    tol : float, the largest duality gap as a fraction of 1/2 |x|^2
    max_sweeps : int, most passes over all atoms for one sample
    gram : float64 array (n_atoms, n_atoms), D D^T; None if there are too many atoms
    """

    D: np.ndarray
    lam: float
    tol: float
    max_sweeps: int
    gram: np.ndarray | None = None


@Coder
def encode(samples, lam, *, tol, max_sweeps, start, gram, n_threads):
    """Compute the sparse codes of samples X over very many atoms, each within a given gap of its minimum.

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
    """Return the Gram matrix D D^T in float64, or None if there are too many atoms for it.

    gram : the given Gram matrix, which is used if it is float64; or None
    """
    if gram is not None and gram.dtype == np.float64:
        return gram
    return gram_matrix(D.astype(np.float64, copy=False)) if len(D) <= FEW_ATOMS else None


def split_codes(Z, n_samples):
    """Split the rows of a CSR matrix of codes: return a list with (atoms, values) of the non-zeros of each.

    Z : CSR matrix (n_samples, n_atoms), or None for codes that are all zero
    """
    if Z is None:
        return [(np.zeros(0, np.int64), np.zeros(0)) for _ in range(n_samples)]
    Z = sp.csr_matrix(Z, dtype=np.float64, copy=True)
    Z.sum_duplicates()
    Z.eliminate_zeros()
    return [(Z.indices[a:b].astype(np.int64), Z.data[a:b]) for a, b in zip(Z.indptr[:-1], Z.indptr[1:])]


def codes_to_csr(codes, n_atoms, dtype):
    """Join codes, a list of (atoms, values), to a CSR matrix (len(codes), n_atoms) of type `dtype`."""
    first, atoms = _concatenate([atoms for atoms, _ in codes])
    values = np.concatenate([values for _, values in codes] or [np.zeros(0)])
    return sp.csr_matrix((values.astype(dtype), atoms, first), shape=(len(codes), n_atoms))


def solve_block(X, codes, problem):
    """Solve the lasso of a block of samples by active sets, and return their codes and duality gaps.

    Parameters
    ----------
    X : float array (n_samples, n_features)
    codes : list of (atoms, values), the code of each sample from which to start
    problem : SISOProblem

    Returns
    -------
    codes : list of (atoms, values), the solution
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
    """Return the largest duality gap (float) with which the code of a sample x is accepted."""
    return 0.5 * problem.tol * np.square(x, dtype=np.float64).sum()


def code_residual(x, code, D):
    """Return what a code leaves of a sample, x - z D, in float64.

    x : array (n_features,); code : (atoms, values) of z; D : array (n_atoms, n_features)
    """
    atoms, values = code
    return x.astype(np.float64) - values @ D[atoms].astype(np.float64)


def residual_gap(x, r, values, largest, lam):
    """Return the duality gap of the code z of one sample x, from its residual r = x - z D.

    With s = min(1, lam / largest) and z q = (x - r) r, the gap is

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
    """Solve the lasso of one sample over the atoms of its code and some atoms that join them.

    Parameters
    ----------
    x : float array (n_features,)
    code : (atoms, values), the code so far
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
        The correlations of a residual have the same bits for any other residuals in R.
    lam : float, weight of the L1 norm
    n_best : int >= 1, the most atoms to return for a residual
    actives : list of n sorted int arrays, the active atoms of each residual

    Returns
    -------
    largest : float array (n,), the largest |d_k r| of each residual, over all atoms
    best : list of n int arrays
        The atoms with the largest |d_k r| > lam that are not active: at most `n_best`, the largest first.
    """
    n = len(R)
    active = _concatenate(actives)
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
    return largest.astype(float), [_sort_falling(*lists) for lists in zip(tops, atoms)]


def _sort_falling(tops, atoms):
    """Return atoms sorted by falling correlation, and atoms of equal correlation by number.

    tops : float array, their correlations; atoms : int array, in which negative entries are unused
    """
    tops, atoms = tops[atoms >= 0], atoms[atoms >= 0]
    return atoms[np.lexsort((atoms, -tops))]


def _concatenate(arrays):
    """Concatenate integer arrays to (first, values): array i is values[first[i] : first[i + 1]]."""
    first = np.cumsum([0, *map(len, arrays)])
    return first, np.concatenate([*arrays, np.zeros(0, np.int64)]).astype(np.int64)


@compiled
def _keep_largest(Q, start, active, lists, largest, highest):
    """Update the list of the largest correlations of every sample with the correlations of further atoms.

    Parameters
    ----------
    Q : array (n_chunk, at least n), the correlations of the atoms `start`, `start` + 1, ... with n samples
    start : int, number of the first of these atoms
    active : (first, atoms)
        The atoms in atoms[first[i] : first[i + 1]], which are sorted, never enter the list of sample i.
    lists : (tops, atoms), both (n, top_k)
        Row i of `tops` is a heap, smallest on top, of the largest |q| so far, all above its initial values.
        `atoms` names them.
    largest : array (n,), updated: the largest |q| of each sample over all atoms so far
    highest : array (at least n,), zeros, overwritten
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
    """Compute the largest |q| in each column of a matrix Q, but at least the value that is in `highest`.

    Q : array (n, at least len(highest)), of which only the first columns are read; highest : array, updated
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
    """Replace the smallest entry of a heap, and restore the order of the heap.

    heap : float array, correlations, smallest first; names : int array, the atoms that belong to them
    size, name : the new correlation and its atom
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
