"""Learning from a stream of patches in memory: what workers do, for ours and for others.

Patches come once, in parts of which each is as large as all before it; after each part the dictionary is
evaluated by exact codes of the held sample, outside the clock.
"""

import numpy as np

from benchmarks.measures import Stopwatch, exact_objective, graded_dictionary, normalised_patches
from flyannot.descriptors.sift import normalise_descriptors
from flyannot.estimators.dictionary_learning import DictionaryLearning, RowUnits
from flyannot.runtime.resources import one_blas_thread
from flyannot.sparse.data_parallel import (
    HeldOutSamples,
    LearningPlan,
    LearningProgress,
    first_atoms,
    learn_in_rounds,
    visit_part,
)
from flyannot.sparse.learners import LEARNERS
from flyannot.sparse.learners.scc import SCCOptions
from flyannot.steps.patch_blocks import NormalisedPatches

_FIRST = 2048  # patches of the first part
_UNIT = 64  # patches that are read together
_N_WARM = 64
_SEED = 1


class StoredRows(RowUnits):
    """Descriptors as they are stored, of which samples are made as they are visited."""

    def samples(self, rows):
        """Descriptors as samples to learn from."""
        return NormalisedPatches(rows)

    def _checked(self, rows):
        return np.array(rows)


def learn_in_shares(patches, held, initial, lam, n, n_epochs, n_shares, longest, variant="quick"):
    """In a worker: learn by shares, in this process; `trace` holds (seconds, patches, objective)."""
    start = np.arange(0, n, _UNIT)
    X = np.load(patches, mmap_mode="r")
    source = StoredRows(X, X.dtype, start, np.minimum(start + _UNIT, n))
    options = SCCOptions(variant=variant)
    plan = LearningPlan(n_shares, n_epochs, lam, options, (_SEED,), longest=longest)
    D, sample = np.load(initial), normalised_patches(held, slice(None)).astype(np.float64)
    LEARNERS["scc"](D, 0, lam=lam, variant=variant)  # compiles
    first = LearningProgress(first_atoms(D, options))
    clock = []

    def run(tasks):
        with Stopwatch() as watch:
            found = [visit_part(task) for task in tasks]
        clock.append(watch.seconds)
        return found

    with one_blas_thread():
        *_, progress = learn_in_rounds(source, HeldOutSamples(sample, {}), first, plan, run)
        trace = [(record.n_visits, record.objective) for record in progress.records]
        seconds = sum(clock)
        graded = graded_dictionary(progress.atoms.D, held, lam, seconds=seconds, n=n, n_epochs=n_epochs)
    total = n * n_epochs
    return graded | {"trace": [(seconds * visits / total, visits, value) for visits, value in trace]}


def learn_stream(patches, held, initial, lam, n, who, limit_s, **settings):
    """In a worker: learn from the first n patches once by `who`, for `limit_s` of processor time at most."""
    make = {"spams": _spams, "scikit-learn": _scikit_learn}.get(who, _ours)
    sample = normalised_patches(held, slice(None))
    X, trace, seconds, seen = np.load(patches, mmap_mode="r"), [], 0.0, 0
    warm, _ = make(np.load(initial), lam, n, who, **settings)
    warm(normalise_descriptors(X[:_N_WARM]))
    learn, atoms = make(np.load(initial), lam, n, who, **settings)
    with one_blas_thread():
        while seen < n and seconds < limit_s:
            part = normalise_descriptors(np.array(X[seen : min(n, max(_FIRST, 2 * seen))]))
            for block in np.split(part, range(_FIRST, len(part), _FIRST)):
                with Stopwatch() as watch:
                    learn(block)
                seconds, seen = seconds + watch.seconds, seen + len(block)
                if seconds > limit_s:
                    break
            trace.append((seconds, seen, exact_objective(sample, atoms(), lam)))
        graded = graded_dictionary(atoms(), held, lam, seconds=seconds, n=seen, n_epochs=1)
    return graded | {"trace": trace}


def _ours(D, lam, n, who, **settings):
    """Any learner of the table, by `partial_fit`."""
    given = {"alpha": lam, "learner_params": settings, "dict_init": D, "random_state": _SEED}
    model = DictionaryLearning(len(D), learner=who, **given)
    return model.partial_fit, lambda: model.components_


def _spams(D, lam, n, who, batch_size):
    import spams

    state = {"D": np.asfortranarray(D.T), "model": None}
    options = {"lambda1": lam, "lambda2": 0.0, "mode": 2, "batchsize": batch_size, "numThreads": 1}

    def learn(X):
        state["D"], state["model"] = spams.trainDL(
            np.asfortranarray(X.T), D=state["D"], model=state["model"], return_model=True,
            iter=-(-len(X) // batch_size), verbose=False, **options,
        )  # fmt: skip

    return learn, lambda: state["D"].T


def _scikit_learn(D, lam, n, who, batch_size):
    from sklearn.decomposition import MiniBatchDictionaryLearning

    options = {"n_components": len(D), "alpha": lam, "fit_algorithm": "cd", "batch_size": batch_size}
    model = MiniBatchDictionaryLearning(dict_init=D, random_state=0, **options)

    def learn(X):
        for start in range(0, len(X), batch_size):
            model.partial_fit(X[start : start + batch_size])

    return learn, lambda: model.components_
