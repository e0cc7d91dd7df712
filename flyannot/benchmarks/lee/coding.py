"""What workers do to measure coding at a fixed dictionary.

The samples coded are the last `n` of the file, so that a dictionary learned from the first has not seen them.
Short calls are repeated, and the median counts.
"""

import time

import numpy as np

from flyannot.benchmarks.measures import graded_codes, median_seconds, normalised
from flyannot.benchmarks.references import lars, quadratic_program
from flyannot.benchmarks.workers import peak_mb
from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import learn
from flyannot.sparse.learners import LEARNERS
from flyannot.sparse.objective import objective

TOL = 1e-4
_REFERENCES = {"lars": lars.encode, "qp": quadratic_program.encode}


def encoder(name):
    """The `encode` function of a coder of the table, or of a reference."""
    return _REFERENCES.get(name) or CODERS[name]


def learn_dictionaries(patches, initial, lam, n, n_epochs, last, last_but_one):
    """Learn by SCC, and write the dictionaries after the last epoch and after the one before it."""
    X, kept = normalised(patches, slice(n)), []
    learner = LEARNERS["scc"](np.load(initial), len(X), lam=lam)
    for _ in learn(X, learner, n_epochs=n_epochs, rng=np.random.default_rng(1), n_evaluated=0):
        kept.append(np.array(learner.D))
    np.save(last, kept[-1])
    np.save(last_but_one, kept[-2])
    return {}


def encode_exactly(patches, dictionary, lam, n, coder_name, tol):
    """Code in float64 by a coder of the table or a reference."""
    X, D = normalised(patches, slice(-n, None)).astype(np.float64), np.load(dictionary).astype(np.float64)
    encode, kept = encoder(coder_name), {}
    encode(X[:4], D, lam, tol=tol)

    def once():
        kept["Z"] = encode(X, D, lam, tol=tol)

    (seconds,) = median_seconds(once)
    each = objective(X, D, kept["Z"], lam).tolist()
    return graded_codes(seconds, X, D, kept["Z"], lam) | {"each_objective": each}


def encode_beside_gemm(patches, dictionary, lam, n, start_from=None):
    """Code by `cd`, taking turns with the bare product; `start_from` names a dictionary to warm up on."""
    X, D, encode = normalised(patches, slice(-n, None)), np.load(dictionary), CODERS["cd"]
    start = None if start_from is None else encode(X, np.load(start_from), lam, tol=TOL)
    product, kept = np.empty((len(X), len(D)), np.float32), {}

    def once():
        kept["Z"] = encode(X, D, lam, tol=TOL, start=start)

    once()
    seconds, gemm = median_seconds(once, lambda: np.matmul(X, D.T, out=product))
    return graded_codes(seconds, X, D, kept["Z"], lam) | {"times_gemm": seconds / gemm}


def multiply(patches, dictionary, lam, n):
    """The bare product X D^T in float32, which every coder of this kind has to make."""
    X, D = normalised(patches, slice(-n, None)), np.load(dictionary)
    product = np.empty((len(X), len(D)), np.float32)
    np.matmul(X, D.T, out=product)
    (seconds,) = median_seconds(lambda: np.matmul(X, D.T, out=product))
    return {"n": n, "us_per_sample": 1e6 * seconds / n, "peak_mb": peak_mb()}


def encode_on_threads(patches, dictionary, lam, n):
    """Code on one and on two threads, taking turns; `speed_up` is the ratio."""
    X, D, encode = normalised(patches, slice(-n, None)), np.load(dictionary), CODERS["cd"]
    kept = {}

    def on(n_threads):
        kept["Z"] = encode(X, D, lam, tol=TOL, n_threads=n_threads)

    on(2)
    one, two = median_seconds(lambda: on(1), lambda: on(2), at_least_s=2.0, clock=time.perf_counter)
    return graded_codes(two, X, D, kept["Z"], lam) | {"speed_up": one / two}
