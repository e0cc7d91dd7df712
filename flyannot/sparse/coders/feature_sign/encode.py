"""Feature-sign search (Lee et al. 2006): the lasso of one sample by guessing the signs of its code.

With the signs known the minimum has a closed form.  A step solves it on the active set, walks towards
it and stops at the best of the solution and of the points where a code changes sign.  The objective
falls at every step, so no set of signs comes twice, and the search ends.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp

from flyannot.runtime.blas_threads import one_blas_thread
from flyannot.sparse.coders.cd.encode import encode as encode_by_cd
from flyannot.sparse.coders.feature_sign.kernels import (
    CHUNK,
    Problem,
    Scratch,
    encode_rows,
    recall_code,
    search_signs,
)
from flyannot.sparse.simd.aligned import aligned_zeros
from flyannot.sparse.simd.product import gram_of, multiply, pack

BLOCK = 256  # samples per product X D^T


def encode(X, D, lam, *, tol=1e-4, max_sweeps=1000, start=None, gram=None, n_threads=1):
    """Codes of X over a fixed dictionary by feature-sign search, in float64.

    Each sample minimises 1/2 |x - z D|^2 + lam |z|_1.  A sample whose search does not end (its active
    atoms depend on one another, or it needs more steps) goes on by coordinate descent.

    Parameters
    ----------
    X : float array (n_samples, n_features)
    D : float array (n_atoms, n_features)
        Atoms of any norm; codes of zero atoms are zero.
    lam : float > 0, weight of the L1 norm
    tol : float
        A sample is done when its duality gap is at most tol / 2 |x|^2, or when no breach of the
        optimality conditions stands out from rounding.
    max_sweeps : int
        Most steps of one sample.  Each looks at all atoms once; a code from zero takes one for each of
        its atoms, and some more.
    start : CSR matrix (n_samples, n_atoms), optional
        Codes to begin from.  The objective never rises from there.
    gram : float array (n_atoms, n_atoms), optional
        D D^T, where the caller has it.  Made afresh if it is not float64.
    n_threads : int

    Returns
    -------
    Z : CSR matrix (n_samples, n_atoms), float32 if X is, else float64
        The same bits for any `n_threads`, and for X in one call or in several.

    Source
    ------
    Lee, Battle, Raina and Ng, "Efficient sparse coding algorithms", NIPS 2006, Algorithm 1, with 1/2
    before the square.  It activates an atom only when all active codes are optimal; here, when what
    they lack is negligible.  It says nothing of dependent atoms.
    """
    dtype = np.float32 if np.asarray(X).dtype == np.float32 else np.float64
    X, D = np.ascontiguousarray(X, np.float64), np.ascontiguousarray(D, np.float64)
    is_exact = gram is not None and np.asarray(gram).dtype == np.float64
    gram = np.ascontiguousarray(gram if is_exact else gram_of(D))
    problem = Problem(gram, float(lam), float(tol), int(max_sweeps))
    if not X.size or not D.size:
        return sp.csr_matrix((len(X), len(D)), dtype=dtype)
    panels = pack(D)
    start = _start_arrays(start, (len(X), len(D)))
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as threads:
        firsts = range(0, len(X), BLOCK)
        blocks = list(threads.map(lambda first: _encode_block(X, panels, first, start, problem), firsts))
    Z = sp.vstack([Zb for Zb, _ in blocks], format="csr")
    undone = np.flatnonzero(~np.concatenate([is_done for _, is_done in blocks]))
    rules = {"tol": tol, "max_sweeps": max_sweeps, "gram": gram, "n_threads": n_threads}
    return _finish(Z, undone, X, D, lam, **rules).astype(dtype, copy=False)


def feature_sign_path(x, D, lam, *, start=None, tol=1e-12, max_steps=10_000):
    """The code of one sample before the search and after every step of it.

    Parameters
    ----------
    x : float array (n_features,)
    D, lam : as in `encode`
    start : float array (n_atoms,), optional, the code to begin from
    tol : float, part of 1/2 |x|^2 at which the duality gap counts as closed
    max_steps : int

    Returns
    -------
    path : float64 array (n_steps + 1, n_atoms)
        Ends when the gap is closed, where the search got stuck, or after `max_steps`.
    """
    x, D = np.asarray(x, np.float64), np.ascontiguousarray(D, np.float64)
    scratch, path = _scratch(len(D)), [np.zeros(len(D)) if start is None else np.asarray(start, float)]
    gram, q0 = gram_of(D), D @ x
    for _ in range(max_steps):
        # A search of one step from the last code: it stops before the step where there is none to take.
        z = path[-1]
        n = recall_code(np.flatnonzero(z), z[z != 0], gram, scratch)
        n, is_done = search_signs(q0, x @ x, n, Problem(gram, float(lam), tol, 1), scratch)
        code = np.zeros(len(D))
        code[scratch.atoms[:n]] = scratch.z[:n]
        if is_done or (code == z).all():
            break
        path.append(code)
    return np.array(path)


def _start_arrays(start, shape):
    """(first, atom, value) of the codes to begin from."""
    start = sp.csr_matrix(shape if start is None else start, dtype=np.float64, copy=True)
    start.sum_duplicates()
    return start.indptr.astype(np.int64), start.indices.astype(np.int32), start.data


def _encode_block(X, panels, first, start, problem):
    """Codes of one block of samples, and which of them are done."""
    Xb, n_atoms = X[first : first + BLOCK], len(problem.gram)
    Q = aligned_zeros((len(Xb), len(panels) * panels.shape[2]), np.float64)
    multiply(Xb, panels, Q)
    squares = np.einsum("ij,ij->i", Xb, Xb)
    counts, is_done = np.zeros(len(Xb) + 1, np.int64), np.zeros(len(Xb), np.bool_)
    room = counts, np.empty(len(Xb) * n_atoms, np.int32), np.empty(len(Xb) * n_atoms)
    begin = start[0][first : first + len(Xb) + 1], start[1], start[2]
    encode_rows(Q, squares, begin, problem, _scratch(n_atoms), room, is_done)
    n_codes = room[0][-1]
    Z = sp.csr_matrix((room[2][:n_codes].copy(), room[1][:n_codes].copy(), counts), (len(Xb), n_atoms))
    Z.sort_indices()
    return Z, is_done


def _scratch(n_atoms):
    row = lambda: np.empty(n_atoms)  # noqa: E731
    maxima, factor = np.empty(-(-n_atoms // CHUNK)), np.empty(n_atoms * (n_atoms + 1) // 2)
    return Scratch(row(), maxima, np.empty(n_atoms, np.int32), row(), row(), row(), factor)


def _finish(Z, undone, X, D, lam, **rules):
    """Z with the rows `undone` solved by coordinate descent, from where they stand."""
    if not len(undone):
        return Z
    finished = encode_by_cd(X[undone], D, lam, start=Z[undone], **rules)
    place = np.arange(len(X))
    place[undone] = len(X) + np.arange(len(undone))
    return sp.vstack([Z, finished], format="csr")[place]
