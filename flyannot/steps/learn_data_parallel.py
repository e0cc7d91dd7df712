"""Learning one dictionary data-parallel: patches are read from their files as they are visited."""

from contextlib import contextmanager

import numpy as np

from flyannot.runtime.executor import Executor
from flyannot.runtime.resources import allowed_bytes
from flyannot.sparse.data_parallel import (
    LearningPlan,
    LearningProgress,
    SharedAtoms,
    begin_rounds,
    has_converged,
    learn_in_rounds,
    visit_part,
)
from flyannot.steps.engine.task import ProgressCount
from flyannot.steps.learning_checkpoint import log_end, log_record, remark_on_counts
from flyannot.steps.options import BYTES_OF_WORKER
from flyannot.steps.patch_blocks import units_of
from flyannot.store.file_cache import close_cached_files

_WORTH_SENDING = 20_000  # patches of a round that are more work than sending them to workers


def learn_data_parallel(files, stage_ranges, name, checkpoint, options, execution, rng):
    """Atoms, records and number of patches visited; from the last round, if there is a checkpoint.

    Parameters
    ----------
    files : open descriptors files
    stage_ranges : those that learn together
    name : how messages call them
    checkpoint : flyannot.steps.learning_checkpoint.Checkpoint
    options : flyannot.steps.options.LearnOptions
    execution : flyannot.steps.engine.task.Execution
    rng : Generator
    """
    source = units_of(files, stage_ranges)
    n_patches = int(source.sizes.sum())
    if options.n_most(n_patches) < n_patches:
        source = source.at_most(options.max_patches, rng)
        n_patches = int(source.sizes.sum())
    remark_on_counts(name, n_patches, options.n_atoms)
    plan = LearningPlan(
        options.data_parallel,
        options.n_epochs,
        options.lam_in_use,
        options.settings(),
        tuple(rng.integers(2**63, size=2).tolist()),
        options.tol,
    )
    first, held = begin_rounds(source, options.n_atoms, plan)
    progress = before = _restored(first, *checkpoint.read(name))
    count = ProgressCount(execution.progress, options.n_epochs * n_patches, "patch")
    count.add(progress.atoms.n_visits)
    n_records = len(before.records)
    with _workers_that_fit(execution.workers, options.memory) as workers:
        for progress in learn_in_rounds(source, held, before, plan, _runner(workers, count)):
            for record in progress.records[n_records:]:
                log_record(name, record, options.n_epochs)
            n_records = len(progress.records)
            checkpoint.write(_state(progress), progress.records)
    count.finish()
    close_cached_files()
    if has_converged(progress, plan):
        log_end(name, progress.records, plan.tol)
    return np.asarray(progress.atoms.D), progress.records, min(n_patches, progress.atoms.n_visits)


@contextmanager
def _workers_that_fit(workers, memory):
    """Those workers; of this machine no more than there is memory for."""
    n = max(1, allowed_bytes(memory) // BYTES_OF_WORKER)
    if workers.scheduler is not None or n >= workers.jobs:
        yield workers
        return
    with Executor(n) as fewer:
        yield fewer


def _runner(workers, count):
    """What carries out the tasks of a round: here, or by the workers."""

    def run(tasks):
        is_worth_sending = sum(task.n_samples for task in tasks) > _WORTH_SENDING
        done = (workers if is_worth_sending else Executor()).run_all(
            _visit, tasks, on_done=lambda result: count.add(result[0]),
            name=lambda task: f"share {task.spawn_key[-1]} of the patches",
            reads=lambda task: [path for path, _ in task.source.files],
        )  # fmt: skip
        return [found for _, found in done]

    return run


def _visit(task):
    return task.n_samples, visit_part(task)


def _state(progress):
    """What a checkpoint has of it: a dict of arrays."""
    return progress.atoms._asdict() | {"n_rounds": progress.n_rounds, "seconds": progress.seconds}


def _restored(progress, state, records):
    """The progress that a checkpoint holds, if there is one, in the place of the first."""
    if not state:
        return progress
    numbers = {name: state.pop(name).item() for name in ("n_rounds", "seconds", "n_visits")}
    atoms = SharedAtoms(n_visits=numbers["n_visits"], **state)
    return LearningProgress(atoms, numbers["n_rounds"], numbers["seconds"], records)
