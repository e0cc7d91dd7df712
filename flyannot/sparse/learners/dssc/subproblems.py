"""The convex problems that the processors of DSSC solve: one code, or one block of atoms.

The arguments `atoms` and `rates` are those of the kernels beside this file; a block is the atoms from a to b.
"""

import numpy as np

from flyannot.sparse.kernels import SUMS, add_multiple, dot, kernel, shrink

MAX_SWEEPS = 200  # of an exact solve; a bound that only ill-posed problems meet


@kernel(fastmath=SUMS)
def correlate(D, r, q, first, last):
    """q[k] = D[k] r for the atoms from `first` to `last`."""
    for k in range(first, last):
        q[k] = dot(D[k], r, len(r))


@kernel(fastmath=SUMS)
def step_code(D, r, q, z, first, last, lam, curvature):
    """z = prox of lam |.|_1 / c at z + q / c, all entries at once; r = x - zD before and after."""
    for k in range(first, last):
        new = shrink(z[k] + q[k] / curvature, lam / curvature)
        if new != z[k]:
            add_multiple(r, z[k] - new, D[k], len(r))
            z[k] = new


@kernel(fastmath=SUMS)
def solve_code(D, scratch, first, last, lam, tolerance):
    """Coordinate descent on the entries from `first` to `last` until none is off by `tolerance`.

    Sweeps over all of them alternate with sweeps over the support.  q holds squared norms of atoms.
    """
    z, norm2, r, support = scratch.z, scratch.q, scratch.r, scratch.support
    for _ in range(MAX_SWEEPS):
        worst, n_support = r.dtype.type(0), 0
        for k in range(first, last):
            worst = max(worst, _solve_one(D, norm2, z, r, k, lam))
            if z[k] != 0:
                support[n_support] = k
                n_support += 1
        if worst <= tolerance:
            return
        for _ in range(MAX_SWEEPS):
            worst = r.dtype.type(0)
            for e in range(n_support):
                worst = max(worst, _solve_one(D, norm2, z, r, np.int64(support[e]), lam))
            if worst <= tolerance:
                break


@kernel(fastmath=SUMS)
def _solve_one(D, norm2, z, r, k, lam):
    """Minimise over z[k] alone, and keep r; returns the violation of its optimality."""
    a, old, new = norm2[k], z[k], r.dtype.type(0)
    if a > 0:  # a dead atom explains nothing, so its code is zero
        new = shrink(dot(D[k], r, len(r)) + a * old, lam) / a
    if new != old:
        add_multiple(r, old - new, D[k], len(r))
        z[k] = new
    return abs(new - old) * a


@kernel(fastmath=SUMS)
def add_gradient(G, z, r, a, b):
    """Add a sample's gradient in the atoms from a to b, which is -z[k] r, to G."""
    for k in range(a, b):
        if z[k] != 0:
            add_multiple(G[k - a], -z[k], r, len(r))


@kernel(fastmath=SUMS)
def add_square(A, z, a, b):
    for j in range(a, b):
        if z[j] != 0:
            for k in range(a, b):
                A[j - a, k - a] += z[j] * z[k]


@kernel(fastmath=SUMS)
def average_gradient(G, d, a, b, n_samples, rho):
    """d = (1 - rho) d + rho G / n_samples on the block: Eq. 4."""
    one = rho / rho
    weight = rho / d.dtype.type(n_samples)
    for k in range(a, b):
        for f in range(d.shape[1]):
            d[k, f] = (one - rho) * d[k, f] + weight * G[k - a, f]


@kernel(fastmath=SUMS)
def step_atoms(atoms, a, b, rates):
    """Go the share gamma to the projection of D - d / c, c = tau (1 + rho): Eqs. 3 and 5."""
    D, D_next, d = atoms.D, atoms.D_next, atoms.d
    one, p = D.dtype.type(1), D.shape[1]
    step = one / (rates.tau * (one + rates.rho))
    for k in range(a, b):
        for f in range(p):
            D_next[k, f] = D[k, f] - step * d[k, f]
        scale = rates.gamma / max(one, np.sqrt(dot(D_next[k], D_next[k], p)))
        for f in range(p):
            D_next[k, f] = (one - rates.gamma) * D[k, f] + scale * D_next[k, f]


@kernel(fastmath=SUMS)
def solve_atoms(atoms, a, b, A, weight, S, rates):
    """Minimise d S + 1/2 S^T (weight A + tau) S with D + S in the unit ball, and go gamma of the way.

    That is Eq. 3 with the block's own quadratic: rho times the mini-batch's gradient and curvature, and
    (1 - rho) times the past average, whose sum at S = 0 is the new average d.
    """
    D, D_next, d = atoms.D, atoms.D_next, atoms.d
    one, p = D.dtype.type(1), D.shape[1]
    S[: b - a] = 0
    for _ in range(MAX_SWEEPS):
        worst = D.dtype.type(0)
        for k in range(a, b):
            c = weight * A[k - a, k - a] + rates.tau
            for f in range(p):
                D_next[k, f] = -d[k, f] - rates.tau * S[k - a, f]
            for j in range(a, b):
                if A[k - a, j - a] != 0:
                    add_multiple(D_next[k], -weight * A[k - a, j - a], S[j - a], p)
            for f in range(p):
                D_next[k, f] = D[k, f] + S[k - a, f] + D_next[k, f] / c
            scale = one / max(one, np.sqrt(dot(D_next[k], D_next[k], p)))
            for f in range(p):
                new = scale * D_next[k, f] - D[k, f]
                worst = max(worst, abs(new - S[k - a, f]))
                S[k - a, f] = new
        if worst <= rates.atom_tolerance:
            break
    for k in range(a, b):
        for f in range(p):
            D_next[k, f] = D[k, f] + rates.gamma * S[k - a, f]
