"""One pass over more patches than fit in memory: what a worker does.

It imports no more than `flyannot learn-dict` does, for its memory is measured.
"""

import os

import numpy as np

from benchmarks.inputs.perturbed import perturbed_units
from benchmarks.measures import Stopwatch
from benchmarks.workers import peak_mb
from flyannot.runtime.executor import Executor
from flyannot.runtime.resources import one_blas_thread
from flyannot.sparse.data_parallel import LearningPlan, begin_rounds, learn_in_rounds, visit_part
from flyannot.sparse.learners.scc import SCCOptions

N_SHARES = 16
NOISE = 6  # of a number of 0 to 255
_SEED = 1


def learn_perturbed(patches, lam, n, n_atoms, jobs, noise, keep=None):
    """In a worker: one pass over n patches of a file, each with noise, by `jobs` processes.

    The objective is that of exact codes of other such patches.  `seconds` are by the clock,
    `processor_seconds` those of all processes; `peak_mb` is the largest of a process and `peak_sum_mb` the
    sum of all.  With `keep`, the start of a path, the atoms of every record of the trace are kept as files.
    """
    source = perturbed_units(patches, n, noise)
    plan = LearningPlan(N_SHARES, 1, lam, SCCOptions(variant="quick"), (_SEED,))
    peaks, working_s, kept = {}, [], []
    with one_blas_thread(), Stopwatch() as watch, Executor(jobs) as workers:
        first, held = begin_rounds(source, n_atoms, plan)

        def run(tasks):
            done = workers.run_all(_visit_and_cost, tasks)
            for _, process, peak, seconds in done:
                peaks[process] = max(peak, peaks.get(process, 0))
                working_s.append(seconds if process != os.getpid() else 0.0)
            return [found for found, *_ in done]

        for progress in learn_in_rounds(source, held, first, plan, run):
            if keep and len(progress.records) > len(kept):
                kept.append(f"{keep}-{progress.atoms.n_visits}.npy")
                np.save(kept[-1], progress.atoms.D)
    peaks[os.getpid()] = peak_mb()
    record, n = progress.records[-1], progress.atoms.n_visits
    return {
        "n": n, "epochs": 1, "seconds": progress.seconds, "us_per_sample": 1e6 * progress.seconds / n,
        "processor_seconds": watch.seconds + sum(working_s),
        "objective": record.objective, "gap": record.gap, "nonzeros": record.mean_nonzeros,
        "peak_mb": max(peaks.values()), "peak_sum_mb": sum(peaks.values()), "rounds": progress.n_rounds,
        "n_visits": [one.n_visits for one in progress.records],
        "objectives": [one.objective for one in progress.records], "kept": kept,
    }  # fmt: skip


def _visit_and_cost(task):
    with Stopwatch() as watch:
        found = visit_part(task)
    return found, os.getpid(), peak_mb(), watch.seconds
