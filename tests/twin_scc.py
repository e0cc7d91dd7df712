"""SCC as the paper writes it, one coordinate at a time in plain Python: slow, obvious, float64.

Lin et al., KDD 2014, Algorithm 1 with the projection of Eq. 4; `released` follows the table of
differences between the paper and the authors' program.
"""

import numpy as np


def soft(b, lam):
    return np.sign(b) * max(abs(b) - lam, 0.0)


class TwinSCC:
    """One object is one run; `epoch` visits the samples `order` of X once."""

    def __init__(self, D, n_samples, lam, variant, n_sweeps=3, forgetting=1.0, max_step=np.inf):
        self.D = np.array(D, np.float64)
        self.Z = np.zeros((n_samples, len(D)))
        self.h_past = np.zeros(len(D))
        self.lam, self.variant, self.n_sweeps = lam, variant, n_sweeps
        self.forgetting, self.max_step = forgetting, max_step
        self.objectives_of_sweeps = []  # P(z) before the first sweep of a visit and after each

    def epoch(self, X, order, sweep_orders):
        self.h_now = np.zeros(len(self.D))
        for t, i in enumerate(order):
            self.visit(np.asarray(X[i], np.float64), self.Z[i], sweep_orders[t % len(sweep_orders)])
        if self.variant == "paper":
            self.h_past = self.forgetting * (self.h_past + self.h_now)
        else:
            self.h_past = self.forgetting * self.h_now

    def visit(self, x, z, sweep_order):
        D = self.D
        values = [self.objective(x, z)]
        support = sweep_order
        for _ in range(self.n_sweeps):
            for j in support:
                z[j] = 0.0
                a = D[j] @ D[j]
                if a > 0:
                    z[j] = soft(D[j] @ (x - z @ D), self.lam) / a
            values.append(self.objective(x, z))
            support = [j for j in support if z[j] != 0]
        self.objectives_of_sweeps.append(values)
        r = x - z @ D
        self.h_now[support] += z[support] ** 2
        h = self.h_past + self.h_now
        shrinks_by = sum(z[j] ** 2 / h[j] for j in support)
        length = min(1.0, self.max_step / shrinks_by) if support else 1.0
        for j in support:
            D[j] = D[j] + length * z[j] / h[j] * r
            norm = np.linalg.norm(D[j])
            if norm > 1 or (self.variant == "released" and norm > 0):
                D[j] /= norm

    def objective(self, x, z):
        return 0.5 * ((x - z @ self.D) ** 2).sum() + self.lam * abs(z).sum()
