"""Conjugate gradients on a penalty without a corner, sum of sqrt(z^2 + epsilon) in the place of |z|."""

import numpy as np
import scipy.sparse as sp

from flyannot.sparse.kernels import SUMS, add_multiple, kernel

EPSILON = 1e-4  # Lee et al. do not give theirs
NEAR = 1e-3  # of lam: how much of the slope may be left
_MOST_STEPS = 2_000
_MOST_HALVINGS = 40  # and Newton steps of one line search
_LINE = 0.1  # of the slope along a line: how much may be left
_kernel = kernel(fastmath=SUMS)


def conjugate_gradients(X, D, lam, *, tol=None, start=None):
    """Codes of X that minimise 1/2 |x - z D|^2 + lam sum sqrt(z^2 + EPSILON): CSR (n_samples, n_atoms).

    Parameters as `benchmarks.references.grafting.grafting`.  No code is zero.

    Source
    ------
    Lee, Battle, Raina and Ng, NIPS 2006, equation 3 and Table 2.  Conjugate gradients of Polak and Ribiere,
    begun anew where they would climb.
    """
    X, D = np.asarray(X, np.float64), np.ascontiguousarray(D, np.float64)
    Z = np.zeros((len(X), len(D))) if start is None else np.ascontiguousarray(start.toarray(), np.float64)
    _descend(X @ D.T, D @ D.T, lam, EPSILON, Z, np.empty((4, len(D))))
    return sp.csr_matrix(Z)


def smooth_objective(X, D, Z, lam):
    """What `conjugate_gradients` minimises, of every sample."""
    Z = Z.toarray()
    return 0.5 * ((X - Z @ D) ** 2).sum(axis=1) + lam * np.sqrt(Z**2 + EPSILON).sum(axis=1)


@_kernel
def _descend(Q0, gram, lam, epsilon, Z, work):
    """Every sample separately; Z holds the codes to begin from, and those found."""
    curved, slope, move, bent = work  # curved = gram z
    m = len(gram)
    for i in range(len(Q0)):
        z, before = Z[i], 0.0
        curved[:] = 0.0
        for k in range(m):
            if z[k] != 0:
                add_multiple(curved, z[k], gram[k], m)
        move[:] = 0.0
        for _ in range(_MOST_STEPS):
            square, turned, steepest = 0.0, 0.0, 0.0
            for k in range(m):
                new = curved[k] - Q0[i, k] + lam * z[k] / np.sqrt(z[k] * z[k] + epsilon)
                turned += new * (new - slope[k])
                square += new * new
                slope[k] = new
                steepest = max(steepest, abs(new))
            if steepest <= NEAR * lam:
                break
            _turn(slope, move, max(0.0, turned / before) if before > 0 else 0.0)
            before = square
            bent[:] = 0.0
            for k in range(m):
                add_multiple(bent, move[k], gram[k], m)
            length = _line_search(Q0[i], curved, bent, move, z, lam, epsilon)
            for k in range(m):
                z[k] += length * move[k]
                curved[k] += length * bent[k]


@_kernel
def _turn(slope, move, share):
    """The next direction; the way down where the conjugate one would climb."""
    climb = 0.0
    for k in range(len(move)):
        move[k] = share * move[k] - slope[k]
        climb += move[k] * slope[k]
    if climb >= 0:
        for k in range(len(move)):
            move[k] = -slope[k]


@_kernel
def _line_search(q0, curved, bent, move, z, lam, epsilon):
    """The length at which the slope along the line is nearly gone, by Newton steps between safe ends."""
    low, high, length, first = 0.0, np.inf, 0.0, 0.0
    for step in range(_MOST_HALVINGS):
        slope, bend = 0.0, 0.0
        for k in range(len(z)):
            here = z[k] + length * move[k]
            square = here * here + epsilon
            root = np.sqrt(square)
            slope += move[k] * (curved[k] + length * bent[k] - q0[k] + lam * here / root)
            bend += move[k] * (bent[k] + lam * epsilon * move[k] / (square * root))
        if step == 0:
            first = abs(slope)
        elif abs(slope) <= _LINE * first:
            break
        if slope < 0:
            low = length
        else:
            high = length
        length -= slope / bend
        if not low < length < high:
            length = 0.5 * (low + high) if high < np.inf else 2 * low + 1e-12
    return length
