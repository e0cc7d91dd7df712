"""Sparse coding for benchopt: dictionary learning, and the lasso over atoms that are given.

Both minimise 1/2 |x - z D|^2 + lam |z|_1, a mean over samples; atoms have norm at most 1.  No solver grades
itself: the objective is computed here, and the duality gap, which bounds how far codes are from the best.
"""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    name = "Sparse coding"
    url = "https://arxiv.org/abs/1407.8147"
    min_benchopt_version = "1.6"
    requirements = ["pip::flyannot"]
    parameters = {"task": ["dictionary", "codes"], "n_atoms": [256], "lam": [0.15]}
    test_config = {"dataset": {"n_samples": 400}, "n_atoms": 16}

    def set_data(self, X):
        rng = np.random.default_rng(0)
        X = X - X.mean(axis=1, keepdims=True)
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        X = rng.permutation(X[norms[:, 0] > 0] / norms[norms[:, 0] > 0]).astype(np.float32)
        n_held = min(2000, len(X) // 4)  # what is learned is judged by samples that nobody learned from
        self.held, self.X = X[:n_held], X[n_held:]
        self.D = np.ascontiguousarray(self.X[rng.choice(len(self.X), self.n_atoms, replace=False)])

    def get_objective(self):
        X = self.X if self.task == "dictionary" else self.held
        return {"X": X, "D": self.D, "lam": self.lam, "task": self.task}

    def evaluate_result(self, D=None, Z=None):
        D = np.asarray(self.D if D is None else D, np.float64)
        D = D / np.maximum(1, np.linalg.norm(D, axis=1, keepdims=True))
        if Z is None:
            from flyannot import SparseCoder

            Z = SparseCoder(D, alpha=self.lam, tol=1e-6).transform(self.held.astype(np.float64))
        residual = self.held - np.asarray(Z, np.float64) @ D
        values = 0.5 * (residual**2).sum(axis=1) + self.lam * abs(np.asarray(Z)).sum(axis=1)
        largest = np.maximum(abs(residual @ D.T).max(axis=1, keepdims=True), 1e-300)
        shrunk = residual * np.minimum(1, self.lam / largest)
        dual = 0.5 * (self.held**2).sum(axis=1) - 0.5 * ((self.held - shrunk) ** 2).sum(axis=1)
        found = {"value": values.mean(), "largest_gap": (values - dual).max()}
        return found | {"n_nonzeros": (Z != 0).sum(1).mean()}

    def get_one_result(self):
        return {"D": self.D}
