"""The coordinate-descent coder: one product X D^T, one Gram matrix, an active set per sample."""

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from threadpoolctl import ThreadpoolController

from flyannot.sparse.coders.cd_kernels import CHUNK, Problem, Scratch, encode_rows

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
    problem = Problem(gram, dtype(lam), float(tol), int(max_sweeps), D.shape[1])
    start = _csr_arrays(start, len(X), dtype)
    padded = np.zeros((-(-len(D) // _TILE) * _TILE, D.shape[1]), dtype)
    padded[: len(D)] = D

    def encode_share(first):
        share = range(first * BLOCK, len(X), n_threads * BLOCK)
        return _encode_blocks(X, padded.T, share, start, problem)

    with _blas().limit(limits=1), ThreadPoolExecutor(n_threads) as threads:
        shares = list(threads.map(encode_share, range(n_threads)))
    return _join(shares, (len(X), len(D)), dtype)


@lru_cache(maxsize=1)
def _blas():
    return ThreadpoolController().select(user_api="blas")


def _csr_arrays(start, n_samples, dtype):
    """(first, atom, value) of the codes to begin from, sorted in every row."""
    if start is None:
        return np.zeros(n_samples + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, dtype)
    start = sp.csr_matrix(start, dtype=dtype, copy=True)
    start.sum_duplicates()
    return start.indptr.astype(np.int64), start.indices.astype(np.int32), start.data


def _encode_blocks(X, DT, firsts, start, problem):
    """The (counts, atoms, values) of the blocks of samples that begin at `firsts`."""
    n_atoms, dtype = len(problem.gram), X.dtype
    if not n_atoms:
        return [(np.zeros(min(BLOCK, len(X) - f), np.int64), start[1][:0], start[2][:0]) for f in firsts]
    scratch = _scratch(n_atoms, dtype)
    Q = np.empty((BLOCK, DT.shape[1]), dtype)
    room = (
        np.zeros(BLOCK + 1, np.int64),
        np.empty(BLOCK * n_atoms, np.int32),
        np.empty(BLOCK * n_atoms, dtype),
    )
    blocks = []
    for first in firsts:
        Xb = X[first : first + BLOCK]
        n = len(Xb)
        np.matmul(_pad_rows(Xb), DT, out=Q[: -(-n // _TILE) * _TILE])
        squares = np.einsum("ij,ij->i", Xb, Xb, dtype=np.float64)
        begin = start[0][first : first + n + 1], start[1], start[2]
        encode_rows(Q[:, :n_atoms], squares, begin, problem, scratch, room)
        n_codes = room[0][n]
        blocks.append((np.diff(room[0][: n + 1]), room[1][:n_codes].copy(), room[2][:n_codes].copy()))
    return blocks


def _scratch(n_atoms, dtype):
    row, square = (lambda: np.empty(n_atoms, dtype)), (lambda: np.empty(n_atoms**2, dtype))
    places = [np.empty(n_atoms, np.int32) for _ in range(2)]
    maxima = np.empty(-(-n_atoms // CHUNK), dtype)
    return Scratch(row(), maxima, places[0], row(), row(), square(), square(), row(), places[1])


def _pad_rows(Xb):
    short = -len(Xb) % _TILE
    return np.concatenate([Xb, np.zeros((short, Xb.shape[1]), Xb.dtype)]) if short else Xb


def _join(shares, shape, dtype):
    """One CSR matrix from blocks dealt out in turn."""
    blocks = [shares[i % len(shares)][i // len(shares)] for i in range(sum(map(len, shares)))]
    if not blocks:
        return sp.csr_matrix(shape, dtype=dtype)
    counts, atoms, values = (np.concatenate(part) for part in zip(*blocks))
    first = np.concatenate([[0], np.cumsum(counts)])
    index = np.int32 if first[-1] < 2**31 else np.int64
    return sp.csr_matrix((values, atoms.astype(index, copy=False), first.astype(index)), shape=shape)
