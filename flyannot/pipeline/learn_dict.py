"""From descriptors.h5 to dictionary.h5: one dictionary per stage range, or one for all of them.

The patches are in memory, or are read from their files as they are visited in data-parallel learning.
"""

import logging
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from flyannot.base.errors import DataError
from flyannot.base.stage_ranges import stage_range_rng
from flyannot.base.text import pluralise
from flyannot.files.digest import json_digest
from flyannot.files.hdf5.descriptors import count_patches, read_patches
from flyannot.files.hdf5.dictionary import read_checkpoint, write_checkpoint, write_dictionary, write_trace
from flyannot.files.hdf5.file_cache import close_cached_files
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.writing import create_stored_file, header_mismatch
from flyannot.jobs.executor import Executor
from flyannot.jobs.resources import available_bytes, limit_blas_threads, require_memory
from flyannot.pipeline.engine.inputs import choose_stage_ranges, digests_by_path, open_compatible
from flyannot.pipeline.engine.parts import part_path, remove_parts
from flyannot.pipeline.engine.task import FileTask, Outcome, ProgressCount
from flyannot.pipeline.options import BYTES_OF_WORKER, PATCHES_PER_ATOM
from flyannot.pipeline.patch_blocks import NormalisedPatches, build_patch_blocks
from flyannot.sparse.data_parallel import (
    LearningPlan,
    LearningProgress,
    SharedAtoms,
    draw_initial_state,
    has_converged,
    learn_in_rounds,
    visit_part,
)
from flyannot.sparse.fit import EpochRecord, has_small_gain, learn_dictionary, random_patches
from flyannot.sparse.learners import LEARNERS

log = logging.getLogger("flyannot")
_VERBOSE = logging.DEBUG + 5  # level of the messages that -v shows
_BYTES_OF_PATCH = 330  # a descriptor, and its codes of this epoch and the last
_WORTH_SENDING = 20_000  # patches; sending fewer to workers takes longer than visiting them here


def build_task(request):
    """Build the Task that learns dictionaries, for a StepRequest of `flyannot learn-dict`."""
    stage_ranges = request.selection.stage_range
    paths = request.inputs["descriptors"]
    return learn_task(paths, request.out, request.options, seed=request.seed, stage_ranges=stage_ranges)


def learn_task(paths, out, options, *, seed=0, stage_ranges=None):
    """Build the task that learns one dictionary per stage range, or a shared one.

    Parameters
    ----------
    paths : list of Path of descriptors files, which count as one
    out : Path of the dictionary file; the trace is written beside it, as NAME.trace.csv
    options : LearnOptions
    seed : int
    stage_ranges : the stage ranges to learn; None for all in the descriptors

    Returns
    -------
    task : Task

    Raises
    ------
    DataError
        If no stage range has enough patches. If only some have too few, they are left out with a warning.
    """
    options = options.resolve()
    with open_compatible(paths, "descriptors") as files:
        chosen = choose_stage_ranges(files, stage_ranges)
        wanted = [tuple(chosen)] if options.shared else [(s,) for s in chosen]
        dictionaries = _choose_n_atoms(files, wanted, options)
        chosen = [s for stage_ranges in dictionaries for s in stage_ranges]
        n_atoms = {_join_name(ranges): own_options.n_atoms for ranges, own_options in dictionaries.items()}
        if len(set(n_atoms.values())) == 1:
            (n_atoms,) = set(n_atoms.values())
        learned = options.to_header() | {"n_atoms": n_atoms, "stage_ranges": chosen}
        digests = digests_by_path(files)
        made_of = {"descriptors": list(digests.values())}
        header = Header("dictionary", files[0].options | {"learn-dict": learned}, made_of, seed)

    def make(execution):
        with open_compatible(paths, "descriptors", digests=digests) as files, limit_blas_threads():
            learned = {
                stage_ranges: _learn(files, stage_ranges, out, header, own_options, execution)
                for stage_ranges, own_options in dictionaries.items()
            }
        runs = {s: run for stage_ranges, run in learned.items() for s in stage_ranges}
        # The trace is written first, so that it exists if the dictionary does, even after a kill.
        write_trace(trace, {s: records for s, (_, records, _) in runs.items()})
        with create_stored_file(out, header) as file:
            for stage_range, (D, records, count) in runs.items():
                write_dictionary(file, stage_range, D, records, n_patches=count)
        remove_parts(out)
        summary = "\n".join(_summary(_join_name(ranges), *run) for ranges, run in learned.items())
        return Outcome(out, True, summary)

    trace = out.with_suffix(".trace.csv")
    return FileTask(out, header, make, paths, tables={trace: ("stage_range", "epoch", "objective")})


