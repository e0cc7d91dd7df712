"""How soon learners come down to an objective, on four data sets, beside other programs."""

from dataclasses import replace

import numpy as np

from benchmarks.compare_methods import compare_methods
from benchmarks.findings import Finding, Source, all_of
from benchmarks.inputs.labelled_vectors import N_COREL_WORDS, read_sparse_arff
from benchmarks.inputs.patches import patches_of
from benchmarks.inputs.signals import fmri_volumes, unit_signals
from benchmarks.rows import Rows
from benchmarks.scc.learning import our_ol, scc, scikit_learn_ol, spams_ol, traced
from flyannot.dataset.importers.wu2016 import read_patterns
from flyannot.sparse.fit import default_lam, random_patches

_N_EPOCHS, _EPOCHS, _BATCHES = 10, (1, 3, 10), (64, 256)
_HELD_SHARE = 0.2


def measure_times_to_an_objective(setup):
    """Measure the time and the objective of every learner after some epochs."""
    rows = Rows()
    sources = []
    for data, (problem, n, source) in problems_of(setup).items():
        sources.append(source)
        found = compare_methods(setup, _methods(problem, n), data=data)
        quick = found[0]["trace"]
        for row in found:
            end = [(row.get("seconds"), row["objective"])]
            for i, (seconds, value) in enumerate(row.get("trace") or end):
                point = {name: row[name] for name in ("data", "who", "variant", "n", "note")}
                point["program"] = f"{row['who']}, {row['variant']}"
                point |= {"epochs": i + 1 if row.get("trace") else row.get("epochs"), "seconds": seconds}
                rows.append(point | {"objective": value, "times_quicks": _over_quick(quick, seconds, value)})
    return Finding(
        source=all_of(sources),
        variant=f"{setup.sizes['n_atoms']} atoms, lam 1.2/sqrt(features), rows of norm 1, float32; objective "
        "of exact codes of a fifth of the samples, of which nobody learned; times_quicks: seconds over those "
        "that quick takes to the same objective or a lower one",
        rows=rows,
        panels=[_panel(rows.where(data=data)) for data in rows.values("data")],
    )


def _panel(rows):
    return rows.panel(rows[0]["data"], "program", "seconds", "objective", "processor seconds", x_log=True)


def problems_of(setup):
    """Return by data set: the arguments of all learners, the number of samples, and the `Source`."""
    m = setup.sizes["n_atoms"]
    given = patches_of(setup, setup.sizes["n_patches"])
    problems = {"descriptors": (given.problem(m), given.n, given.source)}
    for data, X, source in _signals(setup):
        X = unit_signals(np.asarray(X, np.float32))
        rng = setup.rng(f"peers {data}")
        held, learned = np.split(X[rng.permutation(len(X))], [int(_HELD_SHARE * len(X))])
        files = {"patches": learned, "held": held, "initial": random_patches(learned, m, rng)}
        lam = {"lam": float(default_lam(X.shape[1]))}
        problems[data] = setup.save(f"peers-{data}", **files) | lam, len(learned), source
    return problems


def _signals(setup):
    """Yield name, samples and `Source` of the smaller data sets."""
    patterns = read_patterns(setup.data_file("wu2016"))["patterns"]
    yield "patterns", patterns, Source(f"{len(patterns):,} patterns of Wu et al. 2016")
    yield "fMRI", *fmri_volumes(setup)
    words = read_sparse_arff(setup.data_file("corel5k"))[:, :N_COREL_WORDS]
    yield "Corel5k", words, Source(f"{len(words):,} photographs of Corel5k by {N_COREL_WORDS} visual words")


def _methods(problem, n):
    quick = scc(problem, n, _N_EPOCHS, "quick")
    ours = [traced(method) for method in (quick, our_ol(problem, n, _N_EPOCHS, _BATCHES[-1]))]
    spams = [spams_ol(problem, n, epochs, batch) for batch in _BATCHES for epochs in _EPOCHS]
    slow = scikit_learn_ol(problem, n, _BATCHES[-1])
    more = [replace(slow, arguments=slow.arguments | {"n_epochs": epochs}, note="") for epochs in _EPOCHS[:2]]
    return [*ours, *spams, *more]


def _over_quick(trace, seconds, value):
    """Return the seconds over the seconds of quick to the same objective; None if it never gets there."""
    reached = [spent for spent, objective in trace if value is not None and objective <= value]
    return seconds / reached[0] if reached else None
