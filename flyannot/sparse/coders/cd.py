"""The coordinate-descent coder: one product X D^T, one Gram matrix, an active set per sample.

For every sample x it minimises 1/2 |x - z D|^2 + lam |z|_1 over z, or over z >= 0.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from flyannot.sparse.coders.blocks import Codes, replace_rows, solve_in_blocks
from flyannot.sparse.coders.cd_kernels import encode_rows, round_gram
from flyannot.sparse.coders.cd_support import DEPENDENT, Support, WorkingSet
from flyannot.sparse.coders.verified import Coder, compute_gaps
from flyannot.sparse.objective import unconverged_rows
from flyannot.sparse.simd.gram_rows import mirrored_index
from flyannot.sparse.simd.product import gram_matrix, pack_columns
from flyannot.sparse.simd.vectors import CHUNK, LANES, aligned_zeros, round_up

SLACK = 16.0  # violations up to this many roundings of |x| |d| count as rounding
_WIDE = 256  # numbers per row; narrower rows use many sets of the cache anyway
_MOST_SWEEPS = 1000  # limit for a problem of few atoms, far above its need
_INVERTED_AT_ONCE = 32  # fewest atoms of a start code for which LAPACK is faster than one by one
_FLOAT32_SWEEPS = 40  # real descriptors take up to ten; others are solved in float64
_LEAST_FLOAT32_TOL = 5e-6  # float32 mostly misses a smaller tol, and would only delay float64
_PATIENCE = {4: 5, 8: 30}  # by bytes of a number: rounds without halving the gap before the solver ends


@Coder
def encode(samples, lam, **rules):
    """Compute the sparse codes of samples X over a fixed dictionary by coordinate descent.

    Parameters and result are those of every coder (`coders`); `_solve` describes the method.
    """
    return _solve(samples, lam, positive=False, **rules)


@partial(Coder, positive=True)
def encode_nonnegative(samples, lam, *, start, **rules):
    """Compute the sparse codes of samples X that have no negative entries, by coordinate descent.

    Parameters and result are those of every coder (`coders`).  Negative entries of `start` count as zero.
    """
    start = None if start is None else start.maximum(0)
    return _solve(samples, lam, positive=True, start=start, **rules)


def _solve(samples, lam, *, positive, tol, max_sweeps, start, gram, n_threads):
    """Solve the lasso of every sample by coordinate descent on an active set of atoms.

    The atoms that violate the optimality conditions most form a working set.  There one code after the
    other, the worst first, moves to its minimum, while the codes of the support follow theirs.  An inverse
    of the Gram matrix on the support gives them in closed form.  Then all correlations are computed
    afresh, and the duality gap decides whether the sample is done.

    float32 samples are solved in float32 if `tol` allows it.  A sample whose gap stays too wide is solved
    again in float64.  A call has about half a millisecond of overhead, so code many samples at once.

    Parameters and result are those of every coder (`coders`), and `positive`, True if codes must not be
    negative.  An atom then joins only if q = D (x - z D) is above lam, not below -lam.

    Source
    ------
    Coordinate descent: Friedman et al., J. Stat. Softw. 33(1), 2010.  Here the support moves along, so that
    each code is visited about once.  Stopping at the first code that reaches zero: Lawson and Hanson,
    Solving Least Squares Problems, 1974, chapter 23.
    """
    dtype = samples.X.dtype
    if dtype == np.float32 and tol < _LEAST_FLOAT32_TOL:
        samples = samples.to_float64()
        gram = None
    X, D = samples.X, samples.D
    gram = gram_matrix(D) if gram is None else np.ascontiguousarray(gram, X.dtype)
    n_sweeps = min(max_sweeps, _FLOAT32_SWEEPS) if X.dtype == np.float32 else max_sweeps
    problem = make_problem(gram, lam, 0.5 * tol, n_sweeps, positive=positive)
    new_scratch = partial(make_scratch, len(D), D.shape[1], X.dtype, positive=positive)
    panels = pack_columns(D, mirrored_index(np.arange(round_up(len(D), CHUNK))))
    found = solve_in_blocks(samples, panels, start, encode_rows, problem, new_scratch, n_threads, dtype)
    if X.dtype == np.float64:
        return found
    Z, gaps = compute_gaps(found, samples, lam, tol, positive=positive)
    rows = unconverged_rows(gaps, tol)
    if not len(rows):
        return Codes(Z, gaps)
    # float32 is too coarse for this conditioning or tol: solve from the start again, in float64.
    rules = {"positive": positive, "tol": tol, "max_sweeps": max_sweeps, "n_threads": n_threads}
    rules |= {"start": None if start is None else start[rows], "gram": None}
    exact = _solve(samples.subset(rows).to_float64(), lam, **rules).Z.astype(np.float32)
    gaps[rows] = np.nan
    return Codes(replace_rows(Z, rows, exact), gaps)


class CDProblem(NamedTuple):
    """The part of a lasso problem that is the same for all samples, for the coordinate-descent coder.

    gram : array (n_atoms, n_atoms), D D^T for the dictionary D
    bytes_ : uint8 (n_atoms, n_atoms padded), the Gram matrix in bytes: 128 + gram / scales, rounded
    scales : (n_atoms,), scales of the rows of `bytes_`
    norms : (n_atoms,), |d| of each atom d
    lam : weight of the L1 norm
    goal : float, the allowed gap as a fraction of |x|^2
    slack : float, the largest violation that may be rounding, as a fraction of |x|
    max_sweeps : int, most passes over all atoms for one sample
    patience : int, rounds without halving the gap after which rounding is the limit
    positive : bool, True if codes must not be negative
    """

    gram: np.ndarray  # (n_atoms, n_atoms)
    bytes_: np.ndarray  # (n_atoms, n_atoms padded) unsigned: 128 + gram / scales, rounded
    scales: np.ndarray  # (n_atoms,) scales of the rows of `bytes_`
    norms: np.ndarray  # (n_atoms,)
    lam: float
    goal: float  # the allowed gap, as a fraction of |x|^2
    slack: float  # the largest violation that may be rounding, as a fraction of |x|
    max_sweeps: int
    patience: int
    positive: bool


class CDScratch(NamedTuple):
    """The memory that one thread of the coordinate-descent coder overwrites, for one sample at a time.

    q : (n_atoms padded,), D (x - z D) in mirrored order
    q_bits : the memory of q as integers; the bits of positive floats compare like the floats
    high, low : int8 (n_atoms padded,), the upper and lower digits of the rounded code
    pending : int (n_atoms padded,), atoms of a code that has yet to join the support
    pending_codes : (n_atoms,), their codes
    n_inverted : int (1,), the number of pending atoms whose inverse is already in the support
    support : Support
    work : WorkingSet
    """

    q: np.ndarray  # (n_atoms, padded to whole chunks), in mirrored order
    q_bits: np.ndarray  # the same memory as integers; the bits of positive floats compare as integers
    high: np.ndarray  # signed bytes (n_atoms, padded): upper digits of a rounded code
    low: np.ndarray  # lower digits
    pending: np.ndarray  # integer (n_atoms, padded): atoms of a code that has yet to join the support
    pending_codes: np.ndarray  # (n_atoms,)
    n_inverted: np.ndarray  # integer (1,): number of pending atoms whose inverse is already in the support
    support: Support
    work: WorkingSet


def make_problem(gram, lam, goal, max_sweeps, *, positive=False):
    """Build the CDProblem of a dictionary.

    Parameters
    ----------
    gram : float array (n_atoms, n_atoms), D D^T for the dictionary D
    lam : float, weight of the L1 norm
    goal : float, the duality gap to reach, as a fraction of |x|^2
    max_sweeps : int, most passes over all atoms for one sample
    positive : bool, True if codes must not be negative
    """
    kind = gram.dtype.type
    norms = np.sqrt(gram.diagonal())
    slack = SLACK * np.finfo(kind).eps * norms.max(initial=0)
    bytes_ = np.full((len(gram), round_up(len(gram), CHUNK)), 128, np.uint8)
    scales = np.empty(len(gram), kind)
    round_gram(gram, norms, bytes_, scales)
    limits = float(goal), float(slack), int(max_sweeps), _PATIENCE[gram.itemsize]
    return CDProblem(gram, bytes_, scales, norms, kind(lam), *limits, positive)


def make_scratch(n_atoms, n_features, dtype, *, positive=False):
    """Allocate a CDScratch, the memory of one thread, for samples of one dictionary.

    n_atoms, n_features : shape of the dictionary; dtype : of the numbers
    positive : bool, True if codes must not be negative
    """
    bits = np.int32 if dtype == np.float32 else np.int64
    q = aligned_zeros(round_up(n_atoms, CHUNK), dtype)
    n_support = min(n_atoms, n_features)
    width, n_padded = round_up(n_atoms, LANES), round_up(n_support, LANES)
    z = aligned_zeros(n_padded, dtype)
    support = Support(
        capacity=n_support,
        atoms=np.zeros(n_padded, np.uint32),
        place=np.zeros(n_padded, np.uint32),
        z=z + 1,
        inverse=aligned_zeros((n_padded, _odd_width(n_padded) if n_padded >= _WIDE else n_padded), dtype),
        column=aligned_zeros(n_padded, dtype),
        direction=aligned_zeros(n_padded, dtype),
        zeros=aligned_zeros(n_padded, dtype),
    )
    n_columns = _odd_width(width)  # a gathering loop over no entries runs once, and reads past the end
    q_set = aligned_zeros(width, dtype)
    work = WorkingSet(
        atoms=np.zeros(n_columns, np.uint32),
        q0=aligned_zeros(n_columns, dtype),
        q=q_set,
        q_bits=q_set.view(bits),
        masks=np.zeros(width, bits),
        compared=-1 if positive else np.iinfo(bits).max,
        rows=aligned_zeros((n_padded, n_columns), dtype),
        row=aligned_zeros(width, dtype),
    )
    high, low = np.zeros(width, np.int8), np.zeros(width, np.int8)
    pending, pending_codes = np.zeros(width, np.uint32), np.zeros(n_atoms, dtype)
    none = np.zeros(1, np.int64)
    return CDScratch(q, q.view(bits), high, low, pending, pending_codes, none, support, work)


def _odd_width(width):
    """Return the width of rows, at least `width`, that is an odd multiple of LANES numbers.

    Rows that are a page of memory apart would compete for one set of the cache.
    """
    return (width + LANES) // (2 * LANES) * (2 * LANES) + LANES


class SmallLassoSolver:
    """A solver of single lasso problems, each with its own few hundred atoms, for one thread.

    Its memory is reused from problem to problem.

    n_features : int, the length of a sample
    """

    def __init__(self, n_features):
        self._n_features = n_features
        self._capacity = 0

    def solve(self, gram, q0, square, z, *, lam, gap):
        """Improve the code z of one sample x over the atoms D until its duality gap is at most `gap`.

        Parameters
        ----------
        gram : float64 array (n_atoms, n_atoms), D D^T
        q0 : float64 array (n_atoms,), D x
        square : float, |x|^2
        z : float64 array (n_atoms,), the start code
        lam : float > 0, weight of the L1 norm
        gap : float, the allowed duality gap; the result may miss it if rounding allows no more

        Returns
        -------
        z : float64 array (n_atoms,), the new code
        """
        n = len(q0)
        n_places = round_up(len(q0), CHUNK)
        problem = make_problem(np.ascontiguousarray(gram), lam, gap / max(square, 1e-300), _MOST_SWEEPS)
        scratch = self._scratch_for(n_places)
        Q = np.pad(q0, (0, n_places - n))[None, mirrored_index(np.arange(n_places))]
        support = np.flatnonzero(z)
        begin = np.array([0, len(support)]), support.astype(np.uint32), z[support]
        scratch.n_inverted[0] = store_inverse(problem.gram, support, scratch.support)
        first, atoms, values = np.zeros(2, np.int64), np.empty(n, np.uint32), np.empty(n)
        squares = np.array([square])
        codes = (first, atoms, values)
        encode_rows(Q, squares, begin, problem, scratch, codes, np.empty(1))
        solved = np.zeros(n)
        solved[atoms[: first[1]]] = values[: first[1]]
        return solved

    def _scratch_for(self, n_places):
        """Return the memory (CDScratch) for a problem of `n_places` atoms, reused from problem to problem."""
        if n_places > self._capacity:
            self._capacity = 2 * n_places
            self._scratch = make_scratch(self._capacity, self._n_features, np.dtype(np.float64))
        s = self._scratch
        for atoms in (s.work.atoms, s.support.atoms, s.pending):
            atoms[:] = 0  # kernels read whole vectors, with numbers from a larger problem
        return s._replace(q=s.q[:n_places], q_bits=s.q_bits[:n_places])


def store_inverse(gram, atoms, support):
    """Store the inverse of the Gram matrix of some atoms in a Support, and return the number of these atoms.

    Nothing is stored, and 0 is returned, for fewer than 32 atoms, for more than the support can hold, or if
    one depends linearly on earlier ones.

    Parameters
    ----------
    gram : float array (n_atoms, n_atoms), inner products of all atoms
    atoms : int array, the numbers of the atoms
    support : Support, whose `inverse` is written
    """
    n = len(atoms)
    if not _INVERTED_AT_ONCE <= n <= support.capacity:
        return 0
    from scipy.linalg.lapack import dpotrf, dpotri  # slow to import, and not needed from zero codes

    gram_here = gram[np.ix_(atoms, atoms)]
    bar = DEPENDENT * np.finfo(gram_here.dtype).eps * gram_here.diagonal()
    factor, fault = dpotrf(gram_here.T, lower=1, overwrite_a=1)
    if fault or not (np.square(factor.diagonal()) > bar).all():
        return 0
    lower = dpotri(factor, lower=1, overwrite_c=1)[0]
    support.inverse[:n, :n] = lower.T
    support.inverse[:n, :n] += np.tril(lower, -1)
    return n