def _join_name(stage_ranges):
    """Return the name of the dictionary of some stage ranges, for messages and as seed of its generator."""
    return stage_ranges[0] if len(stage_ranges) == 1 else "all"


def _choose_n_atoms(files, wanted, options):
    """Return the options with a number of atoms for every dictionary with enough patches.

    Parameters
    ----------
    files : open descriptors files
    wanted : list of tuples of stage ranges, one for each dictionary
    options : LearnOptions

    Returns
    -------
    chosen : dict, tuple of stage ranges -> LearnOptions
    """
    counts = {stage_ranges: sum(_count_patches(files, stage_ranges)) for stage_ranges in wanted}
    n_atoms = {stage_ranges: options.n_atoms_for(count) for stage_ranges, count in counts.items()}
    few = [
        pluralise(count, f"patch of {', '.join(ranges)}", f"patches of {', '.join(ranges)}")
        for ranges, count in counts.items()
        if not n_atoms[ranges]
    ]
    atoms = pluralise(options.n_atoms or 1, "atom")
    most = max(map(options.n_most, counts.values()))
    if len(few) == len(counts):
        raise DataError(
            f"{' and '.join(few)}: too few for {atoms}",
            fix=f"lower n-atoms to {max(1, most // PATCHES_PER_ATOM)} or leave it out, lower stride-px at "
            "extraction, or add images",
        )
    for patches in few:
        log.warning("warning: left out, too few for %s: %s", atoms, patches)
    return {stage_ranges: replace(options, n_atoms=n) for stage_ranges, n in n_atoms.items() if n}


def _learn(files, stage_ranges, out, header, options, execution):
    """Learn one dictionary, starting from its last checkpoint if there is one.

    Parameters
    ----------
    files : list of StoredFile of descriptors
    stage_ranges : tuple of the stage ranges of the dictionary
    out : Path of the dictionary file
    header : its Header
    options : LearnOptions
    execution : Execution

    Returns
    -------
    D : float32 array (n_atoms, n_descriptor)
    records : list of EpochRecord
    n_patches : int
    """
    name = _join_name(stage_ranges)
    place = stage_ranges[0]
    path = part_path(out, json_digest([place, header.options, header.inputs, header.seed]))
    checkpoint = _Checkpoint(path, replace(header, kind="checkpoint"), place)
    rng = stage_range_rng(header.seed, name)
    if options.data_parallel:
        return _learn_data_parallel(files, stage_ranges, name, checkpoint, options, execution, rng)
    count = options.n_most(sum(_count_patches(files, stage_ranges)))
    require_memory(
        _BYTES_OF_PATCH * count,
        f"learning from {count:,} patches in memory",
        fix="add --data-parallel 16, which reads them as they are visited, or --max-patches auto",
    )
    X = NormalisedPatches(_choose_patches(files, stage_ranges, count, rng))
    _warn_of_few_patches(name, len(X), options.n_atoms)
    learner = LEARNERS[options.learner](
        random_patches(X, options.n_atoms, rng), len(X), lam=options.lam, **vars(options.settings())
    )
    state, records = checkpoint.read(name)
    if state:
        learner.restore(state)
    progress = ProgressCount(execution.progress, (options.n_epochs - len(records)) * len(X), "patch")
    epochs = learn_dictionary(
        X,
        learner,
        n_epochs=options.n_epochs,
        rng=rng,
        on_samples=progress.add,
        first_epoch=len(records),
        seconds=records[-1].seconds if records else 0.0,
    )
    while not has_small_gain(records, options.tol) and (record := next(epochs, None)):
        records.append(record)
        _log_record(name, record, options.n_epochs)
        checkpoint.write(learner.state(), records)
    progress.finish()
    return np.asarray(learner.D), records, len(X)


