"""What every estimator checks at its edge, in all versions of scikit-learn that we work with."""

import os

import numpy as np
from sklearn.utils import check_random_state

from flyannot.errors import InputError
from flyannot.estimators.image_patches import as_image_patches

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before scikit-learn 1.6 it was a method

    def validate_data(estimator, X, **options):
        """The matrix X, checked as scikit-learn checks it."""
        return estimator._validate_data(X, **options)


def matrix_of(estimator, X, *, reset, **options):
    """The rows of X, checked, and the `ImagePatches` they are of (None for a plain matrix)."""
    patches = as_image_patches(X)
    rows = X if patches is None else patches.rows
    options = {"dtype": [np.float64, np.float32], "order": "C"} | options
    return validate_data(estimator, rows, reset=reset, **options), patches


def generator(random_state):
    """A numpy Generator of a `random_state` as scikit-learn takes it, or the Generator that it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))


def n_threads_of(n_jobs):
    """The threads that scikit-learn's `n_jobs` means: None is 1, -1 all cores, -2 all but one."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise InputError("n_jobs = 0 does no work", fix="choose n_jobs of 1 or more, or -1 for all cores")
    return n_jobs if n_jobs > 0 else max(1, len(os.sched_getaffinity(0)) + 1 + n_jobs)
