"""Labelled rows for the tests of classifiers."""

import numpy as np


def labelled(rng, n=120, p=40, n_terms=3):
    """Draw non-negative rows of eight kinds, some of which have each term; two similar rows per gene."""
    kinds = rng.gamma(0.5, size=(8, p))
    kind = np.repeat(rng.integers(8, size=n // 2), 2)
    X = kinds[kind] + 0.6 * np.repeat(rng.gamma(0.5, size=(n // 2, p)), 2, axis=0)
    X += 0.05 * rng.gamma(0.5, size=(n, p))
    Y = np.array([kind < 5, kind % 2 == 0, (kind == 2) | (kind == 3)][:n_terms]).T
    return X, Y, np.repeat([f"gene{i}" for i in range(n // 2)], 2)


def labelled_directions(rng, n=80, p=30, n_terms=3, noise=2.0):
    """Draw rows whose terms follow hidden directions, one gene each; the last term is rare."""
    X = 5 + rng.normal(size=(n, p))
    signal = X @ rng.normal(size=(p, n_terms)) + noise * rng.normal(size=(n, n_terms))
    cut = np.quantile(signal, [0.5] * (n_terms - 1) + [0.9], axis=0).diagonal()
    return X, signal > cut, np.array([f"gene{i:03}" for i in range(n)])
