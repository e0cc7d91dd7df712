"""descriptors.h5 to dictionary.h5: one dictionary per stage range, or one for all of them."""

import logging
from dataclasses import replace

import numpy as np

from flyannot.descriptors.sift import normalise_descriptors
from flyannot.errors import DataError
from flyannot.runtime.atomic_file import sweep_leftover_files
from flyannot.runtime.blas_threads import one_blas_thread
from flyannot.runtime.digest import digest_of_json
from flyannot.sparse.fit import EpochRecord, default_lam, learn_dictionary, random_patches
from flyannot.sparse.learners import LEARNERS
from flyannot.stage_ranges import rng_for
from flyannot.steps.count import Count
from flyannot.steps.inputs import chosen_stage_ranges, digests_of, open_all
from flyannot.steps.shards import drop_parts, part_path
from flyannot.steps.tasks import Outcome, carry_out, file_task
from flyannot.store.descriptors import n_patches, read_patches
from flyannot.store.dictionary import read_checkpoint, write_checkpoint, write_dictionary, write_trace
from flyannot.store.header import Header
from flyannot.store.reading import open_stored
from flyannot.store.writing import create_stored, difference_of_headers

log = logging.getLogger("flyannot")
PATCHES_PER_ATOM = 10  # at least, or the dictionary is remarked on
VERBOSE = logging.DEBUG + 5  # what -v shows


class NormalisedPatches:
    """Stored descriptors as an array of rows that are centred and scaled to norm 1 as they are read."""

    def __init__(self, stored):
        self._stored = stored

    def __len__(self):
        return len(self._stored)

    def __getitem__(self, rows):
        return normalise_descriptors(self._stored[rows])


def learn_dict(paths, out, options, execution, *, seed=0, stage_ranges=None):
    """Learn one dictionary per stage range, or one that they share.

    Parameters
    ----------
    paths : list of Path of descriptors files, read as if they were one
    out : Path of the dictionary file; its trace goes beside it, as NAME.trace.csv
    options : flyannot.steps.options.LearnOptions
    execution : flyannot.steps.tasks.Execution
    seed : int
    stage_ranges : the stage ranges to learn; None for all that the descriptors have

    Raises
    ------
    DataError
        If there are fewer patches than the dictionary has atoms.
    """
    return carry_out(learn_task(paths, out, options, seed=seed, stage_ranges=stage_ranges), execution)


def learn_task(paths, out, options, *, seed=0, stage_ranges=None):
    """The `flyannot.steps.tasks.Task` of `learn_dict`."""
    options = replace(options, lam=options.lam or default_lam(128))
    with open_all(paths, "descriptors") as files:
        chosen = chosen_stage_ranges(files, stage_ranges)
        learned = header_of_learning(options) | {"stage_ranges": chosen}
        header = Header(
            "dictionary",
            files[0].options | {"learn": learned},
            {"descriptors": [file.digest for file in files]},
            seed,
        )
        digests = digests_of(files)
        shares = [chosen] if options.shared else [[s] for s in chosen]
        _check_counts(files, shares, options)

    def make(execution):
        with open_all(paths, "descriptors", digests=digests) as files, one_blas_thread():
            learned = [
                _learn(files, together, out, header, options, execution.progress) for together in shares
            ]
        runs = {s: run for together, run in zip(shares, learned) for s in together}
        # The trace first: it is there whenever the dictionary is, even if the run is killed between.
        trace = out.with_suffix(".trace.csv")
        sweep_leftover_files(trace)
        write_trace(trace, {s: records for s, (_, records, _) in runs.items()})
        with create_stored(out, header) as file:
            for stage_range, (D, records, count) in runs.items():
                write_dictionary(file, stage_range, D, records, n_patches=count)
        drop_parts(out)
        summary = "\n".join(_summary(_name(s), *run) for s, run in zip(shares, learned))
        return Outcome(out, True, summary)

    return file_task(out, header, make, paths)


def header_of_learning(options):
    """LearnOptions as the header of a dictionary has them, beside its stage ranges."""
    learned = replace(options, lam=options.lam or default_lam(128))
    return learned.as_header() | {"learner_option": learned.settings().as_header()}


