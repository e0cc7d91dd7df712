"""Methods that learn a dictionary, for comparisons, and what their workers do.

Every one learns from the first `n` patches of a file, and its dictionary is evaluated by exact codes of the
held sample.  Compilation and a first small run come before the clock starts.
"""

from dataclasses import replace

import numpy as np

from benchmarks.compare_methods import Method
from benchmarks.measures import (
    Stopwatch,
    exact_objective,
    graded_dictionary,
    normalised_patches,
    objective_by_eq_7,
)
from benchmarks.references import other_programs, why_reference_is_absent
from benchmarks.references.plain_learners import PlainSCC
from flyannot.images.sift import normalise_descriptors
from flyannot.jobs.resources import limit_blas_threads
from flyannot.sparse.fit import default_lam, random_patches, run_epoch
from flyannot.sparse.fit import learn_dictionary as epochs_of
from flyannot.sparse.learners import LEARNERS

PATCHES_AT_BATCH_1 = {500: 300, 1000: 150, 2000: 60}  # OL takes from 2 to 150 ms a patch there
_N_WARM = 64  # patches of the first small run
_SEED = 1


def scc(problem, n, n_epochs, variant, **settings):
    """Return the method SCC in one of its variants; `problem` comes from `Patches`."""
    arguments = problem | {"n": n, "n_epochs": n_epochs, "settings": {"variant": variant} | settings}
    return Method("flyannot", variant, learn, arguments)


def traced(method):
    """Return the method with its objective evaluated after every epoch, which takes as long as an epoch."""
    return replace(method, arguments=method.arguments | {"is_traced": True})


def plain_loop(problem, n, n_epochs, variant, **settings):
    """SCC as the obvious compiled loop."""
    arguments = scc(problem, n, n_epochs, variant, **settings).arguments
    return Method("plain loop", variant, learn, arguments | {"learner": "plain-loop"})


def our_ol(problem, n, n_epochs, batch_size):
    """Our own online learning."""
    options = {"learner": "ol", "settings": {"batch_size": batch_size}}
    arguments = problem | {"n": n, "n_epochs": n_epochs} | options
    return Method("flyannot OL", f"batch {batch_size}", learn, arguments)


def spams_ol(problem, n, n_epochs, batch_size, **more):
    """SPAMS's online learning, the program of the papers."""
    arguments = problem | {"n": n, "n_epochs": n_epochs, "batch_size": batch_size}
    learn = other_programs.learn_by_spams
    return Method("SPAMS OL", f"batch {batch_size}", learn, arguments, "spams", **more)


def scikit_learn_ol(problem, n, batch_size, **more):
    """Return one epoch of scikit-learn's online learning, which is measured once on few samples."""
    arguments = problem | {"n": n, "n_epochs": 1, "batch_size": batch_size}
    learn, note = other_programs.learn_by_scikit_learn, f"one epoch of {n} samples, no end result"
    named = "scikit-learn", f"batch {batch_size}", learn, arguments, "scikit-learn"
    return Method(*named, most_repeats=1, note=note, **more)


def reference_ol(problem, n, n_epochs, batch_size):
    """SPAMS's online learning, or our own where SPAMS is absent."""
    return (our_ol if why_reference_is_absent("spams") else spams_ol)(problem, n, n_epochs, batch_size)


def name_of_reference_ol():
    """Name the program that stands for the paper's OL."""
    absent = why_reference_is_absent("spams")
    return f"our own OL ({absent})" if absent else "SPAMS's trainDL, the program of the paper"


def hours(us_per_sample, n_patches, n_epochs):
    """Microseconds a visit into hours for all visits."""
    return us_per_sample * n_patches * n_epochs / 3.6e9


def learned_atoms(descriptors, n_atoms, rng, *, n_epochs, learner="scc", **settings):
    """Learn a dictionary of descriptors (uint8); return it in float32, and its lam."""
    X = normalise_descriptors(descriptors)
    lam = float(default_lam(X.shape[1]))
    learner = LEARNERS[learner](random_patches(X, n_atoms, rng), len(X), lam=lam, **settings)
    list(epochs_of(X, learner, n_epochs=n_epochs, rng=rng, n_evaluated=0))
    return np.ascontiguousarray(learner.D, np.float32), lam


def learned_dictionaries(setup, problem, n, n_epochs):
    """Files of the dictionaries that SCC has learned after the `last` epoch and the `last_but_one`."""
    files = {name: problem[name] for name in ("patches", "initial", "lam")}
    return setup.run(_learn_dictionaries, files | {"n": n, "n_epochs": n_epochs})


def _learn_dictionaries(patches, initial, lam, n, n_epochs):
    """Learn in a worker, and write the files."""
    X, kept = normalised_patches(patches, slice(n)), []
    learner = LEARNERS["scc"](np.load(initial), len(X), lam=lam)
    for _ in epochs_of(X, learner, n_epochs=n_epochs, rng=np.random.default_rng(_SEED), n_evaluated=0):
        kept.append(np.array(learner.D))
    files = {name: f"{initial}-{name}.npy" for name in ("last_but_one", "last")}
    for path, D in zip(files.values(), kept[-2:]):
        np.save(path, D)
    return files


def learn(
    patches, held, initial, lam, n, n_epochs, learner="scc", settings=None, is_traced=False, kind="float32"
):
    """Learn by a learner of the table, or by the plain loop, from patches in memory, in a worker.

    `trace` holds (seconds, objective) of the last epoch, or of every one.
    """
    X, D = normalised_patches(patches, slice(n)).astype(kind), np.load(initial).astype(kind)
    make = PlainSCC if learner == "plain-loop" else LEARNERS[learner]
    settings = settings or {}
    warm = make(D, _N_WARM, lam=lam, **settings)
    list(epochs_of(X[:_N_WARM], warm, n_epochs=2, rng=np.random.default_rng(_SEED), n_evaluated=0))
    made, trace, seconds = make(D, len(X), lam=lam, **settings), [], 0.0
    sample = normalised_patches(held, slice(None))
    with limit_blas_threads():  # as `flyannot learn-dict` holds it: BLAS's idle threads spin on beside ours
        for rng in np.random.default_rng(_SEED).spawn(n_epochs + 1)[1:]:  # as `fit.learn` draws
            if seconds and is_traced:
                trace.append((seconds, exact_objective(sample, made.D, lam)))
            with Stopwatch() as watch:
                run_epoch(X, made, rng)
            seconds += watch.seconds
        graded = graded_dictionary(made.D, held, lam, seconds=seconds, n=len(X), n_epochs=n_epochs)
        graded["eq_7"] = objective_by_eq_7(X, made.D, lam, made.codes())
    return graded | {"trace": [*trace, (seconds, graded["objective"])]}
