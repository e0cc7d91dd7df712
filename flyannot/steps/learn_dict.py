"""descriptors.h5 to dictionary.h5: one dictionary per stage range."""

import logging
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from flyannot.descriptors import normalise
from flyannot.errors import DataError
from flyannot.executor import one_blas_thread
from flyannot.sparse.fit import default_lam, learn, random_patches
from flyannot.sparse.learners import learner_class, resolved_settings
from flyannot.stage_ranges import rng_for
from flyannot.steps.inputs import chosen_stage_ranges, open_all
from flyannot.steps.output import Outcome, output_of
from flyannot.steps.shards import drop_parts, part_path
from flyannot.store.descriptors import n_patches, read_patches
from flyannot.store.dictionary import read_checkpoint, write_checkpoint, write_dictionary, write_trace
from flyannot.store.digest import digest_of_json
from flyannot.store.header import Header
from flyannot.store.reading import open_stored
from flyannot.store.writing import create, difference

log = logging.getLogger("flyannot")


@dataclass(frozen=True)
class LearnOptions:
    """How a dictionary is learned.  `settings` are the learner's own."""

    learner: str = "scc"
    n_atoms: int = 1000
    lam: float | None = None  # None: 1.2 / sqrt(n_features)
    n_epochs: int = 10
    max_patches: int | None = None
    init: str = "random-patches"
    settings: dict = field(default_factory=dict)


class NormalisedPatches:
    """Stored descriptors as an array of rows that are centred and scaled to norm 1 as they are read."""

    def __init__(self, stored):
        self._stored = stored

    def __len__(self):
        return len(self._stored)

    def __getitem__(self, rows):
        return normalise(self._stored[rows])


def learn_dict(paths, out, options, work, *, seed=0, stage_ranges=None):
    """Learn one dictionary per stage range.

    Parameters
    ----------
    paths : list of Path of descriptors files, read as if they were one
    out : Path of the dictionary file; its trace goes beside it, as NAME.trace.csv
    options : LearnOptions
    work : flyannot.steps.output.Work
    seed : int
    stage_ranges : the stage ranges to learn; None for all that the descriptors have

    Raises
    ------
    DataError
        If a stage range has fewer patches than the dictionary has atoms.
    """
    with open_all(paths, "descriptors") as files:
        options = replace(
            options,
            lam=options.lam or default_lam(128),
            settings=resolved_settings(options.learner, options.settings),
        )
        chosen = chosen_stage_ranges(files, stage_ranges)
        header = Header(
            "dictionary",
            asdict(options)
            | {"settings": _recorded(options.settings)}
            | {"stage_ranges": chosen, "extract": files[0].options},
            {"descriptors": [file.digest for file in files]},
            seed,
        )
        _check_counts(files, chosen, options)
        with output_of(out, header, work, inputs=paths) as must_make:
            if not must_make:
                return Outcome(out, False, "up to date")
            with one_blas_thread():
                runs = {s: _learn_stage_range(files, s, out, header, options) for s in chosen}
            # The trace first: it is there whenever the dictionary is, even if the run is killed between.
            write_trace(out.with_suffix(".trace.csv"), {s: records for s, (_, records, _) in runs.items()})
            with create(out, header) as file:
                for stage_range, (D, records, count) in runs.items():
                    write_dictionary(file, stage_range, D, records, n_patches=count)
            drop_parts(out)
    return Outcome(out, True, "\n".join(_summary(s, *run) for s, run in runs.items()))


def _recorded(settings):
    """What decides the bits, as strict JSON: threads do not, and "no bound" is null."""
    return {k: None if v == np.inf else v for k, v in settings.items() if k != "n_threads"}


def _check_counts(files, stage_ranges, options):
    for stage_range in stage_ranges:
        count = sum(n_patches(file, stage_range) for file in files)
        if min(count, options.max_patches or count) < options.n_atoms:
            raise DataError(
                f"stage range {stage_range} has {count:,} patches, too few for {options.n_atoms:,} atoms",
                fix="lower --n-atoms, lower --stride-px at extraction, or leave out this --stage-range",
            )


def _learn_stage_range(files, stage_range, out, header, options):
    """Atoms, records and number of patches; from the last finished epoch, if there is one."""
    rng = rng_for(header.seed, stage_range)
    X = NormalisedPatches(_chosen_patches(files, stage_range, options.max_patches, rng))
    learner = learner_class(options.learner)(
        random_patches(X, options.n_atoms, rng), len(X), lam=options.lam, **options.settings
    )
    checkpoint = part_path(out, digest_of_json([stage_range, header.options, header.inputs, header.seed]))
    part_header = replace(header, kind="checkpoint")
    records = _restore(learner, checkpoint, part_header, stage_range)
    seconds = records[-1].seconds if records else 0.0
    epochs = learn(X, learner, n_epochs=options.n_epochs, rng=rng, first_epoch=len(records), seconds=seconds)
    for record in epochs:
        records.append(record)
        log.info("%s", _epoch_line(stage_range, record, options.n_epochs))
        with create(checkpoint, part_header) as file:
            write_checkpoint(file, stage_range, learner.state(), records)
    return np.asarray(learner.D), records, len(X)


def _chosen_patches(files, stage_range, max_patches, rng):
    count = sum(n_patches(file, stage_range) for file in files)
    rows = np.arange(count)
    if max_patches and max_patches < count:
        rows = np.sort(rng.choice(count, max_patches, replace=False))
    return read_patches(files, stage_range, rows)


def _restore(learner, checkpoint, header, stage_range):
    if difference(checkpoint, header):
        return []
    with open_stored(checkpoint, "checkpoint") as stored:
        state, records = read_checkpoint(stored, stage_range)
    learner.restore(state)
    log.info("%5s  continues after epoch %d", stage_range, len(records))
    return records


def _epoch_line(stage_range, record, n_epochs):
    return (
        f"{stage_range:>5}  epoch {record.epoch}/{n_epochs}  {record.seconds:.1f} s  "
        f"objective {record.objective:.5f} (gap {record.gap:.1e}; "
        f"with stored codes {record.objective_stored:.5f})  "
        f"{record.mean_nonzeros:.1f} non-zeros  {record.n_unused_atoms} atoms unused"
    )


def _summary(stage_range, D, records, count):
    last = records[-1]
    return (
        f"{stage_range:>5}: {len(D):,} atoms from {count:,} patches, objective {last.objective:.5f}, "
        f"{last.mean_nonzeros:.1f} non-zeros per code, {last.n_unused_atoms} atoms unused"
    )
