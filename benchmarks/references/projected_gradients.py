"""Gradient descent for the bases: what Lee et al. compare the Lagrange dual with, plain and accelerated."""

import numpy as np


def gradient_steps(A, B, D, *, accelerated):
    """The dictionaries (n_atoms, n_features) of one step of 1/L after the other, each atom in the unit ball.

    They minimise 1/2 tr D^T A D - tr D^T B from D; `accelerated` adds Nesterov's momentum, begun anew where
    it points uphill.

    Source
    ------
    Beck and Teboulle, SIAM J. Imaging Sciences 2(1), 2009; O'Donoghue and Candes, Foundations of
    Computational Mathematics 15, 2015 (the restart).
    """
    step, ahead, t = 1 / max(np.linalg.eigvalsh(A)[-1], 1e-300), D, 1.0
    while True:
        new = ahead - step * (A @ ahead - B)
        new /= np.maximum(1.0, np.linalg.norm(new, axis=1, keepdims=True))
        if accelerated:
            if np.vdot(ahead - new, new - D) > 0:
                t = 1.0
            faster = (1 + np.sqrt(1 + 4 * t * t)) / 2
            ahead, t = new + (t - 1) / faster * (new - D), faster
        else:
            ahead = new
        D = new
        yield D
