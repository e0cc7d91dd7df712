"""Compiled functions that several solvers call.

q = D (x - z D) are the correlations of the atoms with the residual r = x - z D.
"""

import math
from functools import partial

import numpy as np

from flyannot.jobs.compiled import compiled

kernel = partial(compiled, error_model="numpy")
inlined = partial(kernel, forceinline=True)

# Sums may be computed in any order, so that they use vector instructions.  Bits depend on the processor, and
# never on the other samples.
SUMS = {"nsz", "contract", "reassoc"}
MAXIMA = {"nnan", "nsz"}  # a maximum may be computed in any order, too


@compiled(inline="always")
def soft_threshold(value, threshold):
    """Return the minimiser over z of 1/2 (z - value)^2 + threshold |z|: soft thresholding."""
    if abs(value) > threshold:  # a branch on the sign would be unpredictable
        return value - math.copysign(threshold, value)
    return value - value  # zero, in the type of `value`


@inlined(fastmath=SUMS)
def dot(a, b, n):
    """Return the inner product of the first n entries."""
    total = b.dtype.type(0)
    for k in range(n):
        total += a[k] * b[k]
    return total


@inlined(fastmath=SUMS)
def add_multiple(target, factor, source, n):
    """Add factor times the first n entries of source to target."""
    for k in range(n):
        target[k] += factor * source[k]


@inlined()
def copy(target, source, n):
    """Copy the first n entries of source to target; an assignment of arrays would make a temporary copy."""
    for k in range(n):
        target[k] = source[k]


@kernel(fastmath=SUMS)
def sum_squares(X, squares):
    """Store |X[i]|^2 of every row in `squares`, in float64; it is not finite if X[i] is not."""
    for i in range(len(X)):
        total = 0.0
        for j in range(X.shape[1]):
            total += np.float64(X[i, j]) * np.float64(X[i, j])
        squares[i] = total


@kernel
def read_start_code(start, row, gram, atoms, codes):
    """Copy the start code of a sample to `atoms` and `codes`, except entries on zero atoms; return its size.

    Parameters
    ----------
    start : (first, atom, value), the arrays of a CSR matrix
    row : int, the row of the sample in it
    gram : float array (n_atoms, n_atoms), whose diagonal is zero for zero atoms
    """
    first, atom, value = start
    n = 0
    for j in range(first[row], first[row + 1]):
        if value[j] != 0 and gram[atom[j], atom[j]] > 0:
            atoms[n], codes[n] = atom[j], value[j]
            n += 1
    return n


@inlined()
def track_gap(gap, best, n_rounds):
    """Track how fast a duality gap falls: return the gap when it last halved, and the rounds since then.

    gap : float, the present gap; best, n_rounds : what this function returned before
    """
    if gap <= 0.5 * best:
        best, n_rounds = gap, -1
    return best, n_rounds + 1


@inlined(fastmath=SUMS)
def gap_from_sums(rest, l1, fit, largest, lam):
    """Return the duality gap of a code.

    Parameters
    ----------
    rest : float, |r|^2 of the residual r
    l1 : float, |z|_1
    fit : float, z q
    largest : float, the largest |q| of all atoms
    lam : float
    """
    c = lam / largest if largest > lam else 1.0
    return 0.5 * rest * (1.0 - c) ** 2 + lam * l1 - c * fit


@kernel
def gap_from_correlations(square, q0, q, places, z, n, lam, largest):
    """Return the duality gap of a code of n atoms.

    Parameters
    ----------
    square : |x|^2
    q0, q : D x and D (x - z D)
        Entry `places[i]` belongs to the i-th atom of the code.
    z : the code
    lam : weight of the L1 norm
    largest : the largest |q| of all atoms

    With c = min(1, lam / largest) and x r = |r|^2 + z q, the gap is

        1/2 |r|^2 (1 - c)^2 + sum of lam |z_k| - c z_k q_k.

    Near the minimum every term is small, so no large terms cancel.
    """
    c = lam / largest if largest > lam else 1.0
    residual_square, mismatch = float(square), 0.0
    for i in range(n):
        k, value = places[i], z[i]
        residual_square -= value * (q0[k] + q[k])
        mismatch += lam * abs(value) - c * value * q[k]
    return 0.5 * max(residual_square, 0.0) * (1.0 - c) ** 2 + mismatch