def _count_patches(files, stage_ranges):
    """Return the number of patches of each stage range in all files."""
    return [sum(count_patches(file, s) for file in files) for s in stage_ranges]


def _choose_patches(files, stage_ranges, n, rng):
    """Return n patches of all files, drawn at random."""
    ends = np.cumsum(_count_patches(files, stage_ranges))
    rows = np.arange(ends[-1])
    if n < len(rows):
        rows = np.sort(rng.choice(len(rows), n, replace=False))
    parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
    starts = [0, *ends[:-1]]
    picked = [read_patches(files, s, part - start) for s, part, start in zip(stage_ranges, parts, starts)]
    return picked[0] if len(picked) == 1 else np.concatenate(picked)


def _summary(name, D, records, count):
    """Return a line on one dictionary: its numbers of atoms and of patches.

    name : of the dictionary; D : its atoms; records : list of EpochRecord; count : number of patches
    """
    n_unused = records[-1].n_unused_atoms
    unused = f", {n_unused:,} of them unused" if n_unused else ""
    return f"{name:>5}: {pluralise(len(D), 'atom')} from {pluralise(count, 'patch', 'patches')}{unused}"


@dataclass(frozen=True)
class _Checkpoint:
    """The checkpoint of one dictionary: a file with the state of its learner, for continuing later."""

    path: Path
    header: Header
    place: str

    def read(self, name):
        """Return the state (a dict of arrays) and the list of records.

        Both are empty without a checkpoint.
        """
        if header_mismatch(self.path, self.header):
            return {}, []
        with open_stored_file(self.path, "checkpoint") as stored:
            state, records = read_checkpoint(stored, self.place)
        if records:
            log.info("%5s  continues after epoch %d", name, records[-1]["epoch"])
        return state, [EpochRecord(**record) for record in records]

    def write(self, state, records):
        """Replace the checkpoint by a new state (a dict of arrays) and the list of records."""
        with create_stored_file(self.path, self.header) as file:
            write_checkpoint(file, self.place, state, records)


