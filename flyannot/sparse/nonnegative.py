"""Codes that are not negative: the minimum over z >= 0 of 1/2 |x - z D|^2 + lam |z|_1.

Coordinate descent with the Gram matrix, one sample after the other: a pass over all atoms, then passes over
the support until that is at rest.  q = D (x - z D) throughout.
"""

from functools import partial

import numpy as np

from flyannot.sparse.coders.blocks import LassoProblem, solve_in_blocks
from flyannot.sparse.coders.verified import Coder
from flyannot.sparse.kernels import SUMS, add_multiple, copy, gap_from_correlations, inlined, kernel
from flyannot.sparse.simd.product import gram_of, pack_columns

_SUPPORT_PASSES = 20  # most in a row: then all atoms are looked at again
_AT_REST = 1e-3  # of the largest change in a pass over all atoms: less in one over the support ends these


@partial(Coder, positive=True)
def encode_nonnegative(samples, lam, *, tol, max_sweeps, start, gram, n_threads):
    """Codes of X over a fixed dictionary, none of them below zero, in float64.

    Parameters and result are those of every coder (`flyannot.sparse.coders`); it always begins from zero.

    Source
    ------
    Friedman et al., J. Stat. Softw. 33(1), 2010, with max(., 0) in the place of soft thresholding.
    """
    dtype, samples = samples.X.dtype, samples.to_float64()
    D = samples.D
    problem = LassoProblem(gram_of(D), lam, 0.5 * tol, int(max_sweeps))

    def new_scratch():
        return np.empty(len(D)), np.empty(len(D))

    panels = pack_columns(D)
    return solve_in_blocks(samples, panels, None, _encode_rows, problem, new_scratch, n_threads, dtype)


@kernel
def _encode_rows(Q, squares, start, problem, scratch, codes, largest):
    """Solve one sample after the other, from zero; as `flyannot.sparse.coders.blocks` calls it."""
    first, atom, value = codes
    first[0] = 0
    for i in range(len(squares)):
        at = first[i]
        n, largest[i] = _encode_row(Q[i], squares[i], problem, scratch, atom[at:], value[at:])
        first[i + 1] = at + n


@kernel
def _encode_row(q0, square, problem, scratch, atoms, values):
    """Leave the code in `atoms` and `values`; returns its size, and the largest q or inf."""
    (q, z), n = scratch, 0
    copy(q, q0, len(q))
    z[:] = 0
    for _ in range(problem.max_sweeps):
        n, largest = _list_support(q, z, atoms, values)
        if (
            gap_from_correlations(square, q0, q, atoms, values, n, problem.lam, largest)
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
    """Minimise over z[j] alone, and keep q; returns how far that moved."""
    a = problem.gram[j, j]
    if a == 0:  # a zero atom explains nothing
        return 0.0
    change = max(0.0, q[j] + a * z[j] - problem.lam) / a - z[j]
    if change != 0:
        add_multiple(q, -change, problem.gram[j], len(q))
        z[j] += change
    return abs(change) * np.sqrt(a)


@inlined()
def _list_support(q, z, atoms, values):
    """List the codes that are not zero; returns their number and the largest q."""
    n, largest = 0, 0.0
    for j in range(len(z)):
        largest = max(largest, q[j])
        if z[j] > 0:
            atoms[n], values[n] = j, z[j]
            n += 1
    return n, largest
