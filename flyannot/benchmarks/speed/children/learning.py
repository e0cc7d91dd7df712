"""What one process does to measure learning.  `us_per_patch` is per patch and epoch.

Every function takes the files of the patches, of the held sample and of the initial atoms, learns from
the first `n` patches, and judges the dictionary by exact codes of the held sample.  Compilation and a
first small run come before the clock starts; the peak of memory leaves out the last judgement.
"""

import numpy as np

from flyannot.benchmarks.speed.clocks import Clocked, Stopwatch
from flyannot.benchmarks.speed.peers import submodule
from flyannot.benchmarks.speed.plain_scc import PlainSCC
from flyannot.benchmarks.speed.worker import peak_mb
from flyannot.descriptors.sift import normalise
from flyannot.runtime.blas_threads import one_blas_thread
from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import learn
from flyannot.sparse.learners import LEARNERS
from flyannot.sparse.objective import duality_gap, objective
from flyannot.steps.learn_dict import NormalisedPatches

_N_WARM = 64  # patches of the first small run
_SEED = 1


def learn_ours(patches, held, initial, lam, n, n_epochs, learner="scc", settings=None):
    """Learn by a learner of the table, or by the plain loop, from patches in memory.

    `trace` holds (seconds, objective) of every epoch.
    """
    X = Clocked(normalise(np.load(patches, mmap_mode="r")[:n]))
    D = np.load(initial)
    learner = Clocked(_made(D, X, lam, learner, settings or {}), "begin_epoch", "step", "end_epoch")
    X.seconds = 0.0
    return _learn(X, learner, held, n_epochs, lambda record: X.seconds + learner.seconds)


def learn_by_the_wall(patches, held, initial, lam, n, n_epochs, learner="scc", settings=None):
    """Learn as `flyannot learn-dict` does: patches stay in their file until they are visited."""
    X = NormalisedPatches(np.load(patches, mmap_mode="r")[:n])
    learner = _made(np.load(initial), X, lam, learner, settings or {})
    return _learn(X, learner, held, n_epochs, lambda record: record.seconds)


def _made(D, X, lam, learner, settings):
    """A fresh learner, compiled."""
    make = PlainSCC if learner == "plain-loop" else LEARNERS[learner]
    settings = {"lam": lam} | settings
    list(learn(X[:_N_WARM], make(D, _N_WARM, **settings), n_epochs=2, rng=_rng()))
    return make(D, len(X), **settings)


def _learn(X, learner, held, n_epochs, seconds_of):
    trace = []
    with one_blas_thread():  # as `flyannot learn-dict` holds it: BLAS's idle threads spin on beside ours
        for record in learn(X, learner, n_epochs=n_epochs, rng=_rng()):
            peak = peak_mb()
            judgement = judge(learner.D, held, learner.lam)
            trace.append((seconds_of(record), judgement["objective"]))
    cost = _timed(trace[-1][0], len(X), n_epochs)
    return cost | judgement | {"peak_mb": peak, "trace": trace, "epochs": n_epochs}


def learn_spams(patches, held, initial, lam, n, n_epochs, batch_size, n_threads=1):
    """Learn by SPAMS's trainDL, online, in float32 (its quicker type)."""
    spams = submodule("spams")
    X, D = _columns(patches, n), np.asfortranarray(np.load(initial).T)
    options = {"lambda1": lam, "lambda2": 0.0, "mode": 2, "batchsize": batch_size, "numThreads": n_threads}
    spams.trainDL(X[:, :_N_WARM], D=D.copy("F"), iter=1, verbose=False, **options)
    n_steps = n_epochs * -(-X.shape[1] // batch_size)
    with Stopwatch() as watch:
        D = spams.trainDL(X, D=D, iter=n_steps, verbose=False, **options)
    learned = _learned(watch, D.T, held, lam, n_steps * batch_size / n_epochs, n_epochs)
    return learned | {"batch_size": batch_size}


def learn_sklearn(patches, held, initial, lam, n, n_epochs, batch_size):
    """Learn by scikit-learn's MiniBatchDictionaryLearning, in float32, early stopping off."""
    learner = submodule("scikit-learn", "decomposition").MiniBatchDictionaryLearning
    X, D = normalise(np.load(patches, mmap_mode="r")[:n]), np.load(initial)
    options = {"n_components": len(D), "alpha": lam, "fit_algorithm": "cd", "batch_size": batch_size}
    options |= {"dict_init": D, "random_state": 0, "max_no_improvement": None, "tol": 0.0}
    learner(max_iter=1, **options).fit(X[:_N_WARM])
    with Stopwatch() as watch:
        fitted = learner(max_iter=n_epochs, **options).fit(X)
    return _learned(watch, fitted.components_, held, lam, len(X), n_epochs)


def judge(D, held, lam):
    """The mean objective, duality gap and number of non-zeros of exact codes of the held sample."""
    X, D = normalise(np.load(held)).astype(np.float64), np.ascontiguousarray(D, np.float64)
    Z = CODERS["cd"](X, D, lam, tol=1e-6)
    return {
        "objective": float(objective(X, D, Z, lam).mean()),
        "gap": float(duality_gap(X, D, Z, lam).mean()),
        "nonzeros": Z.nnz / len(X),
    }


def _learned(watch, D, held, lam, n, n_epochs):
    peak = peak_mb()
    cost = _timed(watch.seconds, n, n_epochs) | {"peak_mb": peak}
    return cost | judge(D, held, lam) | {"epochs": n_epochs}


def _timed(seconds, n, n_epochs):
    return {"n": int(n), "seconds": seconds, "us_per_patch": 1e6 * seconds / (n * n_epochs)}


def _columns(patches, n):
    """Patches as SPAMS takes them: one a column, in Fortran order."""
    return normalise(np.load(patches, mmap_mode="r")[:n]).T


def _rng():
    return np.random.default_rng(_SEED)
