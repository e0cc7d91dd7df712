"""Measurements in workers: time, and what was learned or coded.

One thread is timed in processor time, which other programs do not lengthen; on an idle machine the two agree.
Several threads, and all that reads a file, are timed in wall-clock time.  Objectives and duality gaps, of us
and of the peers alike, come from `objective` and `duality_gap` in float64.
"""

import os
import time

import numpy as np

from benchmarks.workers import peak_mb
from flyannot.base.system import read_proc
from flyannot.images.sift import normalise_descriptors
from flyannot.sparse.fit import evaluate_dictionary, exact_codes
from flyannot.sparse.objective import duality_gap, objective

_N_EVALUATED = 2_000


class Stopwatch:
    """`with Stopwatch() as watch:` times its block; `watch.seconds`."""

    def __init__(self, clock=time.process_time):
        self._clock = clock

    def __enter__(self):
        self._start = self._clock()
        return self

    def __exit__(self, *exception):
        self.seconds = self._clock() - self._start


def processor_seconds():
    """Return the processor time of this process and of those it has waited for, in seconds."""
    return sum(os.times()[:4])


def bytes_moved():
    """(read, written) by this process so far, from the system's memory or the disk; None where not told."""
    told = dict(line.split(": ") for line in read_proc("/proc/self/io").splitlines())
    return (int(told["rchar"]), int(told["wchar"])) if told else None


def timed(first, *others, at_least_s=0.5, clock=time.process_time):
    """Time functions in turns until `at_least_s` have passed.

    Returns what `first` returns, and the median seconds of one call of each function, as an array.
    """
    seconds, passed = [], 0.0
    while not seconds or passed < at_least_s:
        found, of_turn = [], []
        for function in (first, *others):
            with Stopwatch(clock) as watch:
                found.append(function())
            of_turn.append(watch.seconds)
        seconds.append(of_turn)
        passed += sum(of_turn)
    return found[0], np.median(seconds, axis=0)


def timed_steps(learner, X, blocks):
    """Return the seconds that a learner takes to visit blocks of rows of X."""
    seconds = 0.0
    for rows in blocks:
        with Stopwatch() as watch:
            learner.step(X[rows], rows)
        seconds += watch.seconds
    return seconds


def normalised_patches(file, rows):
    """Rows of a file as they are learned from and coded: descriptors normalised, other signals as stored."""
    X = np.load(file, mmap_mode="r")[rows]
    return normalise_descriptors(X) if X.dtype == np.uint8 else np.array(X)


def exact_objective(X, D, lam, *, tol=1e-6):
    """Return the mean objective of exact codes of X."""
    X, D = np.asarray(X, np.float64), np.ascontiguousarray(D, np.float64)
    return float(objective(X, D, exact_codes(X, D, lam, tol=tol), lam).mean())


def objective_by_eq_7(X, D, lam, Z=None):
    """Return the mean of 1/2 (|x - z D|^2 + lam |z|_1), Eq. 7 of Lin et al. as printed.

    The mean is over the first patches that were learned from, with the learner's codes Z, or with exact ones.
    """
    X, D = np.asarray(X[:_N_EVALUATED], np.float64), np.ascontiguousarray(D, np.float64)
    Z = exact_codes(X, D, lam) if Z is None else Z[:_N_EVALUATED].astype(np.float64)
    return float((objective(X, D, Z, lam) - 0.5 * lam * abs(Z).sum(axis=1)).mean())


def graded_dictionary(D, held, lam, *, seconds, n, n_epochs):
    """Cost, and the mean objective, duality gap and non-zeros of exact codes of the held sample.

    The peak of memory is the one before this evaluation.
    """
    peak = peak_mb()
    X, D = normalised_patches(held, slice(None)).astype(np.float64), np.ascontiguousarray(D, np.float64)
    values, gaps, n_nonzeros = evaluate_dictionary(X, D, lam)
    return {
        "n": int(n),
        "epochs": n_epochs,
        "seconds": seconds,
        "us_per_sample": 1e6 * seconds / (n * n_epochs),
        "objective": float(values.mean()),
        "gap": float(gaps.mean()),
        "nonzeros": n_nonzeros / len(X),
        "peak_mb": peak,
    }


def graded_codes(seconds, X, D, Z, lam, *, positive=False):
    """Cost, and the mean objective and duality gap of codes; `positive` if they must not be negative."""
    cost = {"n": len(X), "us_per_sample": 1e6 * seconds / len(X), "peak_mb": peak_mb()}
    X, gaps = X.astype(np.float64), duality_gap(X, D, Z, lam, positive=positive)
    return cost | {
        "objective": float(objective(X, D, Z, lam).mean()),
        "gap": float(gaps.mean()),
        "worst_relative_gap": float((gaps / (0.5 * (X**2).sum(axis=1))).max()),
    }