def _name(stage_ranges):
    """What learns one dictionary, in messages and for its random numbers."""
    return stage_ranges[0] if len(stage_ranges) == 1 else "all"


def _check_counts(files, shares, options):
    for together in shares:
        count = sum(_counts(files, together))
        if min(count, options.max_patches or count) < options.n_atoms:
            raise DataError(
                f"stage range {', '.join(together)} has {count:,} patches, "
                f"too few for {options.n_atoms:,} atoms",
                fix="lower --n-atoms, lower --stride-px at extraction, or leave out this --stage-range",
            )


def _remark_on_counts(name, n_patches, n_atoms):
    """An atom that few patches share is a copy of one of them, not a pattern."""
    if n_patches < PATCHES_PER_ATOM * n_atoms:
        log.warning(
            "warning: %s: %.1f patches an atom; with fewer than about %d, atoms repeat single patches: "
            "use --n-atoms %d, or more images",
            name, n_patches / n_atoms, PATCHES_PER_ATOM, max(1, n_patches // PATCHES_PER_ATOM),
        )  # fmt: skip


def _learn(files, stage_ranges, out, header, options, progress):
    """Atoms, records and number of patches; from the last finished epoch, if there is one."""
    name, place = _name(stage_ranges), stage_ranges[0]
    rng = rng_for(header.seed, name)
    X = NormalisedPatches(_chosen_patches(files, stage_ranges, options.max_patches, rng))
    _remark_on_counts(name, len(X), options.n_atoms)
    learner = LEARNERS[options.learner](
        random_patches(X, options.n_atoms, rng), len(X), lam=options.lam, **vars(options.settings())
    )
    checkpoint = part_path(out, digest_of_json([place, header.options, header.inputs, header.seed]))
    part_header = replace(header, kind="checkpoint")
    records = _restore(learner, checkpoint, part_header, stage_ranges)
    seconds = records[-1].seconds if records else 0.0
    count = Count(progress, (options.n_epochs - len(records)) * len(X), "patch")
    epochs = learn_dictionary(
        X, learner, n_epochs=options.n_epochs, rng=rng, first_epoch=len(records), seconds=seconds,
        on_samples=count.add,
    )  # fmt: skip
    for record in epochs:
        records.append(record)
        log.info("%5s  epoch %d/%d  %.1f s", name, record.epoch, options.n_epochs, record.seconds)
        log.log(VERBOSE, "%s", _epoch_in_full(record))
        with create_stored(checkpoint, part_header) as file:
            write_checkpoint(file, place, learner.state(), records)
    return np.asarray(learner.D), records, len(X)


def _counts(files, stage_ranges):
    """How many patches each stage range has in all files."""
    return [sum(n_patches(file, s) for file in files) for s in stage_ranges]


def _chosen_patches(files, stage_ranges, max_patches, rng):
    ends = np.cumsum(_counts(files, stage_ranges))
    rows = np.arange(ends[-1])
    if max_patches and max_patches < len(rows):
        rows = np.sort(rng.choice(len(rows), max_patches, replace=False))
    parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
    starts = [0, *ends[:-1]]
    picked = [read_patches(files, s, mine - start) for s, mine, start in zip(stage_ranges, parts, starts)]
    return picked[0] if len(picked) == 1 else np.concatenate(picked)


def _restore(learner, checkpoint, header, stage_ranges):
    if difference_of_headers(checkpoint, header):
        return []
    with open_stored(checkpoint, "checkpoint") as stored:
        state, records = read_checkpoint(stored, stage_ranges[0])
    learner.restore(state)
    log.info("%5s  continues after epoch %d", _name(stage_ranges), len(records))
    return [EpochRecord(**one) for one in records]


def _epoch_in_full(record):
    return (
        f"       objective {record.objective:.5f} (gap {record.gap:.1e}; "
        f"with stored codes {record.objective_stored:.5f})  "
        f"{record.mean_nonzeros:.1f} non-zeros  {record.n_unused_atoms} atoms unused"
    )


def _summary(name, D, records, count):
    n_unused = records[-1].n_unused_atoms
    unused = f", {n_unused:,} of them unused" if n_unused else ""
    return f"{name:>5}: {len(D):,} atoms from {count:,} patches{unused}"
