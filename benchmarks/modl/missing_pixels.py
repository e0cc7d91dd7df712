"""Missing pixels of whole pictures, filled in from a dictionary learned from pictures with missing pixels."""

import numpy as np

from benchmarks.findings import Finding, Target
from benchmarks.inputs.pictures import centred, split_pictures_by_gene
from benchmarks.measures import Stopwatch
from benchmarks.workers import peak_mb
from flyannot.errors import InputError
from flyannot.sparse.coders.missing_values import lasso_of_observed, split_missing
from flyannot.sparse.fit import random_patches, run_epoch
from flyannot.sparse.learners.modl import MODL

_N_ATOMS, _LAM, _REDUCTION, _MISSING = 100, 0.1, 12, 0.3
_BLOCK_ENTRIES = 2**24  # of X worked on at once


def measure_filling_in(setup):
    """Learn by MODL with masks, fill in the pixels of other pictures, and compare with the mean picture."""
    files, source = split_pictures_by_gene(setup)
    row = setup.run(complete_pictures, files | {"n_epochs": setup.sizes["n_epochs"], "seed": setup.seed})
    return Finding(
        source=source,
        variant=f"modl, {_N_ATOMS} atoms, lam {_LAM}, one pixel in {_REDUCTION} at a time; "
        f"{100 * _MISSING:.0f} % of the pixels are missing",
        rows=[row],
        targets=[Target("error over the mean picture's", row["error"] / row["error_of_mean"], 1, False)],
    )


def complete_pictures(train, test, n_epochs, seed):
    """In a worker: learn from pictures with missing pixels, and fill in those of other pictures.

    `error_of_mean` is that of filling in the mean picture, also learned from what is there.
    """
    rng = np.random.default_rng(seed)
    shown, truth = _with_missing(np.load(train), rng), np.load(test)
    mean = np.nanmean(shown, axis=0)
    X = centred(shown, mean)[0]
    learner = MODL(random_patches(X, _N_ATOMS, rng), len(X), lam=_LAM, reduction=_REDUCTION)
    for epoch_rng in rng.spawn(n_epochs):
        run_epoch(X, learner, epoch_rng)
    holes = np.isnan(_with_missing(truth, rng))
    test_X, norms = centred(np.where(holes, np.nan, truth), mean)
    with Stopwatch() as watch:
        filled = mean + norms * complete_missing_pixels(test_X, learner.D, _LAM)
    cost = {"n": len(X), "epochs": n_epochs, "us_per_sample": 1e6 * watch.seconds / len(truth)}
    found = {"error": filled, "error_of_mean": mean}
    errors = {name: _grey_levels(values - truth, holes) for name, values in found.items()}
    return cost | errors | {"peak_mb": peak_mb()}


def complete_missing_pixels(X, D, lam, *, tol=1e-4):
    """X with every NaN replaced by its entry of z D, z the code of the sample's observed features.

    Parameters
    ----------
    X : float array (n_samples, n_features)
        NaN where missing.  float32 is solved in float32, all else in float64.
    D : float array (n_atoms, n_features)
    lam : float > 0
        Weight of the L1 norm of a sample with all features; one with s of p observed gets lam s / p.
    tol : float
        A code is done when its duality gap is at most tol / 2 |x|^2 over the observed features.

    Returns
    -------
    filled : float array (n_samples, n_features)
        Observed entries as they are.  A sample without any has code 0 and is filled with 0.

    Raises
    ------
    InputError
        If X and D have different numbers of features, or lam is not above 0.

    Source
    ------
    Mensch, Mairal, Thirion and Varoquaux, ICML 2016, Section 1.3 (the code from the observed features).
    """
    dtype = np.float32 if np.asarray(X).dtype == np.float32 else np.float64
    X, F = np.asarray(X, dtype), np.ascontiguousarray(np.asarray(D, dtype).T)
    if X.ndim != 2 or X.shape[1] != len(F):
        raise InputError(
            f"samples of shape {X.shape} do not fit atoms of {len(F)} features",
            fix="use the dictionary that was learned on such samples",
        )
    if not lam > 0:
        raise InputError(f"cannot complete with lam = {lam}", fix="choose lam above 0")
    filled = X.copy()
    incomplete = np.flatnonzero(np.isnan(X).any(axis=1))
    block = max(1, _BLOCK_ENTRIES // max(1, len(F)))
    for start in range(0, len(incomplete), block):
        rows = incomplete[start : start + block]
        Xb, observed = split_missing(X[rows])
        Z = lasso_of_observed(Xb, observed, F, lam / len(F), tol)
        filled[rows] = np.where(observed, Xb, Z @ F.T)
    return filled


def _with_missing(X, rng):
    return np.where(rng.random(X.shape, np.float32) < _MISSING, np.float32(np.nan), X)


def _grey_levels(differences, holes):
    return 255 * float(np.sqrt(np.mean(differences[holes].astype(np.float64) ** 2)))
