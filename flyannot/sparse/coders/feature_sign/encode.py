"""Feature-sign search (Lee et al. 2006): the lasso of one sample by guessing the signs of its code.

With the signs known the minimum has a closed form.  A step solves it on the active set, walks towards
it and stops at the best of the solution and of the points where a code changes sign.  The objective
falls at every step, so no set of signs comes twice, and the search ends.
"""

import numpy as np

from flyannot.sparse.coders.blocks import checked, codes_in_blocks, finite_squares, replace_rows
from flyannot.sparse.coders.cd.encode import encode as encode_by_cd
from flyannot.sparse.coders.feature_sign.kernels import CHUNK, Problem, Scratch, encode_rows
from flyannot.sparse.simd.product import gram_of, pack


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
        A sample is done when its duality gap is at most tol / 2 |x|^2, or when no violation of the
        optimality conditions stands out from rounding.
    max_sweeps : int
        Most steps of one sample.  Each passes over all atoms once; a code from zero takes one for each of
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
    X, D, squares = checked(X, D, lam, gram)
    finite_squares(D, "atom")
    dtype, X, D = X.dtype, X.astype(np.float64), D.astype(np.float64)
    is_exact = gram is not None and np.asarray(gram).dtype == np.float64
    gram = np.ascontiguousarray(gram if is_exact else gram_of(D))
    problem = Problem(gram, float(lam), float(tol), int(max_sweeps))

    def new_solver():
        scratch = make_scratch(len(D))
        return lambda Q, squares, begin, codes, is_solved: encode_rows(
            Q, squares, begin, problem, scratch, codes, is_solved
        )

    Z, is_solved = codes_in_blocks(X, squares, pack(D), len(D), start, new_solver, n_threads)
    Z.sort_indices()
    if not is_solved.all():  # by coordinate descent, from where they stand
        rows = np.flatnonzero(~is_solved)
        rules = {"tol": tol, "max_sweeps": max_sweeps, "gram": gram, "n_threads": n_threads}
        Z = replace_rows(Z, rows, encode_by_cd(X[rows], D, lam, start=Z[rows], **rules))
    return Z.astype(dtype, copy=False)


def make_scratch(n_atoms):
    """Memory for one sample at a time."""
    row = lambda: np.empty(n_atoms)  # noqa: E731
    maxima, factor = np.empty(-(-n_atoms // CHUNK)), np.empty(n_atoms * (n_atoms + 1) // 2)
    return Scratch(row(), maxima, np.empty(n_atoms, np.int32), row(), row(), row(), factor)
