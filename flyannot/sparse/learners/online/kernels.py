"""Kernels of the online learners (OL and MODL): the dictionary pass, and atoms scaled lazily.

Atoms and B are stored feature by feature: F (n_features, n_atoms).  A mask is then a few whole rows.
Atom k is F[:, k] / scale[k].  A mask changes some entries of an atom; where the norm of the whole then
passes 1, the others shrink by the same factor, and only `scale` takes note of it.
"""

import numpy as np

from flyannot.sparse.kernels import SUMS, add_multiple, kernel

# The balls that atoms are kept in, and how.
L2_LAZY = 0  # the whole atom onto the l2 ball: entries outside the mask shrink too, by way of `scale`
L2_WITHIN = 1  # the entries of the mask alone, with the others as they are, into the l2 ball
L1_WITHIN = 2  # the same for the l1 ball

BLOCK = 16  # atoms that share one product D A; more of them would leave the cache

TILE = 512  # features of one atom that are worked on at once


@kernel(fastmath=SUMS)
def update_block(R, D, B, A, first, visit, outside, ball, growth, buffers):
    """Re-solve the atoms first + visit[0], first + visit[1], ... once each; there is at least one.

    On entry B' - R is the residual (B - D A)' of the atoms from `first` on; inside, R is, for all atoms
    still to come: an atom moves by its row of R over its entry of the diagonal of A and is projected,
    and R follows.  `outside` is what every atom has outside the mask: squared norm, or l1 norm for
    L1_WITHIN.  `growth` gets the factor by which the atom's other entries shrink, `moved` (of `buffers`) how
    the masked ones change.
    """
    moved, atoms, u = buffers
    for i in range(len(D)):
        for l in range(len(R)):
            R[l, i] = B[i, first + l] - R[l, i]
            atoms[l, i] = D[i, first + l]
    propose(u, atoms[visit[0]], R[visit[0]], A[first + visit[0], first + visit[0]])
    for t in range(len(visit)):
        k = first + visit[t]
        growth[k] = project(u, outside[k], ball)
        follow(R, atoms, u, A[k, first:], A, first, visit[t:])
    for i in range(len(D)):
        for l in range(len(R)):
            moved[l, i] = atoms[l, i] - D[i, first + l]
            D[i, first + l] = atoms[l, i]


@kernel
def follow(R, atoms, u, a, A, first, visit):
    """Put u in place of atom visit[0], whose row of A is `a`; R follows; u becomes the next proposal."""
    after = visit[min(1, len(visit) - 1)]
    for start in range(0, len(u), TILE):
        tile = slice(start, min(start + TILE, len(u)))
        swap_in(u[tile], atoms[visit[0], tile])
        for l in visit[1:]:
            add_multiple(R[l, tile], -a[l], u[tile], tile.stop - start)
        propose(u[tile], atoms[after, tile], R[after, tile], A[first + after, first + after])


@kernel(fastmath=SUMS)
def swap_in(u, atom):
    """Put u in place of the atom, and how it moved in place of u."""
    for i in range(len(u)):
        new = u[i]
        u[i] = new - atom[i]
        atom[i] = new


@kernel(fastmath=SUMS)
def propose(u, atom, r, curvature):
    """u = where the atom goes before it is projected."""
    step = u.dtype.type(1 / curvature)
    for i in range(len(u)):
        u[i] = atom[i] + step * r[i]


@kernel
def project(u, outside, ball):
    """Project an atom, whose masked entries are u, in place; returns how much its other entries shrink."""
    if ball == L2_LAZY:
        norm = np.sqrt(outside + mass(u, ball))
        if norm > 1:
            multiply(u, u.dtype.type(1 / norm))
            return norm
    elif ball == L2_WITHIN:
        inside, left = mass(u, ball), max(1 - outside, 0.0)
        if inside > left:
            multiply(u, u.dtype.type(np.sqrt(left / inside)))
    else:
        project_l1(u, max(1 - outside, 0.0))
    return 1.0


@kernel(fastmath=SUMS)
def mass(u, ball):
    """The squared norm of u, or its l1 norm for the l1 ball."""
    total = 0.0
    if ball == L1_WITHIN:
        for i in range(len(u)):
            total += abs(u[i])
    else:
        for i in range(len(u)):
            total += np.float64(u[i]) * u[i]
    return total


@kernel(fastmath=SUMS)
def multiply(u, factor):
    """Scale u in place."""
    for i in range(len(u)):
        u[i] *= factor


@kernel
def project_l1(u, radius):
    """Project u onto the l1 ball in place: all entries move towards zero by one threshold.

    The entries above the threshold decide it; it rises until none of them drops out.
    """
    if mass(u, L1_WITHIN) <= radius:
        return
    threshold, n_left = 0.0, -1
    while True:
        total, n_above = 0.0, 0
        for i in range(len(u)):
            if abs(u[i]) > threshold:
                total += abs(u[i])
                n_above += 1
        if n_above == n_left or n_above == 0:
            break
        threshold, n_left = (total - radius) / n_above, n_above
    for i in range(len(u)):
        size = max(abs(u[i]) - threshold, 0.0)
        u[i] = size if u[i] > 0 else -size


@kernel(fastmath=SUMS)
def masses(D, ball, inside):
    """The squared norm of every column of D, or its l1 norm for the l1 ball."""
    inside[:] = 0.0
    for i in range(len(D)):
        if ball == L1_WITHIN:
            for k in range(len(inside)):
                inside[k] += abs(D[i, k])
        else:
            for k in range(len(inside)):
                inside[k] += np.float64(D[i, k]) * D[i, k]
