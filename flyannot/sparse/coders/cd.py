"""The coordinate-descent coder: one product X D^T, one Gram matrix, an active set per sample."""

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from threadpoolctl import ThreadpoolController

from flyannot.errors import DataError, InputError
from flyannot.sparse.coders.cd_kernels import SLACK, Problem, encode_rows, make_scratch

BLOCK = 256  # samples per product: X D^T stays in cache until its codes are solved

# BLAS rounds the rows at the edge of a product otherwise than those inside.  With samples and atoms
# padded to this multiple none is at an edge, and a row's bits do not depend on its neighbours.
_TILE = 64


def encode(X, D, lam, *, tol=1e-4, max_sweeps=1000, start=None, gram=None, n_threads=1):
    """Codes of X over a fixed dictionary, each within a stated duality gap of its minimum.

    Each sample minimises 1/2 |x - z D|^2 + lam |z|_1.  Atoms that violate the optimality conditions
    most join its working set; the small problem there is solved by coordinate descent, finished in
    closed form on the support; then all correlations are made afresh, and the gap decides.

    Parameters
    ----------
    X : float array (n_samples, n_features)
        float32 is solved in float32, all else in float64.
    D : float array (n_atoms, n_features)
        Atoms of any norm; codes of zero atoms are zero.
    lam : float > 0, weight of the L1 norm
    tol : float
        A sample is done when its duality gap is at most tol / 2 |x|^2.  In float32 a tol below about
        1e-5 asks for more than rounding leaves; the code is then as good as float32 allows.
    max_sweeps : int, most passes over all atoms for one sample
    start : CSR matrix (n_samples, n_atoms), optional
        Codes to begin from.  The objective never rises from there.
    gram : float array (n_atoms, n_atoms), optional
        D D^T, where the caller has it.
    n_threads : int

    Returns
    -------
    Z : CSR matrix (n_samples, n_atoms), in the type that X is solved in
        The same bits for any `n_threads`, and for X in one call or in several.

    Source
    ------
    Coordinate descent: Friedman et al., J. Stat. Softw. 33(1), 2010.  The closed form with a line
    search to the first zero: Lee et al., NIPS 2006 (feature-sign search), without their search over
    all crossings.
    """
    dtype = np.float32 if np.asarray(X).dtype == np.float32 else np.float64
    X, D = np.asarray(X, dtype), np.ascontiguousarray(D, dtype)
    gram = np.ascontiguousarray(D @ D.T if gram is None else gram, dtype)
    _check(X, D, gram, lam)
    slack = SLACK * np.finfo(dtype).eps * np.sqrt(gram.diagonal().max(initial=0))
    problem = Problem(gram, dtype(lam), 0.5 * tol, slack, int(max_sweeps))
    start = _csr_arrays(start, len(X), dtype)

    def encode_share(first):
        return _encode_blocks(X, D, range(first * BLOCK, len(X), n_threads * BLOCK), start, problem)

    with _blas().limit(limits=1):
        if n_threads == 1:
            shares = [encode_share(0)]
        else:
            with ThreadPoolExecutor(n_threads) as threads:
                shares = list(threads.map(encode_share, range(n_threads)))
    return _join(shares, (len(X), len(D)), dtype)


@lru_cache(maxsize=1)
def _blas():
    return ThreadpoolController().select(user_api="blas")


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


def _encode_blocks(X, D, firsts, start, problem):
    """The (counts, atoms, values) of the blocks of samples that begin at `firsts`."""
    n_atoms, n_features = D.shape
    scratch = make_scratch(n_atoms, n_features, X.dtype)
    padded = _pad_rows(D)
    Q = np.empty((BLOCK, len(padded)), X.dtype)
    room = np.empty(BLOCK * n_atoms, np.int32), np.empty(BLOCK * n_atoms, X.dtype)
    blocks = []
    for first in firsts:
        Xb = X[first : first + BLOCK]
        squares = np.einsum("ij,ij->i", Xb, Xb, dtype=np.float64)
        if not np.isfinite(squares).all():
            raise DataError(
                f"sample {first + int(np.isfinite(squares).argmin())} holds values that are not finite"
            )
        np.matmul(_pad_rows(Xb), padded.T, out=Q[: _up_to_tile(len(Xb))])
        begin = start[0][first : first + len(Xb) + 1], *start[1:]
        bounds = np.zeros(len(Xb) + 1, np.int64)
        if n_atoms:
            encode_rows(Q, squares, begin, problem, scratch, (bounds, *room))
        blocks.append((np.diff(bounds), *(part[: bounds[-1]].copy() for part in room)))
    return blocks


def _up_to_tile(n):
    return -(-n // _TILE) * _TILE


def _pad_rows(A):
    short = _up_to_tile(len(A)) - len(A)
    return np.concatenate([A, np.zeros((short, A.shape[1]), A.dtype)]) if short else A


def _join(shares, shape, dtype):
    """One CSR matrix from blocks that were dealt out in turn."""
    blocks = [shares[i % len(shares)][i // len(shares)] for i in range(sum(map(len, shares)))]
    if not blocks:
        return sp.csr_matrix(shape, dtype=dtype)
    counts, atoms, values = (np.concatenate(part) for part in zip(*blocks))
    first = np.concatenate([[0], np.cumsum(counts)])
    index = np.int32 if first[-1] < 2**31 else np.int64
    return sp.csr_matrix((values, atoms.astype(index, copy=False), first.astype(index)), shape=shape)
