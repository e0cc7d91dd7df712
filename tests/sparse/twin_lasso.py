"""Slow, plain solvers to compare against: nothing here is clever, and all of it is float64."""

import numpy as np


def slow_lasso(x, D, lam, n_sweeps=20_000):
    """The code of one sample by cyclic coordinate descent, run until no code moves beyond rounding."""
    z = np.zeros(len(D))
    for _ in range(n_sweeps):
        before = z.copy()
        for k, atom in enumerate(D):
            square = atom @ atom
            if square == 0:
                continue
            z[k] = 0.0
            wanted = atom @ (x - z @ D)
            z[k] = np.sign(wanted) * max(abs(wanted) - lam, 0.0) / square
        if np.abs(z - before).max() <= 1e-15 * np.abs(z).max():
            break
    return z


def slow_codes(X, D, lam):
    """`slow_lasso` of every sample."""
    return np.array([slow_lasso(x, D, lam) for x in X]).reshape(len(X), len(D))


def slow_objective(x, D, z, lam):
    """1/2 |x - z D|^2 + lam |z|_1 of one sample, term by term."""
    fit = sum(z_k * atom for z_k, atom in zip(z, D))
    return 0.5 * sum((x - fit) ** 2) + lam * sum(abs(z_k) for z_k in z)


def projected_gradient_dictionary(X, D, Z, n_steps=20_000):
    """D that minimises 1/2 |X - Z D|^2 over atoms in the unit ball, by projected gradient."""
    A, B = Z.T @ Z, Z.T @ X
    step = 1 / np.linalg.eigvalsh(A).max()
    for _ in range(n_steps):
        D = D - step * (A @ D - B)
        D = D / np.maximum(1, np.linalg.norm(D, axis=1, keepdims=True))
    return D
