"""Samples made of known atoms, to test learners."""

import numpy as np


def unit_rows(A):
    return A / np.linalg.norm(A, axis=-1, keepdims=True)


def planted(n_samples, n_atoms, n_features, n_nonzeros, rng, dtype=np.float64):
    """Return random samples that are sparse combinations of known atoms, and these atoms.

    Samples and atoms are arrays of unit rows with `n_features` columns. Each sample combines `n_nonzeros`
    atoms.
    """
    D = unit_rows(rng.normal(size=(n_atoms, n_features)))
    Z = np.zeros((n_samples, n_atoms))
    for z in Z:
        z[rng.permutation(n_atoms)[:n_nonzeros]] = rng.choice([-1, 1], n_nonzeros) * rng.uniform(
            0.5, 1, n_nonzeros
        )
    return unit_rows(Z @ D).astype(dtype), D


def run(learner, X, n_epochs, *, seed=0, block=None, first_epoch=0):
    """Run epochs with a seeded order and generator, as learning does."""
    block = block or learner.block_size
    for epoch in range(first_epoch, n_epochs):
        rng = np.random.default_rng([seed, epoch])
        order = rng.permutation(len(X))
        learner.begin_epoch(rng)
        for start in range(0, len(order), block):
            rows = order[start : start + block]
            learner.step(X[rows], rows)
        learner.end_epoch()
    return learner
