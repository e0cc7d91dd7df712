"""The lasso of one sample on a few hundred atoms: an active-set method with an updated Cholesky factor.

Throughout, q = q0 - gram z with q0 = D x, and `sign` is +1 or -1 for the atoms of the support and 0 for
all others.  The support stands in `order[:n]`, in the order of the rows of the factor L of its Gram
matrix.  Every move is downhill, for it keeps the signs of the codes that it does not bring to zero.
"""

from typing import NamedTuple

import numpy as np

from flyannot.runtime.compiled import compiled

PIVOT = 1e-11  # an atom nearer to the span of the support than this, squared and relative, lies in it
SLACK = 64.0  # roundings of the largest |q0| that do not count as a breach

_SUMS = {"nnan", "nsz", "contract", "reassoc"}


class Small(NamedTuple):
    """One small problem; n_atoms long unless said, float64."""

    gram: np.ndarray  # (n_atoms, n_atoms)
    q0: np.ndarray
    q: np.ndarray
    z: np.ndarray
    sign: np.ndarray
    order: np.ndarray  # integer
    L: np.ndarray  # (n_atoms, n_atoms), lower triangle
    move: np.ndarray
    lam: float
    square: float  # |x|^2


def small_lasso(gram, q0, square, z, lam):
    """The `Small` problem with gram = D D^T, q0 = D x and square = |x|^2, begun from the codes z."""
    room = np.zeros_like(z), np.empty(len(z), np.int64), np.empty_like(gram), np.empty_like(z)
    return Small(gram, q0, q0 - gram @ z, z, *room, float(lam), square)


@compiled
def solve_small(p, target, max_steps):
    """Lower the objective until the duality gap is at most `target`, or rounding hides all breaches."""
    slack = SLACK * np.finfo(np.float64).eps * np.abs(p.q0).max()
    n, newest = 0, -1
    for k in range(len(p.z)):
        if p.z[k] != 0:
            p.sign[k] = np.sign(p.z[k])
            n = enter(p, k, n)
    for _ in range(max_steps):
        solve_support(p, n)
        place, length = first_zero(p, n, 1.0)
        take_step(p, n, length)
        if place >= 0:
            if p.order[place] == newest and length == 0:  # it entered by rounding only
                leave(p, place, n)
                return
            n = leave(p, place, n)
            continue
        newest = worst_breach(p)
        if newest < 0 or abs(p.q[newest]) <= p.lam + slack or small_gap(p) <= target:
            return
        p.sign[newest] = np.sign(p.q[newest])
        n = enter(p, newest, n)


@compiled
def worst_breach(p):
    """The atom outside the support with the largest |q|, or -1."""
    worst, size = -1, -1.0
    for k in range(len(p.q)):
        if p.sign[k] == 0 and abs(p.q[k]) > size:
            worst, size = k, abs(p.q[k])
    return worst


@compiled
def small_gap(p):
    """The duality gap with no other atoms than these; |r|^2 = |x|^2 - z (q0 + q)."""
    s = p.lam / max(p.lam, np.abs(p.q).max())
    left, mismatch = p.square, 0.0
    for k in range(len(p.q)):
        left -= p.z[k] * (p.q0[k] + p.q[k])
        mismatch += p.lam * abs(p.z[k]) - s * p.z[k] * p.q[k]
    return 0.5 * max(left, 0.0) * (1.0 - s) ** 2 + mismatch


@compiled
def solve_support(p, n):
    """move = the way of the support to its minimum for fixed signs."""
    for i in range(n):
        k = p.order[i]
        p.move[i] = (p.q[k] - p.lam * p.sign[k] - dot(p.L[i], p.move, i)) / p.L[i, i]
    solve_transposed(p, n)


@compiled(fastmath=_SUMS)
def solve_transposed(p, n):
    """Solve L^T move' = move in place."""
    for i in range(n - 1, -1, -1):
        p.move[i] /= p.L[i, i]
        row, change = p.L[i], p.move[i]
        for j in range(i):
            p.move[j] -= change * row[j]


@compiled(fastmath=_SUMS)
def dot(a, b, n):
    """The inner product of the first n entries."""
    total = 0.0
    for k in range(n):
        total += a[k] * b[k]
    return total


@compiled
def first_zero(p, n, length):
    """The place in the support of the first code to reach zero, and how far along `move` that is.

    (-1, length) if none does within `length`.
    """
    place = -1
    for i in range(n):
        k = p.order[i]
        if p.sign[k] * p.move[i] < 0 and -p.z[k] / p.move[i] <= length:
            place, length = i, -p.z[k] / p.move[i]
    return place, length


@compiled(fastmath=_SUMS)
def take_step(p, n, length):
    """z += length move on the support."""
    q = p.q
    for i in range(n):
        k, change = p.order[i], length * p.move[i]
        p.z[k] += change
        row = p.gram[k]
        for j in range(len(q)):
            q[j] -= change * row[j]


@compiled
def enter(p, k, n):
    """Put atom k, whose sign is set, into the support; returns the new size of the support.

    While k lies in the span of the support, the codes move along the combination that leaves the
    residual as it is, to the side on which the L1 norm falls (or the residual lets k in), until one of
    them is zero and leaves.
    """
    while p.sign[k] != 0:
        for i in range(n):
            p.L[n, i] = (p.gram[k, p.order[i]] - dot(p.L[i], p.L[n], i)) / p.L[i, i]
        pivot = p.gram[k, k] - dot(p.L[n], p.L[n], n)
        if pivot > PIVOT * p.gram[k, k]:
            p.L[n, n] = np.sqrt(pivot)
            p.order[n] = k
            return n + 1
        n = exchange(p, k, n)
    return n


@compiled
def exchange(p, k, n):
    """Move along the dependence of atom k until a code is zero; returns the new size of the support."""
    for i in range(n):
        p.move[i] = -p.L[n, i]
    solve_transposed(p, n)
    rise = p.lam * p.sign[k] - p.q[k]
    for i in range(n):
        rise += p.move[i] * (p.lam * p.sign[p.order[i]] - p.q[p.order[i]])
    side = p.sign[k] if p.z[k] == 0 or rise == 0 else -np.sign(rise)
    for i in range(n):
        p.move[i] *= side
    own = -p.z[k] / side if side * p.sign[k] < 0 else np.inf
    place, length = first_zero(p, n, own)
    if length == np.inf:  # rounding: the atom cannot enter
        p.sign[k] = 0.0
        return n
    take_step(p, n, length)
    p.z[k] += length * side
    for j in range(len(p.q)):
        p.q[j] -= length * side * p.gram[k, j]
    if place < 0:
        p.z[k], p.sign[k] = 0.0, 0.0
        return n
    return leave(p, place, n)


@compiled
def leave(p, place, n):
    """Take one code, now zero, out of the support; returns its new size.

    The rows of L below it move up, and rotations of neighbouring columns make them triangular again.
    """
    k = p.order[place]
    p.z[k], p.sign[k] = 0.0, 0.0
    for i in range(place, n - 1):
        p.order[i] = p.order[i + 1]
        p.L[i, : i + 2] = p.L[i + 1, : i + 2]
    for j in range(place, n - 1):
        length = np.hypot(p.L[j, j], p.L[j, j + 1])
        c, s = p.L[j, j] / length, p.L[j, j + 1] / length
        for i in range(j, n - 1):
            a, b = p.L[i, j], p.L[i, j + 1]
            p.L[i, j], p.L[i, j + 1] = c * a + s * b, c * b - s * a
    return n - 1
