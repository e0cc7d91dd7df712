"""Coding many samples: checked once, then in blocks, over threads, into one sparse matrix."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from flyannot.errors import DataError, InputError
from flyannot.runtime.resources import one_blas_thread, threads_of_one_blas
from flyannot.sparse.kernels import sum_squares
from flyannot.sparse.objective import checked_lam
from flyannot.sparse.simd.product import multiply
from flyannot.sparse.simd.vectors import aligned_zeros

BLOCK = 256  # samples per product, whose correlations stay in the cache


class LassoProblem(NamedTuple):
    """What all samples share."""

    gram: np.ndarray  # (n_atoms, n_atoms)
    lam: float
    goal: float  # the allowed gap, as a part of |x|^2
    max_sweeps: int


def checked_samples(X, D, lam, gram=None):
    """(X, D, |x|^2 of every sample): contiguous arrays, X and D of float32 if X is, else of float64.

    Raises
    ------
    DataError
        If their shapes, or that of D D^T, do not fit together, or a sample is not finite.
    InputError
        If lam is not positive.
    """
    dtype = np.float32 if np.asarray(X).dtype == np.float32 else np.float64
    X, D = np.ascontiguousarray(X, dtype), np.ascontiguousarray(D, dtype)
    if X.ndim != 2 or D.ndim != 2 or X.shape[1] != D.shape[1]:
        raise DataError(f"samples {X.shape} and atoms {D.shape} do not fit together")
    if gram is not None and np.shape(gram) != (len(D), len(D)):
        raise DataError(f"atoms {D.shape} and Gram matrix {np.shape(gram)} do not fit together")
    checked_lam(lam)
    return X, D, finite_squares(X, "sample")


def finite_squares(A, what):
    """|a|^2 of every row, in float64; DataError, which says what the rows are, unless all are finite."""
    squares = np.empty(len(A))
    sum_squares(A, squares)
    finite = np.isfinite(squares)
    if not finite.all():
        raise DataError(f"{what} {int(finite.argmin())} holds values that are not finite")
    return squares


def _checked_threads(n_threads):
    """The number of threads; InputError unless it is 1 or more."""
    if n_threads < 1:
        raise InputError(f"n_threads is {n_threads}, and must be 1 or more", fix="choose n_threads = 1")
    return int(n_threads)


def over_threads(work, n, length, n_threads):
    """[work(rows) for rows], the slices of n rows by `length`, over threads that BLAS does not multiply."""
    slices = [slice(start, min(start + length, n)) for start in range(0, n, length)]
    with one_blas_thread(), threads_of_one_blas(_checked_threads(n_threads)) as threads:
        return list(threads.map(work, slices))


def codes_in_blocks(X, squares, panels, start, encode_rows, problem, new_scratch, n_threads):
    """Codes of checked samples, block by block.

    Parameters
    ----------
    X : float array (n_samples, n_features)
    squares : float64 array (n_samples,), |x|^2
    panels : the atoms, as `flyannot.sparse.simd.product.pack_columns` gives them
    start : CSR matrix (n_samples, n_atoms), or None
    encode_rows : kernel (Q, squares, begin, problem, scratch, codes, is_solved)
        Q holds the products of some samples, `squares` their |x|^2, `begin` the arrays (first, atom,
        value) of the codes to begin from.  It fills is_solved, and codes, which is (first, atom, value)
        too, long enough for every possible code.
    problem : what all samples share, with `gram` (n_atoms, n_atoms)
    new_scratch : function () -> the memory of one thread

    Returns
    -------
    Z : CSR matrix (n_samples, n_atoms), in the type of X
    is_solved : bool array (n_samples,)
    """
    n_atoms, start = len(problem.gram), _arrays_of(start, len(X), X.dtype)

    def solve_every_nth(first):
        scratch, block = new_scratch(), min(BLOCK, len(X))
        Q = aligned_zeros((block, len(panels) * panels.shape[2]), X.dtype)
        buffers = np.empty(block * n_atoms, np.int32), np.empty(block * n_atoms, X.dtype)
        solved = []
        for at in range(first * BLOCK, len(X), n_threads * BLOCK):
            Xb = X[at : at + BLOCK]
            multiply(Xb, panels, Q)
            begin = start[0][at : at + len(Xb) + 1], *start[1:]
            bounds, is_solved = np.zeros(len(Xb) + 1, np.int64), np.ones(len(Xb), bool)
            if n_atoms:
                part = squares[at : at + len(Xb)]
                encode_rows(Q, part, begin, problem, scratch, (bounds, *buffers), is_solved)
            solved.append((is_solved, np.diff(bounds), *(part[: bounds[-1]].copy() for part in buffers)))
        return solved

    if _checked_threads(n_threads) == 1:
        by_thread = [solve_every_nth(0)]
    else:
        with threads_of_one_blas(n_threads) as threads:
            by_thread = list(threads.map(solve_every_nth, range(n_threads)))
    return _joined(by_thread, (len(X), n_atoms), X.dtype)


def _arrays_of(start, n_samples, dtype):
    """(first, atom, value) of the codes to begin from, each atom once in a row."""
    if start is None:
        return np.zeros(n_samples + 1, np.int64), np.zeros(0, np.uint32), np.zeros(0, dtype)
    start = sp.csr_matrix(start, dtype=dtype, copy=True)
    start.sum_duplicates()
    return start.indptr.astype(np.int64), start.indices.astype(np.uint32), start.data


def _joined(by_thread, shape, dtype):
    """One CSR matrix from blocks that were dealt out in turn, and which of its rows are solved."""
    n = len(by_thread)
    blocks = [by_thread[i % n][i // n] for i in range(sum(map(len, by_thread)))]
    if not blocks:
        return sp.csr_matrix(shape, dtype=dtype), np.ones(0, bool)
    is_solved, counts, atoms, values = (np.concatenate(part) for part in zip(*blocks))
    first = np.concatenate([[0], np.cumsum(counts)])
    index = np.int32 if first[-1] < 2**31 else np.int64
    Z = sp.csr_matrix((values, atoms.astype(index, copy=False), first.astype(index)), shape=shape)
    return Z, is_solved


def replace_rows(Z, rows, new_rows):
    """Z with its `rows` replaced by `new_rows`."""
    place = np.arange(Z.shape[0])
    place[rows] = len(place) + np.arange(len(rows))
    return sp.vstack([Z, new_rows], format="csr")[place]
