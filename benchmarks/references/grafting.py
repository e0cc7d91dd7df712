"""Grafting: the atom that pulls most joins, then conjugate gradients find the minimum of those in."""

import numpy as np
import scipy.sparse as sp

from flyannot.sparse.kernels import SUMS, add_multiple, copy, kernel

NEAR = 1e-3  # of lam: how much of the slope may be left, which decides time and error
_MOST_STEPS = 20_000  # of conjugate gradients, all atoms of a sample together
_kernel = kernel(fastmath=SUMS)


def grafting(X, D, lam, *, tol=None, start=None):
    """Codes of X over a fixed dictionary, CSR float64 (n_samples, n_atoms).

    Parameters
    ----------
    X : float array (n_samples, n_features)
    D : float array (n_atoms, n_features)
    lam : float > 0, weight of the L1 norm
    tol : nothing; grafting ends where no slope is above lam by more than NEAR of it
    start : CSR matrix (n_samples, n_atoms), optional
        Codes to begin from.

    Source
    ------
    Perkins, Lacker and Theiler, Journal of Machine Learning Research 3, 2003.  A code that reaches zero
    leaves, and the conjugate gradients begin anew.
    """
    X, D = np.asarray(X, np.float64), np.ascontiguousarray(D, np.float64)
    Z = np.zeros((len(X), len(D))) if start is None else np.ascontiguousarray(start.toarray(), np.float64)
    n = len(D)
    work = np.empty((5, n)), np.empty(n, np.int64)
    _graft(X @ D.T, D @ D.T, lam, Z, work)
    return sp.csr_matrix(Z)


@_kernel
def _graft(Q0, gram, lam, Z, work):
    """Every sample separately; Z holds the codes to begin from, and those found."""
    (q, sign, rest, move, bent), atoms = work
    for i in range(len(Q0)):
        n, n_steps = 0, 0
        for k in range(len(gram)):
            if Z[i, k] != 0:
                atoms[n], sign[k] = k, np.sign(Z[i, k])
                n += 1
        while n_steps < _MOST_STEPS:
            n, taken = _conjugate_gradients(Q0[i], gram, lam, Z[i], atoms, n, sign, rest, move, bent)
            n_steps += taken + 1
            worst = _most_pulled(Q0[i], gram, Z[i], atoms, n, q)
            if abs(q[worst]) <= lam * (1 + NEAR):
                break
            atoms[n], sign[worst] = worst, np.sign(q[worst])
            n += 1


@_kernel
def _most_pulled(q0, gram, z, atoms, n, q):
    """The atom of the steepest slope among those that are out."""
    copy(q, q0, len(q))
    for j in range(n):
        add_multiple(q, -z[atoms[j]], gram[atoms[j]], len(q))
    worst, largest = 0, -1.0
    for k in range(len(q)):
        if abs(q[k]) > largest and z[k] == 0:
            worst, largest = k, abs(q[k])
    return worst


@_kernel
def _conjugate_gradients(q0, gram, lam, z, atoms, n, sign, rest, move, bent):
    """Bring the codes that are in to their minimum at these signs; how many stay in, and the steps taken."""
    square, is_new = 0.0, True
    for taken in range(_MOST_STEPS):
        if is_new:
            square = _slope(q0, gram, lam, z, atoms, n, sign, rest)
            copy(move, rest, n)
            is_new = False
        steepest = 0.0
        for j in range(n):
            steepest = max(steepest, abs(rest[j]))
        if steepest <= NEAR * lam:
            return n, taken
        curve = 0.0
        for j in range(n):
            bent[j] = 0.0
            for k in range(n):
                bent[j] += gram[atoms[j], atoms[k]] * move[k]
            curve += move[j] * bent[j]
        length, crossing = square / max(curve, 1e-300), -1
        for j in range(n):
            here = z[atoms[j]]
            if here != 0 and sign[atoms[j]] * (here + length * move[j]) < 0:
                length, crossing = -here / move[j], j
        before, square = square, 0.0
        for j in range(n):
            z[atoms[j]] += length * move[j]
            rest[j] -= length * bent[j]
            square += rest[j] * rest[j]
        if crossing >= 0:
            z[atoms[crossing]] = 0.0
            atoms[crossing] = atoms[n - 1]
            n -= 1
            is_new = True
        else:
            for j in range(n):
                move[j] = rest[j] + square / before * move[j]
    return n, _MOST_STEPS


@_kernel
def _slope(q0, gram, lam, z, atoms, n, sign, rest):
    """Store the way down of every code that is in; returns its squared length."""
    square = 0.0
    for j in range(n):
        rest[j] = q0[atoms[j]] - lam * sign[atoms[j]]
        for k in range(n):
            rest[j] -= gram[atoms[j], atoms[k]] * z[atoms[k]]
        square += rest[j] * rest[j]
    return square
