"""The reference implementations solve what ours solve."""

import numpy as np

from flyannot.benchmarks.references import lars
from flyannot.sparse.coders import CODERS
from flyannot.sparse.objective import duality_gap
from tests.sparse.optimality import lam_max


def relative_gaps(X, D, Z, lam):
    return duality_gap(X, D, Z, lam) / (0.5 * (X**2).sum(axis=1))


def test_lars_solves_most_samples_without_coordinate_descent(rng, monkeypatch):
    X, D, starts = rng.normal(size=(20, 16)), rng.normal(size=(40, 16)), []
    D /= np.linalg.norm(D, axis=1, keepdims=True)

    def spy(X, D, lam, *, start, **options):
        starts.append(start)
        return CODERS["cd"](X, D, lam, start=start, **options)

    monkeypatch.setattr(lars, "encode_by_cd", spy)
    lam = 0.1 * lam_max(X, D)
    Z = lars.encode(X, D, lam, tol=1e-8)
    assert np.median(relative_gaps(X, D, starts[0], lam)) <= 1e-12
    assert relative_gaps(X, D, Z, lam).max() <= 1e-8
