"""FISTA: accelerated proximal gradient steps on whole blocks of samples, by matrix products alone."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp

from flyannot.sparse.blas import one_blas_thread

BLOCK = 256  # samples that step together
STEPS_PER_SWEEP = 50  # between two measurements of the gap
LEAST_TOL = 1e-13  # what rounding leaves of a gap, as part of 1/2 |x|^2

_N_POWER_STEPS = 100
_MARGIN = 1.05  # power iteration approaches the largest eigenvalue from below


def encode(X, D, lam, *, tol=1e-4, max_sweeps=1000, start=None, gram=None, n_threads=1):
    """Codes of X over a fixed dictionary by FISTA with restarts, in float64.

    Each sample minimises 1/2 |x - z D|^2 + lam |z|_1.  A sample leaves its block when its gap closes.

    Parameters
    ----------
    X : float array (n_samples, n_features)
    D : float array (n_atoms, n_features)
        Atoms of any norm; codes of zero atoms are zero.
    lam : float > 0, weight of the L1 norm
    tol : float
        A sample is done when its duality gap is at most tol / 2 |x|^2; below 1e-13 it counts as 1e-13.
    max_sweeps : int
        Most measurements of the gap, each after 50 steps that move all codes at once.
    start : CSR matrix (n_samples, n_atoms), optional
        Codes to begin from.
    gram : float array (n_atoms, n_atoms), optional
        D D^T, where the caller has it.
    n_threads : int

    Returns
    -------
    Z : CSR matrix (n_samples, n_atoms), float32 if X is, else float64
        The same bits for any `n_threads`.

    Source
    ------
    Beck and Teboulle, SIAM J. Imaging Sciences 2(1), 2009, with a constant step.  Restarts, of every
    sample by itself: O'Donoghue and Candes, Found. Comput. Math. 15, 2015, the gradient scheme.
    """
    dtype = np.float32 if np.asarray(X).dtype == np.float32 else np.float64
    X, D = np.asarray(X, np.float64), np.ascontiguousarray(D, np.float64)
    start = sp.csr_matrix((len(X), len(D)) if start is None else start, dtype=np.float64)
    if not X.size or not D.any():
        return sp.csr_matrix(start.shape, dtype=dtype)

    def encode_block(first):
        Xb, Zb = X[first : first + BLOCK], start[first : first + BLOCK].toarray() * D.any(axis=1)
        target = 0.5 * max(tol, LEAST_TOL) * _sums(Xb, Xb)
        return sp.csr_matrix(_solve_block(Xb, D, gram, lam, 1 / curvature, Zb, target, max_sweeps))

    with one_blas_thread(), ThreadPoolExecutor(n_threads) as threads:
        gram = D @ D.T if gram is None else np.ascontiguousarray(gram, np.float64)
        curvature = largest_eigenvalue(gram)
        return sp.vstack(list(threads.map(encode_block, range(0, len(X), BLOCK))), format="csr", dtype=dtype)


def largest_eigenvalue(gram):
    """An upper bound on the largest eigenvalue of gram, by power iteration and a margin."""
    v = np.random.default_rng(0).normal(size=len(gram))
    for _ in range(_N_POWER_STEPS):
        v /= np.linalg.norm(v)
        v = gram @ v
    # No eigenvalue is above the largest sum of a row, so neither need the bound be.
    return min(_MARGIN * np.linalg.norm(v), np.abs(gram).sum(axis=1).max())


def _solve_block(X, D, gram, lam, step, Z, target, max_sweeps):
    """Codes of one block, dense."""
    Q0, squares, rows = X @ D.T, _sums(X, X), np.arange(len(X))
    codes, Y, t = Z.copy(), Z, np.ones(len(X))
    for n_sweeps in range(max_sweeps + 1):
        is_open = _gaps(Q0, gram, lam, squares, Z) > target[rows]
        codes[rows] = Z
        if n_sweeps == max_sweeps or not is_open.any():
            break
        rows, Q0, squares, Z, Y, t = (A[is_open] for A in (rows, Q0, squares, Z, Y, t))
        for _ in range(STEPS_PER_SWEEP):
            Z, Y, t = _step(Q0, gram, lam, step, Z, Y, t)
    return codes


def _step(Q0, gram, lam, step, Z, Y, t):
    """The next codes Z, the points Y ahead of them, and the counters t that set how far ahead."""
    ahead = Y + step * (Q0 - Y @ gram)
    Z_next = np.sign(ahead) * np.maximum(np.abs(ahead) - lam * step, 0.0)
    move = Z_next - Z
    t = np.where(_sums(Y - Z_next, move) > 0, 1.0, t)  # the step went back: begin again without speed
    t_next = 0.5 + np.sqrt(0.25 + t**2)
    return Z_next, Z_next + ((t - 1) / t_next)[:, None] * move, t_next


def _gaps(Q0, gram, lam, squares, Z):
    """The duality gap of every sample, from correlations alone.

    With s = min(1, lam / |q|_inf) it is 1/2 |r|^2 (1 - s)^2 + sum of lam |z_k| - s z_k q_k.
    """
    Q = Q0 - Z @ gram
    s = lam / np.maximum(np.abs(Q).max(axis=1), lam)
    residual_squares = np.maximum(squares - _sums(Z, Q0 + Q), 0.0)
    return 0.5 * residual_squares * (1 - s) ** 2 + (lam * np.abs(Z) - s[:, None] * Z * Q).sum(axis=1)


def _sums(A, B):
    return np.einsum("ij,ij->i", A, B)
