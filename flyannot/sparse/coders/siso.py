"""The SISO coder: the lasso over very many atoms, through a series of small ones.

Each sample keeps an active set of atoms.  The lasso on that set is solved from the codes so far; the
set shrinks to the support of the solution, and expands by the atoms outside it that breach the
optimality conditions most.  When none is left the small solution solves the whole problem.  The Gram
matrix of many atoms is never made: a look at all of them costs one product of the residuals with them.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from flyannot.errors import DataError, InputError
from flyannot.sparse.coders.siso_passes import compare
from flyannot.sparse.coders.small_lasso import small_lasso, solve_small

BLOCK = 64  # samples whose residuals share one pass over the atoms

TOP_K = 100  # atoms that join an active set in one round: Huang et al. took 100 or 200
FEW_ATOMS = 3000  # up to here the Gram matrix of all atoms is made once: 72 MB at most
_MAX_STEPS = 100_000  # of the small solver: far above what it needs

# The part of a gap that a small problem may leave: of the gap that is asked for, and of the last gap.
_SMALL_PART = 0.25
_SMALL_DROP = 0.02


@dataclass(frozen=True)
class Solution:
    """Codes, and what is known of them.

    Z : CSR matrix (n_samples, n_atoms)
    gaps : float64 array (n_samples,), the duality gap of every code over all atoms; nan where the code
        was not compared with all of them
    n_rounds : int array (n_samples,), small problems solved
    n_passes : int array (n_samples,), looks at all atoms
    """

    Z: sp.csr_matrix
    gaps: np.ndarray
    n_rounds: np.ndarray
    n_passes: np.ndarray

    @property
    def is_certified(self):
        """Whether the gap of every code is known."""
        return not np.isnan(self.gaps).any()


def encode(X, D, lam, *, tol=1e-4, max_sweeps=1000, start=None, gram=None, n_threads=1, top_k=TOP_K):
    """Codes of X over very many atoms, each within a stated duality gap of its minimum.

    Parameters
    ----------
    X : float array (n_samples, n_features)
        float32 atoms are compared with float32 residuals, all else in float64; the small problems
        are solved in float64 always.
    D : float array (n_atoms, n_features)
    lam : float > 0, weight of the L1 norm
    tol : float
        A sample is done when its duality gap is at most tol / 2 |x|^2, or when no breach stands out
        from rounding.
    max_sweeps : int, most looks at all atoms for one sample
    start : CSR matrix (n_samples, n_atoms), optional
        Codes to begin from.  The objective never rises from there.
    gram : float64 array (n_atoms, n_atoms), optional
        D D^T, where the caller has it.  One of float32 is left aside: its roundings would be solved for.
    n_threads : int
    top_k : int >= 1, most atoms that join an active set in one round

    Returns
    -------
    Z : CSR matrix (n_samples, n_atoms), in the type of X; the same bits for any `n_threads`

    Raises
    ------
    As `checked`, and DataError if an atom is not finite.

    Source
    ------
    Huang et al., ACM Multimedia 2013, algorithm 1 without the hashing.  Atoms join by |d_k r| > lam,
    strictly and outside the active set: their "at least" includes the set itself, and would never end.
    """
    return solve(
        X,
        D,
        lam,
        tol=tol,
        max_sweeps=max_sweeps,
        start=start,
        gram=gram,
        n_threads=n_threads,
        top_k=top_k,
    ).Z


def solve(X, D, lam, *, tol=1e-4, max_sweeps=1000, start=None, gram=None, n_threads=1, top_k=TOP_K):
    """As `encode`; returns a `Solution`.  With max_sweeps=1 the codes of `start` are judged, not changed."""
    X, D = checked(X, D, lam)
    check_atoms(D)
    codes = codes_of(start, len(X))
    problem = Problem(D, float(lam), float(tol), int(max_sweeps), int(top_k), gram_of(D, gram))

    def solve_block(first):
        rows = slice(first, first + BLOCK)
        return _solve_block(X[rows], codes[rows], problem)

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads) as threads:
        blocks = list(threads.map(solve_block, range(0, len(X), BLOCK)))
    solved = [code for block in blocks for code in block[0]]
    found = [np.concatenate([b[i] for b in blocks]) if blocks else np.zeros(0, int) for i in (1, 2, 3)]
    return Solution(matrix_of(solved, len(D), X.dtype), *found)


@dataclass(frozen=True)
class Problem:
    """What all samples share."""

    D: np.ndarray
    lam: float
    tol: float
    max_sweeps: int
    top_k: int = TOP_K
    gram: np.ndarray | None = None


def checked(X, D, lam):
    """X and D as float32 if X is, else as float64; D contiguous.

    Raises
    ------
    DataError
        If their shapes do not fit together, or a sample is not finite.
    InputError
        If lam is not positive.
    """
    dtype = np.float32 if np.asarray(X).dtype == np.float32 else np.float64
    X, D = np.asarray(X, dtype), np.ascontiguousarray(D, dtype)
    if X.ndim != 2 or D.ndim != 2 or X.shape[1] != D.shape[1]:
        raise DataError(f"samples {X.shape} and atoms {D.shape} do not fit together")
    if not lam > 0:
        raise InputError(f"lam is {lam}, and must be positive", fix="choose lam > 0")
    finite = np.isfinite(X).all(axis=1)
    if not finite.all():
        raise DataError(f"sample {int(finite.argmin())} holds values that are not finite")
    return X, D


def gram_of(D, gram=None):
    """D D^T in float64: the caller's where it is that, else made where the atoms are few, else None.

    Raises
    ------
    DataError
        If the caller's is of another number of atoms.
    """
    if gram is not None and np.shape(gram) != (len(D), len(D)):
        raise DataError(f"atoms {D.shape} and Gram matrix {np.shape(gram)} do not fit together")
    if gram is not None and gram.dtype == np.float64:
        return gram
    if len(D) > FEW_ATOMS:
        return None
    D = D.astype(np.float64, copy=False)
    return D @ D.T


def check_atoms(D):
    """DataError unless all atoms are finite; a sum of each tells, at the cost of one look at all."""
    finite = np.isfinite(D @ np.ones(D.shape[1], D.dtype))
    if not finite.all():
        raise DataError(f"atom {int(finite.argmin())} holds values that are not finite")


def codes_of(Z, n_samples):
    """The (atoms, values) of the non-zero codes of every sample; None stands for no code at all."""
    if Z is None:
        return [(np.zeros(0, np.int64), np.zeros(0)) for _ in range(n_samples)]
    Z = sp.csr_matrix(Z, dtype=np.float64, copy=True)
    Z.sum_duplicates()
    Z.eliminate_zeros()
    return [(Z.indices[a:b].astype(np.int64), Z.data[a:b]) for a, b in zip(Z.indptr[:-1], Z.indptr[1:])]


def matrix_of(codes, n_atoms, dtype):
    """The CSR matrix of a list of (atoms, values)."""
    first = np.concatenate([[0], np.cumsum([len(atoms) for atoms, _ in codes])]).astype(np.int64)
    atoms = np.concatenate([atoms for atoms, _ in codes]) if codes else np.zeros(0, np.int64)
    values = np.concatenate([values for _, values in codes]) if codes else np.zeros(0)
    return sp.csr_matrix((values.astype(dtype), atoms, first), shape=(len(codes), n_atoms))


def _solve_block(X, codes, problem):
    """Codes, gaps, rounds and passes of the samples of one block."""
    gaps, n_rounds, n_passes = np.full(len(X), np.nan), np.zeros(len(X), int), np.zeros(len(X), int)
    settled = set()  # samples whose code is as good as it gets on its active set, with none to join
    open_rows = np.arange(len(X))
    for n_left in reversed(range(problem.max_sweeps)):
        R = np.array([residual(X[i], *codes[i], problem.D) for i in open_rows])
        actives = [codes[i][0] for i in open_rows]
        largest, joining = compare(problem.D, R, problem.lam, problem.top_k, actives)
        n_passes[open_rows] += 1
        still_open = []
        for i, r, top, new in zip(open_rows, R, largest, joining):
            gaps[i] = gap_of(X[i], r, codes[i][1], top, problem.lam)
            if gaps[i] <= allowed_gap(X[i], problem) or not n_left or (not len(new) and i in settled):
                continue
            codes[i] = solve_active(X[i], codes[i], new, gaps[i], problem)
            n_rounds[i] += 1
            still_open.append(i)
            if not len(new):
                settled.add(i)
        open_rows = np.array(still_open, int)
        if not still_open:
            break
    return codes, gaps, n_rounds, n_passes


def allowed_gap(x, problem):
    """The duality gap at which a sample is done."""
    return 0.5 * problem.tol * np.square(x, dtype=np.float64).sum()


def residual(x, atoms, values, D):
    """x - z D in float64, from the few atoms that are in the code."""
    return x.astype(np.float64) - values @ D[atoms].astype(np.float64)


def gap_of(x, r, values, largest, lam):
    """The duality gap of one sample from its residual and the largest |d_k r|.

    With s = min(1, lam / largest) it is 1/2 |r|^2 (1 - s)^2 + lam |z|_1 - s z q, and z q = (x - r) r.
    """
    s = min(1.0, lam / largest) if largest > 0 else 1.0
    return 0.5 * (r @ r) * (1 - s) ** 2 + lam * np.abs(values).sum() - s * ((x - r) @ r)


def solve_active(x, code, joining, gap, problem):
    """The lasso on the active set and the atoms that join, from the code so far; shrunk to its support.

    Parameters
    ----------
    x : float array (n_features,)
    code : (atoms, values)
    joining : integer array, atoms outside the code; may be empty
    gap : float, the duality gap of the code over all atoms, or what is known of it; it is solved to a
        part of that, and with no atoms to join to what is asked for

    Returns
    -------
    code : (atoms, values)
    """
    atoms, values = np.concatenate([code[0], joining]), np.concatenate([code[1], np.zeros(len(joining))])
    if not len(atoms):
        return code
    order = np.argsort(atoms)
    atoms, z = atoms[order], values[order]
    mine, x64 = problem.D[atoms].astype(np.float64), x.astype(np.float64)
    gram = mine @ mine.T if problem.gram is None else problem.gram[np.ix_(atoms, atoms)]
    target = max(_SMALL_PART * allowed_gap(x, problem), _SMALL_DROP * gap if len(joining) else 0.0)
    solve_small(small_lasso(gram, mine @ x64, float(x64 @ x64), z, problem.lam), target, _MAX_STEPS)
    return atoms[z != 0], z[z != 0]
