"""What one process does to measure MODL on whole pictures.  `us_per_patch` is per picture and epoch."""

import numpy as np

from flyannot.benchmarks.completion import complete
from flyannot.benchmarks.speed.clocks import Clocked, Stopwatch
from flyannot.benchmarks.speed.whole_pictures import centred
from flyannot.benchmarks.speed.worker import peak_mb
from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import random_patches, run_epoch
from flyannot.sparse.learners.online.modl import MODL
from flyannot.sparse.objective import objective

_N_WARM = 80  # pictures of a first small run, for the compiler
_SEED = 1


def learn_pictures(train, test, n_atoms, lam, reduction, n_epochs):
    """Learn by MODL with masks of one pixel in `reduction`; `trace` judges epochs 1, 2, 4, ... and the last.

    Seconds are those of the median epoch, reading the rows included.
    """
    stain = np.load(train)
    mean = stain.mean(axis=0)
    X = Clocked(centred(stain, mean)[0])
    held = centred(np.load(test), mean)[0].astype(np.float64)
    learner, seconds, trace = _made(X, n_atoms, lam, reduction), [], []
    for epoch, rng in enumerate(np.random.default_rng(_SEED).spawn(n_epochs), 1):
        X.seconds = learner.seconds = 0.0
        run_epoch(X, learner, rng)
        seconds.append(X.seconds + learner.seconds)
        if epoch & (epoch - 1) == 0 or epoch == n_epochs:
            trace.append((epoch, _judged(held, learner.D, lam)))
    return {
        "n": len(X), "epochs": n_epochs, "seconds": float(np.sum(seconds)), "peak_mb": peak_mb(),
        "us_per_patch": 1e6 * float(np.median(seconds)) / len(X), "objective": trace[-1][1], "trace": trace,
    }  # fmt: skip


def complete_pictures(train, test, n_atoms, lam, reduction, n_epochs, missing):
    """Learn from pictures with missing pixels, and fill in those of other pictures.

    `error` is the root mean squared error of the missing pixels in grey levels; `error_of_mean` that of
    filling in the mean picture, also learned from what is there.
    """
    rng = np.random.default_rng(_SEED)
    shown, truth = _with_missing(np.load(train), missing, rng), np.load(test)
    mean = np.nanmean(shown, axis=0)
    X = Clocked(centred(shown, mean)[0])
    learner = _made(X, n_atoms, lam, reduction)
    X.seconds = 0.0
    for epoch_rng in rng.spawn(n_epochs):
        run_epoch(X, learner, epoch_rng)
    seconds = X.seconds + learner.seconds
    holes = np.isnan(_with_missing(truth, missing, rng))
    test_X, norms = centred(np.where(holes, np.nan, truth), mean)
    with Stopwatch() as watch:
        filled = mean + norms * complete(test_X, learner.D, lam)
    return {
        "n": len(X), "epochs": n_epochs, "seconds": seconds, "us_per_patch": 1e6 * watch.seconds / len(truth),
        "error": _grey_levels(filled - truth, holes), "error_of_mean": _grey_levels(mean - truth, holes),
        "peak_mb": peak_mb(),
    }  # fmt: skip


def _made(X, n_atoms, lam, reduction):
    """A fresh learner, compiled."""
    D = random_patches(X, n_atoms, np.random.default_rng(0))
    run_epoch(X[:_N_WARM], MODL(D, _N_WARM, lam=lam, reduction=reduction), np.random.default_rng(0))
    return Clocked(MODL(D, len(X), lam=lam, reduction=reduction), "begin_epoch", "step", "end_epoch")


def _judged(X, D, lam):
    """The mean objective of exact codes."""
    D = D.astype(np.float64)
    return float(objective(X, D, CODERS["cd"](X, D, lam, tol=1e-6), lam).mean())


def _with_missing(X, part, rng):
    return np.where(rng.random(X.shape, np.float32) < part, np.float32(np.nan), X)


def _grey_levels(differences, holes):
    return 255 * float(np.sqrt(np.mean(differences[holes].astype(np.float64) ** 2)))
