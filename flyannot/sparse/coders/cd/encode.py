"""The coordinate-descent coder: one product X D^T, one Gram matrix, an active set per sample."""

import numpy as np

from flyannot.sparse.coders.blocks import checked, codes_in_blocks, finite_squares, replace_rows
from flyannot.sparse.coders.cd.gram_bytes import mirrored_order
from flyannot.sparse.coders.cd.kernels import encode_rows
from flyannot.sparse.coders.cd.problem import make_problem, make_scratch
from flyannot.sparse.simd.aligned import round_up
from flyannot.sparse.simd.product import gram_of, pack
from flyannot.sparse.simd.vectors import CHUNK

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
        Threads over blocks of samples.  A call costs about half a millisecond on top, so code many
        samples at once.

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
    X, D, squares = checked(X, D, lam, gram)
    finite_squares(D, "atom")
    gram = gram_of(D) if gram is None else np.ascontiguousarray(gram, X.dtype)
    n_sweeps = min(max_sweeps, _FLOAT32_SWEEPS) if X.dtype == np.float32 else max_sweeps
    problem = make_problem(gram, lam, 0.5 * tol, n_sweeps)

    def new_solver():
        scratch = make_scratch(len(D), D.shape[1], X.dtype)
        return lambda Q, squares, begin, codes, is_solved: encode_rows(
            Q, squares, begin, problem, scratch, codes, is_solved
        )

    panels = pack(D, mirrored_order(round_up(len(D), CHUNK)))
    Z, is_solved = codes_in_blocks(X, squares, panels, len(D), start, new_solver, n_threads)
    if is_solved.all() or n_sweeps == max_sweeps:
        return Z
    # So ill-conditioned, or so small a tol, that float32 cannot tell: from the start again in float64.
    rows = np.flatnonzero(~is_solved)
    again = {"tol": tol, "max_sweeps": max_sweeps - n_sweeps, "start": None if start is None else start[rows]}
    exact = encode(X[rows].astype(np.float64), D, lam, n_threads=n_threads, **again)
    return replace_rows(Z, rows, exact.astype(np.float32))