def _warn_of_few_patches(name, n_patches, n_atoms):
    """Log a warning if there are few patches per atom, because atoms then copy single patches.

    name : of the dictionary
    """
    if n_patches < PATCHES_PER_ATOM * n_atoms:
        fewer = max(1, n_patches // PATCHES_PER_ATOM)
        log.warning(
            f"warning: {name}: {n_patches / n_atoms:.1f} patches per atom; with fewer than about "
            f"{PATCHES_PER_ATOM}, atoms repeat single patches: use --n-atoms {fewer}, or more images"
        )


def _log_record(name, record, n_epochs):
    """Log a line for a record of the trace, and a second one with -v."""
    log.info(
        f"{name:>5}  epoch {record.epoch}/{n_epochs}  {record.n_visits:,} patches  {record.seconds:.1f} s"
    )
    stored = "" if np.isnan(record.objective_stored) else f"; with stored codes {record.objective_stored:.5f}"
    log.log(
        _VERBOSE,
        f"       objective {record.objective:.5f} (gap {record.gap:.1e}{stored})  "
        f"{record.mean_nonzeros:.1f} non-zeros  {record.n_unused_atoms} atoms unused",
    )


def _learn_data_parallel(files, stage_ranges, name, checkpoint, options, execution, rng):
    """Learn one dictionary in rounds, in each of which several workers learn from their blocks of patches.

    Parameters
    ----------
    files, stage_ranges, options, execution : as in `_learn`
    name : of the dictionary
    checkpoint : _Checkpoint
    rng : numpy Generator

    Returns
    -------
    As `_learn`; each patch that was used counts once.
    """
    source = build_patch_blocks(files, stage_ranges)
    n_patches = int(source.sizes.sum())
    if options.n_most(n_patches) < n_patches:
        source = source.at_most(options.max_patches, rng)
        n_patches = int(source.sizes.sum())
    _warn_of_few_patches(name, n_patches, options.n_atoms)
    plan = LearningPlan(
        options.data_parallel,
        options.n_epochs,
        options.lam,
        options.settings(),
        tuple(rng.integers(2**63, size=2).tolist()),
        options.tol,
    )
    first, held = draw_initial_state(source, options.n_atoms, plan)
    progress = restored = _restore_progress(first, *checkpoint.read(name))
    count = ProgressCount(execution.progress, options.n_epochs * n_patches, "patch")
    count.add(progress.atoms.n_visits)
    n_records = len(restored.records)
    with _workers_that_fit(execution.workers) as workers:
        for progress in learn_in_rounds(source, held, restored, plan, _build_runner(workers, count)):
            for record in progress.records[n_records:]:
                _log_record(name, record, options.n_epochs)
            n_records = len(progress.records)
            so_far = {"n_rounds": progress.n_rounds, "seconds": progress.seconds}
            checkpoint.write(progress.atoms._asdict() | so_far, progress.records)
    count.finish()
    close_cached_files()
    if plan.tol is not None and has_converged(progress, plan):
        before, last = progress.records[-2:]
        log.info(
            f"{name:>5}  {last.n_visits:,} visits to patches instead of {before.n_visits:,} lower the "
            f"objective by {1 - last.objective / before.objective:.2%}, less than {100 * plan.tol:g}%"
        )
    return np.asarray(progress.atoms.D), progress.records, min(n_patches, progress.atoms.n_visits)


@contextmanager
def _workers_that_fit(workers):
    """Reduce the workers on this machine to as many as memory allows.

    This is a context manager that yields the workers.
    """
    n = max(1, available_bytes() // BYTES_OF_WORKER)
    if workers.scheduler is not None or n >= workers.jobs:
        yield workers
        return
    with Executor(n) as fewer:
        yield fewer


def _build_runner(workers, count):
    """Return a function that carries out the tasks of a round, in this process or by workers.

    workers : object with `map`, or None for this process; count : ProgressCount of patches
    """

    def run(tasks):
        is_worth_sending = sum(task.n_samples for task in tasks) > _WORTH_SENDING
        done = (workers if is_worth_sending else Executor()).run_all(
            _visit_part,
            tasks,
            on_done=lambda result: count.add(result[0]),
            name=lambda task: f"part {task.spawn_key[-1]} of the patches",
            reads=lambda task: [path for path, _ in task.source.files],
        )
        return [visited for _, visited in done]

    return run


def _visit_part(task):
    """Learn from the samples of one task in a worker, and return their number and the result."""
    return task.n_samples, visit_part(task)


def _restore_progress(progress, state, records):
    """Return the progress of data-parallel learning as the checkpoint has it.

    `progress` without a checkpoint.

    Parameters
    ----------
    progress : the progress at the start
    state : dict of arrays, and records : list, as `_Checkpoint.read` returns
    """
    if not state:
        return progress
    numbers = {name: state.pop(name).item() for name in ("n_rounds", "seconds", "n_visits")}
    atoms = SharedAtoms(n_visits=numbers["n_visits"], **state)
    return LearningProgress(atoms, numbers["n_rounds"], numbers["seconds"], records)
