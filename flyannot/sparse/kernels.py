"""Kernels that more than one solver calls."""

import math
from functools import partial

import numpy as np

from flyannot.jobs.compiled import compiled

kernel = partial(compiled, error_model="numpy")
inlined = partial(kernel, forceinline=True)

# Sums may be taken in any order, as vector code does: bits depend on the processor, never on what else is
# worked on.
SUMS = {"nsz", "contract", "reassoc"}
MAXIMA = {"nnan", "nsz"}  # the same for a maximum


@compiled(inline="always")
def soft_threshold(value, threshold):
    """The minimiser over z of 1/2 (z - value)^2 + threshold |z|: soft thresholding."""
    if abs(value) > threshold:  # one branch, and none on the sign, which no processor can predict
        return value - math.copysign(threshold, value)
    return value - value  # zero, in the type of `value`


@inlined(fastmath=SUMS)
def dot(a, b, n):
    """The inner product of the first n entries."""
    total = b.dtype.type(0)
    for k in range(n):
        total += a[k] * b[k]
    return total


@inlined(fastmath=SUMS)
def add_multiple(target, factor, source, n):
    """target += factor source, the first n entries."""
    for k in range(n):
        target[k] += factor * source[k]


@inlined()
def copy(target, source, n):
    """target = source, the first n entries; an assignment of arrays would make a temporary copy."""
    for k in range(n):
        target[k] = source[k]


@kernel(fastmath=SUMS)
def sum_squares(X, squares):
    """squares[i] = |X[i]|^2 in float64; not finite where X[i] is not."""
    for i in range(len(X)):
        total = 0.0
        for j in range(X.shape[1]):
            total += np.float64(X[i, j]) * np.float64(X[i, j])
        squares[i] = total


@kernel
def read_start_code(start, row, gram, atoms, codes):
    """Copy the code of a sample to begin from, but for what lies on zero atoms; returns its size.

    start : (first, atom, value), the arrays of a CSR matrix
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
    """The gap when it last halved, and the rounds since, from those of the round before."""
    if gap <= 0.5 * best:
        best, n_rounds = gap, -1
    return best, n_rounds + 1


@inlined(fastmath=SUMS)
def gap_from_sums(rest, l1, fit, largest, lam):
    """The duality gap of a code from |r|^2, |z|_1, z q and the largest |q| of all atoms."""
    c = lam / largest if largest > lam else 1.0
    return 0.5 * rest * (1.0 - c) ** 2 + lam * l1 - c * fit


@kernel
def gap_from_correlations(square, q0, q, places, z, n, lam, largest):
    """The duality gap of a code of n atoms, from correlations.

    Parameters
    ----------
    square : |x|^2
    q0, q : D x and D (x - z D); entry `places[i]` is that of the i-th atom of the code
    z : the code
    lam : weight of the L1 norm
    largest : the largest |q| of all atoms

    With c = min(1, lam / largest) it is 1/2 |r|^2 (1 - c)^2 + sum of lam |z_k| - c z_k q_k, because
    x r = |r|^2 + z q.  Near the minimum every term is small: no large ones cancel.
    """
    c = lam / largest if largest > lam else 1.0
    residual_square, mismatch = float(square), 0.0
    for i in range(n):
        k, value = places[i], z[i]
        residual_square -= value * (q0[k] + q[k])
        mismatch += lam * abs(value) - c * value * q[k]
    return 0.5 * max(residual_square, 0.0) * (1.0 - c) ** 2 + mismatch
