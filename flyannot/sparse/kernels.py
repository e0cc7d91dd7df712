"""Compiled functions that several solvers of the lasso share.

They minimise 1/2 |x - z D|^2 + lam |z|_1 over the code z of a sample x.  q = D (x - z D) are the
correlations of the atoms with the residual r = x - z D.
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
    """Return `value` moved towards 0 by `threshold`, at most to 0: soft thresholding.

    This is the minimiser over z of 1/2 (z - value)^2 + threshold |z|.
    """
    if abs(value) > threshold:  # a branch on the sign would be unpredictable
        return value - math.copysign(threshold, value)
    return value - value  # zero, in the type of `value`


@inlined(fastmath=SUMS)
def dot(a, b, n):
    """Return the inner product of the first n entries of the vectors a and b."""
    total = b.dtype.type(0)
    for k in range(n):
        total += a[k] * b[k]
    return total


@inlined(fastmath=SUMS)
def add_multiple(target, factor, source, n):
    """Compute target[:n] += factor * source[:n] in place."""
    for k in range(n):
        target[k] += factor * source[k]


@inlined()
def copy(target, source, n):
    """Copy source[:n] to target[:n] in a loop, because assigning slices would make a temporary copy."""
    for k in range(n):
        target[k] = source[k]


@kernel(fastmath=SUMS)
def sum_squares(X, squares):
    """Compute the squared norm of every row of a matrix X in float64, and store it in `squares`.

    An entry is not finite if its row has an entry that is not finite.
    """
    for i in range(len(X)):
        total = 0.0
        for j in range(X.shape[1]):
            total += np.float64(X[i, j]) * np.float64(X[i, j])
        squares[i] = total


@kernel
def read_start_code(start, row, gram, atoms, codes):
    """Copy the start code of a sample from a CSR matrix, and return the number of its entries.

    Entries that are zero, or that belong to atoms of norm 0, are skipped.

    Parameters
    ----------
    start : tuple (indptr, indices, data) of the CSR matrix (n_samples, n_atoms)
    row : int
        Index of the sample.
    gram : array (n_atoms, n_atoms), D D^T
    atoms, codes : arrays
        Overwritten from entry 0 on with the numbers of the atoms and their values.
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
    """Count the rounds since the duality gap of a solver last halved, to detect whether it stagnates.

    Parameters
    ----------
    gap : float
        The gap after this round.
    best : float
        The gap when it last halved.
    n_rounds : int
        Rounds since then, before this round.

    Returns
    -------
    best, n_rounds : the same two quantities after this round
    """
    if gap <= 0.5 * best:
        best, n_rounds = gap, -1
    return best, n_rounds + 1


@inlined(fastmath=SUMS)
def duality_gap_from_sums(rest, l1, fit, largest, lam):
    """Return the duality gap of a code z from four sums over the residual r = x - z D and q = D r.

    Parameters
    ----------
    rest : float, |r|^2
    l1 : float, |z|_1
    fit : float, the inner product of z and q
    largest : float, the largest |q_k| of all atoms
    lam : float, weight of the L1 norm
    """
    c = lam / largest if largest > lam else 1.0
    return 0.5 * rest * (1.0 - c) ** 2 + lam * l1 - c * fit


@kernel
def duality_gap_from_correlations(square, q0, q, places, z, n, lam, largest):
    """Return the duality gap of a code z with n entries, from the correlations of its atoms.

    With c = min(1, lam / largest) and |r|^2 = |x|^2 - z (q0 + q) it is

        1/2 |r|^2 (1 - c)^2 + sum over k of lam |z_k| - c z_k q_k.

    Near the minimum every term is small, so no large terms cancel.

    Parameters
    ----------
    square : float, |x|^2
    q0, q : arrays, D x and D (x - z D)
    places : int array
        q0[places[i]] and q[places[i]] belong to the i-th entry of the code.
    z : array, the entries of the code
    n : int, number of entries
    lam : float, weight of the L1 norm
    largest : float, the largest |q_k| of all atoms
    """
    c = lam / largest if largest > lam else 1.0
    residual_square, mismatch = float(square), 0.0
    for i in range(n):
        k, value = places[i], z[i]
        residual_square -= value * (q0[k] + q[k])
        mismatch += lam * abs(value) - c * value * q[k]
    return 0.5 * max(residual_square, 0.0) * (1.0 - c) ** 2 + mismatch
