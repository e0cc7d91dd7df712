"""What one process does to measure coding at a fixed dictionary.

The patches coded are the last `n` of the file, so that the dictionary, learned from the first, has not
seen them.  Short calls are repeated, and `us_per_patch` is the median.
"""

import time

import numpy as np

from flyannot.benchmarks.speed.clocks import Stopwatch, median_seconds
from flyannot.benchmarks.speed.peers import submodule
from flyannot.benchmarks.speed.worker import peak_mb
from flyannot.descriptors.sift import normalise
from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import learn
from flyannot.sparse.learners import LEARNERS
from flyannot.sparse.objective import duality_gap, objective

TOL = 1e-4
EXACT = 1e-12


def learn_dictionaries(patches, initial, lam, n, n_epochs, last, last_but_one):
    """Learn, and write the dictionaries after the last epoch and after the one before it."""
    X, D = _normalised(np.load(patches, mmap_mode="r")[:n]), np.load(initial)
    learner, kept = LEARNERS["scc"](D, len(X), lam=lam), []
    for _ in learn(X, learner, n_epochs=n_epochs, rng=np.random.default_rng(1)):
        kept.append(np.array(learner.D))
    np.save(last, kept[-1])
    np.save(last_but_one, kept[-2])
    return {}


def encode_ours(patches, dictionary, lam, n, start_from=None):
    """Code by `cd`, taking turns with the bare product; `start_from` names a dictionary to warm up on."""
    X, D, encode = _patches(patches, n), np.load(dictionary), CODERS["cd"]
    start = None if start_from is None else encode(X, np.load(start_from), lam, tol=TOL)
    product = np.empty((len(X), len(D)), np.float32)
    kept = {}

    def ours():
        kept["Z"] = encode(X, D, lam, tol=TOL, start=start)

    ours()
    seconds, gemm = median_seconds(ours, lambda: np.matmul(X, D.T, out=product))
    graded = _graded(seconds, X, D, kept["Z"], lam)
    return graded | {"ratio_to_gemm": seconds / gemm, "gemm_us_per_patch": 1e6 * gemm / n}


def encode_exactly(patches, dictionary, lam, n, coder_name):
    """Code in float64 by a coder of the table, to rounding."""
    X, D = _patches(patches, n).astype(np.float64), np.load(dictionary).astype(np.float64)
    encode = CODERS[coder_name]
    encode(X[:4], D, lam, tol=EXACT)
    kept = {}

    def ours():
        kept["Z"] = encode(X, D, lam, tol=EXACT)

    (seconds,) = median_seconds(ours)
    return _graded(seconds, X, D, kept["Z"], lam)


def encode_on_threads(patches, dictionary, lam, n):
    """Code on one and on two threads, taking turns; `speed_up` is the ratio."""
    X, D, encode = _patches(patches, n), np.load(dictionary), CODERS["cd"]
    kept = {}

    def on(n_threads):
        kept["Z"] = encode(X, D, lam, tol=TOL, n_threads=n_threads)

    on(2)
    one, two = median_seconds(lambda: on(1), lambda: on(2), at_least_s=2.0, clock=time.perf_counter)
    return _graded(two, X, D, kept["Z"], lam) | {"speed_up": one / two, "us_on_one": 1e6 * one / n}


def multiply(patches, dictionary, lam, n):
    """The bare product X D^T in float32, which every coder of this kind has to make."""
    X, D = _patches(patches, n), np.load(dictionary)
    product = np.empty((len(X), len(D)), np.float32)
    np.matmul(X, D.T, out=product)
    (seconds,) = median_seconds(lambda: np.matmul(X, D.T, out=product))
    return {"n": n, "us_per_patch": 1e6 * seconds / n, "peak_mb": peak_mb()}


def encode_spams(patches, dictionary, lam, n):
    """Code by SPAMS's lasso (LARS), in float32 (its quicker type)."""
    spams, X, D = submodule("spams"), _patches(patches, n), np.load(dictionary)
    kept = {}

    def theirs():
        kept["Z"] = spams.lasso(X.T, D=np.asfortranarray(D.T), lambda1=lam, mode=2, numThreads=1)

    theirs()
    (seconds,) = median_seconds(theirs)
    return _graded(seconds, X, D, kept["Z"].T.tocsr(), lam)


def encode_sklearn(patches, dictionary, lam, n, algorithm, dtype="float32"):
    """Code by scikit-learn's sparse_encode; its "lasso_cd" or "lasso_lars"."""
    encode, X, D = (
        submodule("scikit-learn", "decomposition").sparse_encode,
        _patches(patches, n).astype(dtype),
        np.load(dictionary).astype(dtype),
    )
    options = {"algorithm": algorithm, "alpha": lam, "n_jobs": 1}
    encode(X[:4], D, **options)
    with Stopwatch() as watch:
        Z = encode(X, D, **options)
    return _graded(watch.seconds, X, D, Z, lam)


def _patches(patches, n):
    return _normalised(np.load(patches, mmap_mode="r")[-n:])


def _normalised(rows):
    """Descriptors as they are coded; other signals are stored so."""
    return normalise(rows) if rows.dtype == np.uint8 else np.array(rows)


def _graded(seconds, X, D, Z, lam):
    """Time, memory, and the objective and gap of the codes in float64."""
    cost = {"n": len(X), "us_per_patch": 1e6 * seconds / len(X), "peak_mb": peak_mb()}
    X, gaps = X.astype(np.float64), duality_gap(X, D, Z, lam)
    relative = gaps / (0.5 * (X**2).sum(axis=1))
    return cost | {
        "objective": float(objective(X, D, Z, lam).mean()),
        "gap": float(gaps.mean()),
        "worst_relative_gap": float(relative.max()),
    }
