"""What was learned or coded, evaluated in float64 by `flyannot.sparse.objective`, ours and theirs alike."""

import numpy as np

from flyannot.benchmarks.workers import peak_mb
from flyannot.descriptors.sift import normalise
from flyannot.sparse.coders import CODERS
from flyannot.sparse.objective import duality_gap, objective


def normalised(file, rows):
    """Rows of a file as they are learned from and coded: descriptors normalised, other signals as stored."""
    X = np.load(file, mmap_mode="r")[rows]
    return normalise(X) if X.dtype == np.uint8 else np.array(X)


def exact_objective(X, D, lam, *, tol=1e-6):
    """The mean objective of exact codes of X."""
    X, D = np.asarray(X, np.float64), np.ascontiguousarray(D, np.float64)
    return float(objective(X, D, CODERS["cd"](X, D, lam, tol=tol), lam).mean())


def graded_dictionary(D, held, lam, *, seconds, n, n_epochs):
    """Cost, and the mean objective, duality gap and non-zeros of exact codes of the held sample.

    The peak of memory is the one before this evaluation.
    """
    peak = peak_mb()
    X, D = normalised(held, slice(None)).astype(np.float64), np.ascontiguousarray(D, np.float64)
    Z = CODERS["cd"](X, D, lam, tol=1e-6)
    return {
        "n": int(n), "epochs": n_epochs, "seconds": seconds, "us_per_sample": 1e6 * seconds / (n * n_epochs),
        "objective": float(objective(X, D, Z, lam).mean()), "gap": float(duality_gap(X, D, Z, lam).mean()),
        "nonzeros": Z.nnz / len(X), "peak_mb": peak,
    }  # fmt: skip


def graded_codes(seconds, X, D, Z, lam):
    """Cost, and the mean objective and duality gap of codes."""
    cost = {"n": len(X), "us_per_sample": 1e6 * seconds / len(X), "peak_mb": peak_mb()}
    X, gaps = X.astype(np.float64), duality_gap(X, D, Z, lam)
    return cost | {
        "objective": float(objective(X, D, Z, lam).mean()), "gap": float(gaps.mean()),
        "worst_relative_gap": float((gaps / (0.5 * (X**2).sum(axis=1))).max()),
    }  # fmt: skip
