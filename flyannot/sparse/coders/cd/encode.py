"""The coordinate-descent coder: one product X D^T, one Gram matrix, an active set per sample."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp

from flyannot.errors import DataError, InputError
from flyannot.runtime.blas_threads import one_blas_thread
from flyannot.sparse.coders.cd.gram_bytes import round_gram
from flyannot.sparse.coders.cd.kernels import SLACK, Problem, encode_rows, make_scratch
from flyannot.sparse.coders.cd.support import sum_squares
from flyannot.sparse.simd.aligned import aligned_zeros, round_up
from flyannot.sparse.simd.gram_rows import mirrored_order
from flyannot.sparse.simd.product import gram_of, multiply, pack
from flyannot.sparse.simd.vectors import CHUNK

BLOCK = 256  # samples per product, whose correlations stay in the cache

_FLOAT32_SWEEPS = 40  # real descriptors take up to ten; what takes more is left to float64


def encode(X, D, lam, *, tol=1e-4, max_sweeps=1000, start=None, gram=None, n_threads=1):
    """Codes of X over a fixed dictionary, each within a stated duality gap of its minimum.

    Each sample minimises 1/2 |x - z D|^2 + lam |z|_1.  The atoms that violate the optimality
    conditions most make a working set.  There one code after the other, the worst first, moves to its
    minimum while the codes of the support follow theirs, which an inverse of the Gram matrix on the
    support gives in closed form.  Then all correlations are made afresh, and the gap decides.

    Parameters
    ----------
    X : float array (n_samples, n_features)
        float32 is solved in float32 as far as that goes, all else in float64.
    D : float array (n_atoms, n_features)
        Atoms of any norm; codes of zero atoms are zero.
    lam : float > 0, weight of the L1 norm
    tol : float
        A sample is done when its duality gap is at most tol / 2 |x|^2.  Where rounding hides that in
        float32, the sample is solved again in float64.
    max_sweeps : int, most passes over all atoms for one sample
    start : CSR matrix (n_samples, n_atoms), optional
        Codes to begin from.  The objective never rises from there.
    gram : float array (n_atoms, n_atoms), optional
        D D^T, where the caller has it.
    n_threads : int
        Threads over blocks of samples; BLAS is held to one thread meanwhile.  A call costs about half
        a millisecond on top, so code many samples at once.

    Returns
    -------
    Z : CSR matrix (n_samples, n_atoms), in float32 where X is, else in float64
        The same bits for any `n_threads`, and for X in one call or in several.

    Raises
    ------
    DataError
        If shapes do not fit, or a sample or atom holds a value that is not finite.
    InputError
        If `lam` is not positive.

    Source
    ------
    Coordinate descent: Friedman et al., J. Stat. Softw. 33(1), 2010; here the support moves along,
    so that each code is visited about once.  Stopping at the first code that reaches zero: Lawson and
    Hanson, Solving Least Squares Problems, 1974, chapter 23.
    """
    dtype = np.float32 if np.asarray(X).dtype == np.float32 else np.float64
    X, D = np.ascontiguousarray(X, dtype), np.ascontiguousarray(D, dtype)
    start = None if start is None else sp.csr_matrix(start)
    n_sweeps = min(max_sweeps, _FLOAT32_SWEEPS) if dtype == np.float32 else max_sweeps
    with one_blas_thread():
        gram = gram_of(D) if gram is None else np.ascontiguousarray(gram, dtype)
        _check(X, D, gram, lam)
        problem = _problem(gram, lam, tol, n_sweeps)
        Z, is_solved = _encode(X, D, problem, _csr_arrays(start, len(X), dtype), n_threads)
    if is_solved.all() or n_sweeps == max_sweeps:
        return Z
    # So ill-conditioned, or so small a tol, that float32 cannot tell: from the start again in float64.
    rows = np.flatnonzero(~is_solved)
    again = {"tol": tol, "max_sweeps": max_sweeps - n_sweeps, "start": None if start is None else start[rows]}
    exact = encode(X[rows].astype(np.float64), D, lam, n_threads=n_threads, **again)
    return _replace_rows(Z, rows, exact.astype(np.float32))


def _problem(gram, lam, tol, n_sweeps):
    kind = gram.dtype.type
    norms = np.sqrt(gram.diagonal())
    slack = SLACK * np.finfo(kind).eps * norms.max(initial=0)
    bytes_ = np.full((len(gram), round_up(len(gram), CHUNK)), 128, np.uint8)
    scales = np.empty(len(gram), kind)
    round_gram(gram, norms, bytes_, scales)
    return Problem(gram, bytes_, scales, norms, kind(lam), 0.5 * tol, float(slack), int(n_sweeps))


def _encode(X, D, problem, start, n_threads):
    """The codes, and for each whether its gap is as small as asked."""
    panels = pack(D, mirrored_order(round_up(len(D), CHUNK)))

    def encode_share(first):
        return _encode_blocks(X, panels, range(first * BLOCK, len(X), n_threads * BLOCK), start, problem)

    if n_threads == 1:
        shares = [encode_share(0)]
    else:
        with ThreadPoolExecutor(n_threads) as threads:
            shares = list(threads.map(encode_share, range(n_threads)))
    return _join(shares, (len(X), len(D)), X.dtype)


def _check(X, D, gram, lam):
    if X.ndim != 2 or D.ndim != 2 or X.shape[1] != D.shape[1] or gram.shape != (len(D), len(D)):
        raise DataError(
            f"samples {X.shape}, atoms {D.shape} and Gram matrix {gram.shape} do not fit together"
        )
    if not lam > 0:
        raise InputError(
            f"lam is {lam}, and must be positive", fix="choose lam > 0, such as 1.2 / sqrt(n_features)"
        )
    if not np.isfinite(gram.diagonal()).all():
        raise DataError("the dictionary holds values that are not finite")


def _csr_arrays(start, n_samples, dtype):
    """(first, atom, value) of the codes to begin from, each atom once in a row."""
    if start is None:
        return np.zeros(n_samples + 1, np.int64), np.zeros(0, np.uint32), np.zeros(0, dtype)
    start = sp.csr_matrix(start, dtype=dtype, copy=True)
    start.sum_duplicates()
    return start.indptr.astype(np.int64), start.indices.astype(np.uint32), start.data


def _encode_blocks(X, panels, firsts, start, problem):
    """The (is solved, counts, atoms, values) of the blocks of samples that begin at `firsts`."""
    n_atoms, block = len(problem.gram), min(BLOCK, len(X))
    scratch = make_scratch(n_atoms, X.shape[1], X.dtype)
    Q = aligned_zeros((block, round_up(n_atoms, CHUNK)), X.dtype)
    room = np.empty(block * n_atoms, np.int32), np.empty(block * n_atoms, X.dtype)
    blocks = []
    for first in firsts:
        Xb = X[first : first + BLOCK]
        squares = np.empty(len(Xb))
        sum_squares(Xb, squares)
        if not np.isfinite(squares).all():
            raise DataError(
                f"sample {first + int(np.isfinite(squares).argmin())} holds values that are not finite"
            )
        multiply(Xb, panels, Q)
        begin = start[0][first : first + len(Xb) + 1], *start[1:]
        bounds, is_solved = np.zeros(len(Xb) + 1, np.int64), np.ones(len(Xb), bool)
        if n_atoms:
            encode_rows(Q, squares, begin, problem, scratch, (bounds, *room), is_solved)
        blocks.append((is_solved, np.diff(bounds), *(part[: bounds[-1]].copy() for part in room)))
    return blocks


def _join(shares, shape, dtype):
    """One CSR matrix from blocks that were dealt out in turn, and which of its rows are solved."""
    blocks = [shares[i % len(shares)][i // len(shares)] for i in range(sum(map(len, shares)))]
    if not blocks:
        return sp.csr_matrix(shape, dtype=dtype), np.ones(0, bool)
    is_solved, counts, atoms, values = (np.concatenate(part) for part in zip(*blocks))
    first = np.concatenate([[0], np.cumsum(counts)])
    index = np.int32 if first[-1] < 2**31 else np.int64
    Z = sp.csr_matrix((values, atoms.astype(index, copy=False), first.astype(index)), shape=shape)
    return Z, is_solved


def _replace_rows(Z, rows, others):
    """Z with its `rows` replaced by those of `others`."""
    kept = np.setdiff1d(np.arange(Z.shape[0]), rows)
    return sp.vstack([Z[kept], others], format="csr")[np.argsort(np.concatenate([kept, rows]))]
