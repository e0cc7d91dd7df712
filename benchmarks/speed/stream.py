"""One pass over a stream of patches, ours beside other programs."""

import numpy as np

from benchmarks.compare_methods import Method, compare_methods
from benchmarks.findings import Finding
from benchmarks.inputs.patches import LAM, patches_of
from benchmarks.measures import Stopwatch, exact_objective, graded_dictionary, normalised_patches
from benchmarks.rows import Panel, Series
from flyannot.descriptors.sift import normalise_descriptors
from flyannot.estimators.dictionary_learning import DictionaryLearning, RowUnits
from flyannot.runtime.resources import one_blas_thread
from flyannot.sparse.data_parallel import (
    LONGEST,
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

N_PARTS = 16


def measure_stream(setup):
    """One pass over the same patches in the same order by each program, or as far as its time goes."""
    given, m = patches_of(setup, setup.sizes["n_patches"]), setup.sizes["n_atoms"]
    problem = given.problem(m)

    def by(who, learner, reference="", **settings):
        limits = {"n": given.n, "who": learner, "limit_s": setup.sizes["limit_s"]}
        words = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in settings.items())
        return Method(who, words, learn_stream, problem | limits | settings, reference, most_repeats=1)

    words = f"data-parallel, {N_PARTS} parts, rounds of {LONGEST:,}"
    methods = [
        by("flyannot scc", "scc", variant="quick"),
        Method("flyannot", words, learn_data_parallel, problem | {"n": given.n}, most_repeats=1),
        by("flyannot OL", "ol", batch_size=256),
        by("SPAMS OL", "spams", "spams", batch_size=256),
        by("scikit-learn", "scikit-learn", "scikit-learn", batch_size=256),
    ]
    rows = compare_methods(setup, methods, n_atoms=m)
    traced = {f"{row['who']}, {row['variant']}": row["trace"] for row in rows if row.get("trace")}
    curves = [Series(name, *([at[i] for at in trace] for i in (0, -1))) for name, trace in traced.items()]
    axes = "seconds of processor time", "objective"
    return Finding(
        source=given.source,
        variant=f"{m} atoms, one pass, lam {LAM:.4f}; exact codes of patches unseen",
        rows=rows,
        panels=[Panel("One pass over a stream", *axes, curves, x_log=True)],
    )


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


def learn_data_parallel(patches, held, initial, lam, n):
    """In a worker: one pass in parts, all in this process; `trace` holds (seconds, patches, objective)."""
    start = np.arange(0, n, _UNIT)
    X = np.load(patches, mmap_mode="r")
    source = StoredRows(X, X.dtype, start, np.minimum(start + _UNIT, n))
    options = SCCOptions(variant="quick")
    plan = LearningPlan(N_PARTS, 1, lam, options, (_SEED,), longest=LONGEST)
    D, sample = np.load(initial), normalised_patches(held, slice(None)).astype(np.float64)
    LEARNERS["scc"](D, 0, lam=lam, variant="quick")  # compiles
    first = LearningProgress(first_atoms(D, options))
    clock = []

    def run(tasks):
        with Stopwatch() as watch:
            found = [visit_part(task) for task in tasks]
        clock.append(watch.seconds)
        return found

    with one_blas_thread():
        *_, progress = learn_in_rounds(source, HeldOutSamples(sample, {}), first, plan, run)
        seconds = sum(clock)
        graded = graded_dictionary(progress.atoms.D, held, lam, seconds=seconds, n=n, n_epochs=1)
    trace = [(seconds * r.n_visits / n, r.n_visits, r.objective) for r in progress.records]
    return graded | {"trace": trace}


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
    options |= {"return_model": True, "verbose": False}

    def learn(X):
        n_steps = -(-len(X) // batch_size)
        state["D"], state["model"] = spams.trainDL(np.asfortranarray(X.T), iter=n_steps, **state, **options)

    return learn, lambda: state["D"].T


def _scikit_learn(D, lam, n, who, batch_size):
    from sklearn.decomposition import MiniBatchDictionaryLearning

    options = {"n_components": len(D), "alpha": lam, "fit_algorithm": "cd", "batch_size": batch_size}
    model = MiniBatchDictionaryLearning(dict_init=D, random_state=0, **options)

    def learn(X):
        for start in range(0, len(X), batch_size):
            model.partial_fit(X[start : start + batch_size])

    return learn, lambda: model.components_
