"""A slow twin of SCC as the paper defines it, one coordinate at a time in plain Python and float64.

Lin et al., KDD 2014, Algorithm 1 with the projection of Eq. 4.  `released` follows the table of
differences between the paper and the authors' program.  `quick` is our variant.
"""

import numpy as np

from tests.sparse.twins import soft_number


class TwinSCC:
    """One run of SCC; `epoch` visits the samples `order` of X once."""

    def __init__(self, D, n_samples, lam, variant, *, positive=(False, False), **options):
        own = {"n_sweeps": 5, "max_step": 0.25} if variant == "quick" else {"n_sweeps": 3, "max_step": np.inf}
        self.n_sweeps, self.max_step = (own | options).values()
        self.atoms = np.array(D, np.float64)
        self.mean, self.n_in_mean = self.atoms.copy(), 0
        self.Z = np.zeros((n_samples, len(D)))
        self.h_past = np.zeros(len(D))
        self.lam, self.variant = lam, variant
        self.positive_code, self.positive_atoms = positive
        self.n_visits = 0

    @property
    def D(self):
        if self.variant != "quick":
            return self.atoms
        norms = np.linalg.norm(self.mean, axis=1, keepdims=True)
        return self.mean / np.where(norms > 0, norms, 1)

    def follow_mean(self):
        n_new = self.n_visits - self.n_in_mean
        self.mean = self.mean + min(1, 3 * n_new / self.n_visits) * (self.atoms - self.mean)
        self.n_in_mean = self.n_visits

    def epoch(self, X, order, sweep_orders):
        self.h_now = np.zeros(len(self.D))
        for t, i in enumerate(order):
            x, z = np.asarray(X[i], np.float64), self.Z[i]
            self.n_visits += 1
            if self.variant == "quick" and not z.any():
                for k in (2, 1):
                    self.descend(x, z, sweep_orders[(t + k) % len(sweep_orders)], self.lam * 2**k)
            self.visit(x, z, sweep_orders[t % len(sweep_orders)])
            if (t + 1) % -(-len(self.atoms) // 4) == 0 or t + 1 == len(order):
                self.follow_mean()
        if self.variant != "released":
            self.h_past = self.h_past + self.h_now
        else:
            self.h_past = self.h_now

    def sweep(self, x, z, atoms, lam):
        """Minimise over z[j] for each of the atoms; return the atoms that are then not zero."""
        D = self.atoms
        for j in atoms:
            z[j] = 0.0
            atom = D[j]
            a = atom @ atom
            best = soft_number(atom @ (x - z @ D), lam) / a if a > 0 else 0.0
            z[j] = max(best, 0.0) if self.positive_code else best
        return [j for j in atoms if z[j] != 0]

    def descend(self, x, z, sweep_order, lam):
        self.sweep(x, z, self.sweep(x, z, sweep_order, lam), lam)

    def visit(self, x, z, sweep_order):
        D = self.atoms
        support = sweep_order
        for _ in range(self.n_sweeps):
            support = self.sweep(x, z, support, self.lam)
        r = x - z @ D
        weight = float(self.n_visits) ** 6 if self.variant == "quick" else 1
        self.h_now[support] += weight * z[support] ** 2
        h = self.h_past + self.h_now
        shrinks_by = sum(weight * z[j] ** 2 / h[j] for j in support)
        length = min(1.0, self.max_step / shrinks_by) if support else 1.0
        for j in support:
            D[j] = D[j] + length * weight * z[j] / h[j] * r
            if self.positive_atoms:
                D[j] = np.maximum(D[j], 0)
            norm = np.linalg.norm(D[j])
            if norm > 1 or (self.variant != "paper" and norm > 0):
                D[j] /= norm
