"""descriptors.h5 to dictionary.h5: one dictionary per stage range, or one for all of them."""

import logging
from dataclasses import replace

import numpy as np

from flyannot.errors import DataError
from flyannot.runtime.atomic_file import sweep_leftover_files
from flyannot.runtime.digest import digest_of_json
from flyannot.runtime.resources import one_blas_thread, require_bytes
from flyannot.runtime.wording import pluralise
from flyannot.sparse.fit import gains_too_little, learn_dictionary, random_patches
from flyannot.sparse.learners import LEARNERS
from flyannot.stage_ranges import rng_for
from flyannot.steps.engine.inputs import chosen_stage_ranges, digests_of, open_all
from flyannot.steps.engine.parts import drop_parts, part_path
from flyannot.steps.engine.task import Outcome, ProgressCount, file_task
from flyannot.steps.learn_data_parallel import learn_data_parallel
from flyannot.steps.learning_checkpoint import Checkpoint, log_record, remark_on_counts
from flyannot.steps.patch_blocks import NormalisedPatches
from flyannot.store.descriptors import n_patches, read_patches
from flyannot.store.dictionary import write_dictionary, write_trace
from flyannot.store.header import Header
from flyannot.store.writing import create_stored

log = logging.getLogger("flyannot")
_BYTES_OF_PATCH = 330  # its descriptor, and its codes of this epoch and the last


def task_of_step(asked):
    """The `flyannot.steps.engine.task.Task` of what a `flyannot.steps.engine.step.Asked` asks for."""
    stage_ranges = asked.selection.stage_range
    paths = asked.inputs["descriptors"]
    return learn_task(paths, asked.out, asked.options, seed=asked.seed, stage_ranges=stage_ranges)


def learn_task(paths, out, options, *, seed=0, stage_ranges=None):
    """The task that learns one dictionary per stage range, or one that they share.

    Parameters
    ----------
    paths : list of Path of descriptors files, read as if they were one
    out : Path of the dictionary file; its trace goes beside it, as NAME.trace.csv
    options : flyannot.steps.options.LearnOptions
    seed : int
    stage_ranges : the stage ranges to learn; None for all that the descriptors have

    Returns
    -------
    task : flyannot.steps.engine.task.Task

    Raises
    ------
    DataError
        If there are fewer patches than the dictionary has atoms.
    """
    with open_all(paths, "descriptors") as files:
        chosen = chosen_stage_ranges(files, stage_ranges)
        learned = options.as_header() | {"stage_ranges": chosen}
        header = Header(
            "dictionary",
            files[0].options | {"learn-dict": learned},
            {"descriptors": [file.digest for file in files]},
            seed,
        )
        digests = digests_of(files)
        together = [chosen] if options.shared else [[s] for s in chosen]
        _check_counts(files, together, options)

    def make(execution):
        with open_all(paths, "descriptors", digests=digests) as files, one_blas_thread():
            learned = [_learn(files, some, out, header, options, execution) for some in together]
        runs = {s: run for some, run in zip(together, learned) for s in some}
        # The trace first: it is there whenever the dictionary is, even if the run is killed between.
        trace = out.with_suffix(".trace.csv")
        sweep_leftover_files(trace)
        write_trace(trace, {s: records for s, (_, records, _) in runs.items()})
        with create_stored(out, header) as file:
            for stage_range, (D, records, count) in runs.items():
                write_dictionary(file, stage_range, D, records, n_patches=count)
        drop_parts(out)
        summary = "\n".join(_summary(_name(s), *run) for s, run in zip(together, learned))
        return Outcome(out, True, summary)

    return file_task(out, header, make, paths)


def _name(stage_ranges):
    """What learns one dictionary, in messages and for its random numbers."""
    return stage_ranges[0] if len(stage_ranges) == 1 else "all"


def _check_counts(files, together, options):
    for stage_ranges in together:
        count = sum(_counts(files, stage_ranges))
        if options.n_most(count) < options.n_atoms:
            raise DataError(
                f"stage range {', '.join(stage_ranges)} has {pluralise(count, 'patch', 'patches')}, "
                f"too few for {pluralise(options.n_atoms, 'atom')}",
                fix="lower --n-atoms, lower --stride-px at extraction, or leave out this --stage-range",
            )


def _learn(files, stage_ranges, out, header, options, execution):
    """Atoms, records and number of patches; from the last checkpoint, if there is one."""
    name, place = _name(stage_ranges), stage_ranges[0]
    path = part_path(out, digest_of_json([place, header.options, header.inputs, header.seed]))
    checkpoint = Checkpoint(path, replace(header, kind="checkpoint"), place)
    rng = rng_for(header.seed, name)
    if options.data_parallel:
        return learn_data_parallel(files, stage_ranges, name, checkpoint, options, execution, rng)
    n_all = sum(_counts(files, stage_ranges))
    _require_memory(options.n_most(n_all), options)
    X = NormalisedPatches(_chosen_patches(files, stage_ranges, options.n_most(n_all), rng))
    remark_on_counts(name, len(X), options.n_atoms)
    learner = LEARNERS[options.learner](
        random_patches(X, options.n_atoms, rng), len(X), lam=options.lam_in_use, **vars(options.settings())
    )
    state, records = checkpoint.read(name)
    if state:
        learner.restore(state)
    seconds = records[-1].seconds if records else 0.0
    count = ProgressCount(execution.progress, (options.n_epochs - len(records)) * len(X), "patch")
    epochs = learn_dictionary(
        X, learner, n_epochs=options.n_epochs, rng=rng, first_epoch=len(records), seconds=seconds,
        on_samples=count.add,
    )  # fmt: skip
    while not gains_too_little(records, options.tol) and (record := next(epochs, None)):
        records.append(record)
        log_record(name, record, options.n_epochs)
        checkpoint.write(learner.state(), records)
    count.finish()
    return np.asarray(learner.D), records, len(X)


def _require_memory(count, options):
    more = "" if options.memory is None else ", or allow more --memory"
    require_bytes(
        _BYTES_OF_PATCH * count, f"learning from {count:,} patches in memory", memory=options.memory,
        fix=f"add --data-parallel 16, which reads them as they are visited, or --max-patches auto{more}",
    )  # fmt: skip


def _counts(files, stage_ranges):
    """How many patches each stage range has in all files."""
    return [sum(n_patches(file, s) for file in files) for s in stage_ranges]


def _chosen_patches(files, stage_ranges, n, rng):
    ends = np.cumsum(_counts(files, stage_ranges))
    rows = np.arange(ends[-1])
    if n < len(rows):
        rows = np.sort(rng.choice(len(rows), n, replace=False))
    parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
    starts = [0, *ends[:-1]]
    picked = [read_patches(files, s, mine - start) for s, mine, start in zip(stage_ranges, parts, starts)]
    return picked[0] if len(picked) == 1 else np.concatenate(picked)


def _summary(name, D, records, count):
    n_unused = records[-1].n_unused_atoms
    unused = f", {n_unused:,} of them unused" if n_unused else ""
    return f"{name:>5}: {pluralise(len(D), 'atom')} from {pluralise(count, 'patch', 'patches')}{unused}"
