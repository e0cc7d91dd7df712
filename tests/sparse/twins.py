"""Slow, plain solvers to compare with, all in float64.

They are the lasso of one sample, feature-sign search, the best dictionary for given codes, and the product
X D^T in exact fractions.  Feature-sign search follows Algorithm 1 of Lee et al. 2006, with no factor, and
with every objective from its definition.
"""

import math
from fractions import Fraction

import numpy as np


def soft(b, lam):
    """Return the soft thresholding of an array: what its projection onto [-lam, lam] leaves."""
    return b - np.minimum(np.maximum(b, -lam), lam)


def soft_number(b, lam):
    """Return the soft thresholding of a number, ten times as quickly as `soft`."""
    return math.copysign(max(abs(b) - lam, 0.0), b)


def slow_lasso(x, D, lam, n_sweeps=20_000, *, positive=False):
    """Return the code of one sample by cyclic coordinate descent, until no code moves beyond rounding."""
    z = np.zeros(len(D))
    atoms = [(k, atom, float(atom @ atom)) for k, atom in enumerate(D) if atom.any()]
    for _ in range(n_sweeps):
        before = z.copy()
        for k, atom, square in atoms:
            z[k] = 0.0
            best = soft_number(atom @ (x - z @ D), lam) / square
            z[k] = max(best, 0.0) if positive else best
        if np.abs(z - before).max() <= 1e-15 * np.abs(z).max():
            break
    return z


def slow_codes(X, D, lam):
    """Return the `slow_lasso` of every sample."""
    return np.array([slow_lasso(x, D, lam) for x in X]).reshape(len(X), len(D))


def slow_pursuit(X, D, n_nonzeros):
    """Return codes by orthogonal matching pursuit, each step from its definition; atoms of norm 0 or more."""
    Z = np.zeros((len(X), len(D)))
    norms = np.maximum(np.linalg.norm(D, axis=1), 1e-300)
    for x, z in zip(X, Z):
        chosen = []
        for _ in range(n_nonzeros if x.any() else 0):
            chosen.append(int(np.abs(D @ (x - z @ D) / norms).argmax()))
            z[chosen] = np.linalg.lstsq(D[chosen].T, x)[0]
    return Z


def slow_objective(x, D, z, lam):
    """Return 1/2 |x - z D|^2 + lam |z|_1 of one sample, term by term."""
    fit = sum(z_k * atom for z_k, atom in zip(z, D))
    return 0.5 * sum((x - fit) ** 2) + lam * sum(abs(z_k) for z_k in z)


def slow_feature_sign_path(x, D, lam, z, rounding=1e-10):
    """Return the code before the search from z and after every feature-sign step, (n_steps + 1, n_atoms).

    Active atoms must not depend on one another: fewer than n_features, in general position.
    """
    path = [np.array(z, float)]
    for _ in range(1000):
        z = path[-1]
        q = D @ (x - z @ D)
        signs = np.sign(z)
        is_active = z != 0
        if np.abs(q - lam * signs)[is_active].max(initial=0.0) <= rounding:  # their condition (a)
            outside = np.where(is_active, 0.0, np.abs(q))
            entrant = outside.argmax()
            if outside[entrant] <= lam + rounding:  # their condition (b)
                return np.array(path)
            is_active[entrant], signs[entrant] = True, np.sign(q[entrant])
        path.append(_step(x, D, lam, z, np.flatnonzero(is_active), signs))
    raise AssertionError("1000 steps did not end the search")


def _step(x, D, lam, z, active, signs):
    """Return the best of the closed form for these signs and of all zero crossings on the way to it."""
    Da = D[active]
    end = np.zeros_like(z)
    end[active] = np.linalg.solve(Da @ Da.T, Da @ x - lam * signs[active])
    points = [end]
    for k in np.flatnonzero(z * end < 0):
        length = z[k] / (z[k] - end[k])
        points.append(z + length * (end - z))
        points[-1][k] = 0.0
    return min(points, key=lambda point: slow_objective(x, D, point, lam))


def slow_bases(A, B, c, n_steps=100_000):
    """Minimise 1/2 tr D^T A D - tr D^T B over atoms with |d_i|^2 <= c, by accelerated projected gradients.

    The momentum is reset if it points uphill.
    """
    D = ahead = np.zeros_like(B)
    step, t = 1 / np.linalg.eigvalsh(A)[-1], 1.0
    for _ in range(n_steps):
        nearer = _project(ahead - step * (A @ ahead - B), c)
        if np.vdot(ahead - nearer, nearer - D) > 0:
            t = 1.0
        t_next = (1 + np.sqrt(1 + 4 * t**2)) / 2
        move = nearer - D
        D, ahead, t = nearer, nearer + (t - 1) / t_next * move, t_next
        if np.abs(move).max() < 1e-15:
            break
    return D


def _project(D, c):
    norms = np.linalg.norm(D, axis=1, keepdims=True)
    return D * np.minimum(1.0, np.sqrt(c) / np.maximum(norms, 1e-300))


def slow_product(X, D, part):
    """Return chains over the features in rising order, `part` at a time.

    The sums of the parts are added in order.
    """
    kind = X.dtype.type
    Q = np.zeros((len(X), len(D)), kind)
    for i, x in enumerate(X):
        for k, d in enumerate(D):
            for first in range(0, len(x), part):
                chain = kind(0)
                for j in range(first, min(first + part, len(x))):
                    chain = fused(x[j], d[j], chain)
                Q[i, k] = Q[i, k] + chain if first else chain
    return Q


def fused(a, b, c):
    """Return a b + c, rounded once to the type of c."""
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    near = float(exact)
    if c.dtype == np.float32 and Fraction(near) != exact and np.float64(near).view(np.int64) % 2 == 0:
        # Rounded to odd, a float64 tells on which side of any float32, or middle of two, the number lies.
        near = math.nextafter(near, math.inf if exact > near else -math.inf)
    return c.dtype.type(near)
