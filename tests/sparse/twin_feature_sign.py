"""Algorithm 1 of Lee et al. 2006 written out: no factor, every objective from its definition."""

import numpy as np


def slow_objective(x, D, z, lam):
    """1/2 |x - z D|^2 + lam |z|_1."""
    return 0.5 * ((x - z @ D) ** 2).sum() + lam * np.abs(z).sum()


def slow_feature_sign_path(x, D, lam, z, rounding=1e-10):
    """The code before the search from z and after every feature-sign step, (n_steps + 1, n_atoms).

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
    """The best of the closed form for these signs and of all zero crossings on the way to it."""
    Da = D[active]
    end = np.zeros_like(z)
    end[active] = np.linalg.solve(Da @ Da.T, Da @ x - lam * signs[active])
    points = [end]
    for k in np.flatnonzero(z * end < 0):
        length = z[k] / (z[k] - end[k])
        points.append(z + length * (end - z))
        points[-1][k] = 0.0
    return min(points, key=lambda point: slow_objective(x, D, point, lam))
