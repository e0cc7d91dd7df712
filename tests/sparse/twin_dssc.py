"""A slow twin of DSSC in plain dense float64.

Gradients are matrix products, and exact solves are by proximal gradient.  Koppel et al., ICASSP 2018, Eqs.
2 to 5, in the project's scale and with one code for every sample.
"""

import numpy as np

from tests.sparse.twins import soft


def into_ball(D):
    """Project every atom onto the unit ball."""
    return D / np.maximum(1.0, np.linalg.norm(D, axis=1, keepdims=True))


def fixed_point(step, start):
    """Repeat a contraction until it stops moving."""
    for _ in range(100_000):
        moved = step(start)
        if abs(moved - start).max(initial=0.0) < 1e-13:
            break
        start = moved
    return moved


class TwinDSSC:
    """One run of DSSC; `iterate` is one iteration of all processors."""

    def __init__(self, D, n_samples, lam, *, surrogate, tau):
        self.D, self.Z = np.array(D, np.float64), np.zeros((n_samples, len(D)))
        self.d = np.zeros_like(self.D)
        self.lam, self.surrogate, self.tau = lam, surrogate, tau

    def iterate(self, X, mini_batches, blocks, rho, gamma, curvature):
        """Run one iteration.

        mini_batches : rows of X for every processor
        blocks : atoms of every processor, (first, last)
        """
        D_old, Z_old = self.D.copy(), self.Z.copy()  # what all processors read
        for rows, block in zip(mini_batches, blocks):
            if len(rows):
                atoms = slice(*block)
                x_rows, Z = X[rows], Z_old[rows]
                solve = self.proximal if self.surrogate == "proximal" else self.exact
                self.Z[rows], self.D[atoms] = solve(x_rows, Z, D_old, atoms, (rho, gamma, curvature))

    def average(self, X, Z, D, atoms, rho):
        gradient = Z[:, atoms].T @ (Z @ D - X) / len(X)
        self.d[atoms] = (1 - rho) * self.d[atoms] + rho * gradient
        return self.d[atoms]

    def proximal(self, X, before, D, atoms, rates):
        rho, gamma, c = rates
        Z = before.copy()
        Z[:, atoms] = soft(before + (X - before @ D) @ D.T / c, self.lam / c)[:, atoms]
        d = self.average(X, before, D, atoms, rho)
        best = into_ball(D[atoms] - d / (self.tau * (1 + rho)))
        return Z, (1 - gamma) * D[atoms] + gamma * best

    def exact(self, X, Z, D, atoms, rates):
        rho, gamma, _ = rates
        c = 1.01 * np.linalg.norm(D, 2) ** 2
        correlation = X @ D.T / c
        gram = D @ D.T / c
        Z = fixed_point(lambda Z: soft(Z + correlation - Z @ gram, self.lam / c), Z)
        past = self.d[atoms].copy()
        self.average(X, Z, D, atoms, rho)
        L = rho * np.linalg.norm(Z[:, atoms], 2) ** 2 / len(X) + self.tau

        def atom_step(Di):  # a gradient step on Eq. 3 as printed, with f itself as the surrogate
            whole = D.copy()
            whole[atoms] = Di
            gradient = rho * Z[:, atoms].T @ (Z @ whole - X) / len(X)
            gradient += (1 - rho) * past + self.tau * (Di - D[atoms])
            return into_ball(Di - gradient / L)

        return Z, (1 - gamma) * D[atoms] + gamma * fixed_point(atom_step, D[atoms])
