"""Non-negative sparse codes: the z >= 0 that minimises 1/2 |x - z D|^2 + lam |z|_1.

Coordinate descent with the Gram matrix D D^T, one sample at a time.  After each sweep over all atoms
come sweeps over the non-zeros alone, until these change little.  In the kernels q = D (x - z D).
"""

from functools import partial

import numpy as np

from flyannot.sparse.coders.blocks import LassoProblem, solve_in_blocks
from flyannot.sparse.coders.verified import Coder
from flyannot.sparse.kernels import SUMS, add_multiple, copy, duality_gap_from_correlations, inlined, kernel
from flyannot.sparse.simd.product import gram_matrix, pack_columns

_SUPPORT_PASSES = 20  # most passes over the support between two passes over all atoms
_AT_REST = 1e-3  # fraction of the last full pass's largest change below which the support is at rest


@partial(Coder, positive=True)
def encode_nonnegative(samples, lam, *, tol, max_sweeps, start, gram, n_threads):
    """Compute the best non-negative code of every sample over a fixed dictionary, in float64.

    The parameters and the result are the same as for every other coder, see `Coder`.  `start` is ignored:
    all codes start from zero.

    Source
    ------
    Friedman et al., J. Stat. Softw. 33(1), 2010, with max(., 0) instead of soft thresholding.
    """
    dtype = samples.X.dtype
    samples = samples.to_float64()
    D = samples.D
    problem = LassoProblem(gram_matrix(D), lam, 0.5 * tol, int(max_sweeps))

    def new_scratch():
        return np.empty(len(D)), np.empty(len(D))

    panels = pack_columns(D)
    return solve_in_blocks(samples, panels, None, _encode_rows, problem, new_scratch, n_threads, dtype)


@kernel
def _encode_rows(Q, squares, start, problem, scratch, codes, largest):
    """Solve for the codes of a block of samples, one after the other, each from the zero code.

    Parameters
    ----------
    Q : float64 array (n_samples, n_atoms), X D^T
    squares : float64 array (n_samples,), |x|^2
    start : ignored
    problem : LassoProblem
    scratch : two float64 arrays (n_atoms,), overwritten
    codes : tuple (indptr, indices, data) of a CSR matrix, overwritten with the codes
    largest : float64 array (n_samples,), overwritten
        The largest correlation D (x - z D) of every sample, or inf if the solver did not converge.
    """
    first, atom, value = codes
    first[0] = 0
    for i in range(len(squares)):
        at = first[i]
        n, largest[i] = _encode_row(Q[i], squares[i], problem, scratch, atom[at:], value[at:])
        first[i + 1] = at + n


@kernel
def _encode_row(q0, square, problem, scratch, atoms, values):
    """Solve for the code of one sample by coordinate descent.

    Parameters
    ----------
    q0 : float64 array (n_atoms,), D x
    square : float, |x|^2
    problem : LassoProblem
    scratch : two float64 arrays (n_atoms,), overwritten
    atoms, values : arrays, overwritten with the atoms of the code and their values

    Returns
    -------
    n : int, number of entries of the code
    largest : float
        The largest entry of q = D (x - z D), or inf if the solver did not converge.
    """
    q, z = scratch
    n = 0
    copy(q, q0, len(q))
    z[:] = 0
    for _ in range(problem.max_sweeps):
        n, largest = _list_support(q, z, atoms, values)
        if (
            duality_gap_from_correlations(square, q0, q, atoms, values, n, problem.lam, largest)
            <= problem.goal * square
        ):
            return n, largest
        moved = 0.0
        for j in range(len(z)):
            moved = max(moved, _solve_one(j, q, z, problem))
        n, _ = _list_support(q, z, atoms, values)
        for _ in range(_SUPPORT_PASSES):
            moved_now = 0.0
            for s in range(n):
                moved_now = max(moved_now, _solve_one(atoms[s], q, z, problem))
            if moved_now <= _AT_REST * moved:
                break
    n, _ = _list_support(q, z, atoms, values)
    return n, np.inf


@inlined(fastmath=SUMS)
def _solve_one(j, q, z, problem):
    """Minimise over z[j] >= 0 alone, and update z and q = D (x - z D) in place.

    `problem` holds the Gram matrix D D^T and lam.  Returns |change of z[j]| |d_j|, the distance by which x
    - z D moved.
    """
    a = problem.gram[j, j]
    if a == 0:  # the code of a zero atom stays zero
        return 0.0
    change = max(0.0, q[j] + a * z[j] - problem.lam) / a - z[j]
    if change != 0:
        add_multiple(q, -change, problem.gram[j], len(q))
        z[j] += change
    return abs(change) * np.sqrt(a)


@inlined()
def _list_support(q, z, atoms, values):
    """Write the non-zeros of z to `atoms` and `values`, and return their number and the largest entry of q.

    z and q are arrays (n_atoms,), with q = D (x - z D).
    """
    n, largest = 0, 0.0
    for j in range(len(z)):
        largest = max(largest, q[j])
        if z[j] > 0:
            atoms[n], values[n] = j, z[j]
            n += 1
    return n, largest
