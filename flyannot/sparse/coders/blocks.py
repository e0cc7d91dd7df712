"""Coding of many samples: validated once, then solved in blocks, by threads, into one sparse matrix."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from flyannot.base.errors import ArrayError
from flyannot.jobs.resources import create_thread_pool, limit_blas_threads
from flyannot.sparse.kernels import SUMS, duality_gap_from_sums, inlined, kernel, sum_squares
from flyannot.sparse.objective import validate_lam
from flyannot.sparse.simd.product import as_read_only, multiply
from flyannot.sparse.simd.vectors import aligned_zeros

BLOCK = 256  # samples per product, so that their correlations stay in the cache


class Codes(NamedTuple):
    """The sparse codes of some samples, and their duality gaps.

    Z : CSR matrix (n_samples, n_atoms), the codes, float32 if the samples are, otherwise float64
    gaps : float64 (n_samples,), bounds of the duality gaps as fractions of 1/2 |x|^2; None if not known
    """

    Z: sp.csr_matrix  # (n_samples, n_atoms), float32 if the samples are, otherwise float64
    gaps: np.ndarray | None  # float64 (n_samples,), bounds of the duality gaps, as fractions of 1/2 |x|^2


class LassoProblem(NamedTuple):
    """The part of a lasso problem that is the same for all samples: the dictionary D, lam and the tolerance.

    gram : array (n_atoms, n_atoms), D D^T
    lam : weight of the L1 norm
    goal : float, the allowed duality gap as a fraction of |x|^2
    max_sweeps : int, most passes over all atoms for one sample
    """

    gram: np.ndarray  # (n_atoms, n_atoms)
    lam: float
    goal: float  # the allowed gap, as a fraction of |x|^2
    max_sweeps: int


class LassoInputs(NamedTuple):
    """Validated samples and atoms, contiguous and read-only.

    X : (n_samples, n_features), the samples, float32 or float64
    D : (n_atoms, n_features), the atoms, in the type of X
    squares : float64 (n_samples,), |x|^2 of each sample x
    norms : float64 (n_atoms,), |d| of each atom d
    """

    X: np.ndarray  # (n_samples, n_features)
    D: np.ndarray  # (n_atoms, n_features)
    squares: np.ndarray  # float64 (n_samples,), |x|^2
    norms: np.ndarray  # float64 (n_atoms,), |d|

    def subset(self, rows):
        """Return LassoInputs with some of the samples and all atoms.

        rows : indices of the samples, an int array or a slice
        """
        return self._replace(X=as_read_only(self.X[rows]), squares=self.squares[rows])

    def to_float64(self):
        """Return a copy of these LassoInputs in which samples and atoms are float64."""
        return self._replace(X=as_read_only(self.X, np.float64), D=as_read_only(self.D, np.float64))


def validate_samples(X, D, lam, gram=None, *, norms=None):
    """Check samples and atoms, and return them as LassoInputs.

    Parameters
    ----------
    X : float array (n_samples, n_features)
    D : float array (n_atoms, n_features)
    lam : float
    gram : float array (n_atoms, n_atoms), D D^T; None if it is not given
    norms : float array (n_atoms,), the norms of the atoms if they are known
        The atoms are then not checked.

    Raises
    ------
    ArrayError
        If an array is not of real numbers, or a sample or an atom is not finite.  Also if the shapes of X, D
        and D D^T do not fit together.
    InputError
        If lam is not positive.
    """
    dtype = np.float32 if np.asarray(X).dtype == np.float32 else np.float64
    for what, A in (("samples", X), ("atoms", D), ("a Gram matrix", gram)):
        if A is not None and np.asarray(A).dtype.kind not in "biuf":
            raise ArrayError(f"{what} of {type(A).__name__}: no array of real numbers")
    X, D = as_read_only(X, dtype), as_read_only(D, dtype)
    if X.ndim != 2 or D.ndim != 2 or X.shape[1] != D.shape[1]:
        raise ArrayError(f"samples {X.shape} and atoms {D.shape} do not fit together")
    if gram is not None and np.shape(gram) != (len(D), len(D)):
        raise ArrayError(f"atoms {D.shape} and Gram matrix {np.shape(gram)} do not fit together")
    validate_lam(lam)
    squares = finite_squares(X, "sample")
    return LassoInputs(X, D, squares, np.sqrt(finite_squares(D, "atom")) if norms is None else norms)


def finite_squares(A, what):
    """Return the squared norm |a|^2 of every row a of a matrix A, float64 (n_rows,).

    what : str, the noun for a row in the error message, such as "sample"

    Raises
    ------
    ArrayError
        If a row has an entry that is not finite.
    """
    squares = np.empty(len(A))
    sum_squares(as_read_only(A), squares)
    finite = np.isfinite(squares)
    if not finite.all():
        raise ArrayError(f"{what} {int(finite.argmin())} has values that are not finite")
    return squares


def map_slices(work, n, length, n_threads):
    """Apply a function to consecutive slices of n rows, in several threads, and return the results in order.

    Each thread uses one thread of BLAS.

    Parameters
    ----------
    work : function that takes a slice
    n : int, number of rows
    length : int, number of rows of a slice
    n_threads : int

    Returns
    -------
    results : list of work(slice), in the order of the slices
    """
    slices = [slice(start, min(start + length, n)) for start in range(0, n, length)]
    with limit_blas_threads(), create_thread_pool(n_threads) as threads:
        return list(threads.map(work, slices))


def solve_in_blocks(samples, panels, start, encode_rows, problem, new_scratch, n_threads, dtype=None):
    """Compute the codes of many samples, block by block, in several threads.

    Parameters
    ----------
    samples : LassoInputs
    panels : array of the atoms, from `pack_columns`
    start : CSR matrix (n_samples, n_atoms) of start codes, or None
    encode_rows : kernel (Q, squares, begin, problem, scratch, codes, largest)
        Q holds the products of some samples with all atoms, and `squares` their |x|^2.  `begin` holds the
        arrays (first, atom, value) of the start codes.  The kernel fills codes, which is (first, atom,
        value) too, long enough for every possible code.  It fills `largest` with an upper bound, except for
        rounding, of the largest |D (x - z D)|.  If codes may not be negative, it is the largest D (x - z D).
        If no bound is known, it is inf.
    problem : LassoProblem or similar tuple, with `gram` (n_atoms, n_atoms) and `lam`
    new_scratch : function without parameters that allocates the memory of one thread
    n_threads : int
    dtype : type of the codes, by default the type of X
        If codes are rounded to it, the gaps are of the rounded codes.

    Returns
    -------
    codes : Codes
    """
    X, D, squares, norms = samples
    dtype = np.dtype(dtype or X.dtype)
    n_atoms = len(problem.gram)
    start = _start_arrays(start, len(X), X.dtype)
    rounding = product_rounding_error(X.shape[1], X.dtype)
    if dtype != X.dtype:
        rounding += float(np.finfo(dtype).eps)  # of the codes
    rounding *= norms.max(initial=0)

    def solve_every_nth(first):
        scratch = new_scratch()
        block = min(BLOCK, len(X))
        Q = aligned_zeros((block, len(panels) * panels.shape[2]), X.dtype)
        buffers = np.empty(block * n_atoms, np.uint32), np.empty(block * n_atoms, X.dtype)
        residual = np.empty(X.shape[1])
        solved = []
        for at in range(first * BLOCK, len(X), n_threads * BLOCK):
            Xb, part = X[at : at + BLOCK], squares[at : at + BLOCK]
            multiply(Xb, panels, Q)
            begin = start[0][at : at + len(Xb) + 1], *start[1:]
            bounds = np.zeros(len(Xb) + 1, np.int64)
            gaps = np.zeros(len(Xb))
            if n_atoms:
                encode_rows(Q, part, begin, problem, scratch, (bounds, *buffers), gaps)
                if dtype != X.dtype:
                    buffers[1][: bounds[-1]] = buffers[1][: bounds[-1]].astype(dtype)
                codes = (bounds, *buffers)
                lam = float(problem.lam)
                compute_block_gaps(Xb, D, part, norms, lam, rounding, codes, residual, gaps)
            solved.append((gaps, np.diff(bounds), *(part[: bounds[-1]].copy() for part in buffers)))
        return solved

    if n_threads == 1:
        by_thread = [solve_every_nth(0)]
    else:
        with create_thread_pool(n_threads) as threads:
            by_thread = list(threads.map(solve_every_nth, range(n_threads)))
    return _join_blocks(by_thread, (len(X), n_atoms), dtype)


def product_rounding_error(n_features, dtype):
    """Bound the rounding error of a product d (x - z D) of an atom d, as a fraction of |d| (|x| + |z| |d|).

    The sum may be computed in any order, in vectors of at least eight numbers.

    n_features : int; dtype : type of the numbers
    """
    return (4 + n_features / 16) * float(np.finfo(dtype).eps)


@kernel(fastmath=SUMS)
def compute_block_gaps(X, D, squares, norms, lam, rounding, codes, residual, gaps):
    """Compute the duality gap of every code of a block, as a fraction of 1/2 |x|^2.

    The gap is inf if the zero code is better. With the residual r = x - z D in float64, z q = (x - r) r.
    The largest |q| that a coder found may be too small by rounding. Two corrections make it safe: it is at
    least z q / |z|_1, and a bound on rounding errors is added.

    Parameters
    ----------
    X : float array (n, n_features), the samples of the block
    D : float array (n_atoms, n_features)
    squares : float64 array (n,), |x|^2
    norms : float64 array (n_atoms,), |d|
    lam : float
    rounding : float, how much a largest |q| may be too small, as a fraction of |x| + |z| |d|
    codes : (first, atom, value), the arrays of a CSR matrix
    residual : float64 array (n_features,), overwritten
    gaps : float64 array (n,)
        On entry the largest |q| = |D (x - z D)| of each sample; on exit its gap.
    """
    first, atom, value = codes
    for i in range(len(X)):
        subtract_atoms(residual, X[i], D, atom, value, first[i], first[i + 1])
        rest, fit, l1, mass, half = 0.0, 0.0, 0.0, 0.0, 0.5 * squares[i]
        for k in range(first[i], first[i + 1]):
            l1 += abs(np.float64(value[k]))
            mass += abs(np.float64(value[k])) * norms[atom[k]]
        for j in range(len(residual)):
            rest += residual[j] * residual[j]
            fit += (X[i, j] - residual[j]) * residual[j]
        largest = gaps[i] + rounding * (np.sqrt(squares[i]) + mass)
        if l1 > 0:
            largest = max(largest, fit / l1)
        gap = duality_gap_from_sums(rest, l1, fit, largest, lam)
        gaps[i] = np.inf if not 0.5 * rest + lam * l1 <= half else gap / half if half > 0 else 0.0


@inlined(fastmath=SUMS)
def subtract_atoms(residual, x, D, atom, value, first, end):
    """Compute the residual x - z D of one sample x with the code z over the atoms D, in float64.

    Four atoms are subtracted at a time, so that the residual is read and written less often.

    Parameters
    ----------
    residual : float64 array (n_features,), overwritten
    x : float array (n_features,)
    D : float array (n_atoms, n_features)
    atom, value : arrays of a CSR matrix; the code z has their entries from `first` to `end`
    """
    for j in range(len(residual)):
        residual[j] = x[j]
    last = end - (end - first) % 4
    for k in range(first, last, 4):
        a, b, c, d = D[atom[k]], D[atom[k + 1]], D[atom[k + 2]], D[atom[k + 3]]
        za, zb, zc, zd = value[k], value[k + 1], value[k + 2], value[k + 3]
        for j in range(len(residual)):
            near = np.float64(za) * np.float64(a[j]) + np.float64(zb) * np.float64(b[j])
            residual[j] -= near + (np.float64(zc) * np.float64(c[j]) + np.float64(zd) * np.float64(d[j]))
    for k in range(last, end):
        a, za = D[atom[k]], np.float64(value[k])
        for j in range(len(residual)):
            residual[j] -= za * np.float64(a[j])


def _start_arrays(start, n_samples, dtype):
    """Convert start codes, a CSR matrix, to arrays (first, atom, value) that kernels read.

    Repeated atoms of a row are added.

    start : CSR matrix (n_samples, n_atoms), or None for zero codes
    """
    if start is None:
        return np.zeros(n_samples + 1, np.int64), np.zeros(0, np.uint32), np.zeros(0, dtype)
    start = sp.csr_matrix(start, dtype=dtype, copy=True)
    start.sum_duplicates()
    return start.indptr.astype(np.int64), start.indices.astype(np.uint32), start.data


def _join_blocks(by_thread, shape, dtype):
    """Join the codes of blocks of samples, which threads solved in turn, to one Codes in order.

    by_thread : list with the results of each thread; shape, dtype : shape and type of the joined codes
    """
    n = len(by_thread)
    blocks = [by_thread[i % n][i // n] for i in range(sum(map(len, by_thread)))]
    if not blocks:
        return Codes(sp.csr_matrix(shape, dtype=dtype), np.zeros(0))
    gaps, counts, atoms, values = (np.concatenate(part) for part in zip(*blocks))
    first = np.concatenate([[0], np.cumsum(counts)])
    index = np.int32 if first[-1] < 2**31 else np.int64
    values = values.astype(dtype, copy=False)
    Z = sp.csr_matrix((values, atoms.astype(index, copy=False), first.astype(index)), shape=shape)
    return Codes(Z, gaps)


def replace_rows(Z, rows, new_rows):
    """Return a copy of a CSR matrix Z in which some rows are replaced.

    rows : int array, indices of these rows; new_rows : CSR matrix (len(rows), n_atoms)
    """
    place = np.arange(Z.shape[0])
    place[rows] = len(place) + np.arange(len(rows))
    return sp.vstack([Z, new_rows], format="csr")[place]
