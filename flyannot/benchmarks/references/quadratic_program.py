"""Codes by a generic solver: L-BFGS-B on z = u - v with u, v >= 0."""

import numpy as np
from scipy.optimize import minimize

_OPTIONS = {"maxiter": 5000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30}


def encode(X, D, lam, *, tol=None):
    """Codes, float64 (n_samples, n_atoms), as near to the minimum as the solver comes."""
    gram = D @ D.T
    return np.array([_code(q, gram, lam) for q in X @ D.T])


def _code(q, gram, lam):
    m = len(q)

    def value_and_slope(uv):
        z = uv[:m] - uv[m:]
        slope = gram @ z - q
        value = 0.5 * z @ (slope - q) + lam * uv.sum()
        return value, np.concatenate([slope + lam, lam - slope])

    bounds = [(0, None)] * (2 * m)
    found = minimize(
        value_and_slope, np.zeros(2 * m), jac=True, bounds=bounds, method="L-BFGS-B", options=_OPTIONS
    )
    return found.x[:m] - found.x[m:]
