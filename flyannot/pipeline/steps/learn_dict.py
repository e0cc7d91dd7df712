"""From descriptors.h5 to dictionary.h5: one dictionary per stage range, or one for all of them."""

import logging
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flyannot.base.errors import DataError
from flyannot.base.stage_ranges import stage_range_rng
from flyannot.base.text import pluralise
from flyannot.files.digest import json_digest
from flyannot.files.hdf5.descriptors import count_patches, read_patches
from flyannot.files.hdf5.dictionary import read_checkpoint, write_checkpoint, write_dictionary, write_trace
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.writing import create_stored_file, header_mismatch
from flyannot.images.sift import normalise_descriptors
from flyannot.jobs.executor import map_ordered
from flyannot.jobs.resources import available_bytes, limit_blas_threads, require_memory
from flyannot.pipeline.engine.inputs import choose_stage_ranges, digests_by_path, open_compatible
from flyannot.pipeline.engine.parts import part_path, remove_parts
from flyannot.pipeline.engine.task import FileTask, Outcome, ProgressCount
from flyannot.pipeline.options import PATCHES_PER_ATOM
from flyannot.sparse.fit import EpochRecord, has_small_gain, learn_dictionary, random_patches
from flyannot.sparse.learners import LEARNERS

log = logging.getLogger("flyannot")
_VERBOSE = logging.DEBUG + 5  # level of the messages that -v shows
_WORDS = "patch", "patches"


def build_task(request):
    """Build the Task that learns dictionaries, for a StepRequest of `flyannot learn-dict`."""
    more = {"seed": request.seed, "stage_ranges": request.selection.stage_range}
    return DictionaryTask(request.inputs["descriptors"], request.out, request.options, **more)


class DictionaryTask(FileTask):
    """The task that learns one dictionary per stage range, or a shared one.

    Parameters
    ----------
    paths : list of Path of descriptors files, which count as one
    out : Path of the dictionary file; the trace is written beside it, as NAME.trace.csv
    options : LearnOptions
    seed : int
    stage_ranges : the stage ranges to learn; None for all in the descriptors

    Raises
    ------
    DataError
        If no stage range has enough patches. If only some have too few, they are left out with a warning.
    """

    def __init__(self, paths, out, options, *, seed=0, stage_ranges=None):
        options = options.resolve()
        files = open_compatible(paths, "descriptors")
        chosen = choose_stage_ranges(files, stage_ranges)
        wanted = [tuple(chosen)] if options.shared else [(s,) for s in chosen]
        self._options_of = _choose_sizes([PatchSamples(files, ranges) for ranges in wanted], options)
        self._digests = digests_by_path(files)
        made_with = files[0].options
        self._trace = out.with_suffix(".trace.csv")
        learned = [s for stage_ranges in self._options_of for s in stage_ranges]
        n_atoms = {_join_name(ranges): own.n_atoms for ranges, own in self._options_of.items()}
        if len(set(n_atoms.values())) == 1:
            (n_atoms,) = set(n_atoms.values())
        made = options.to_header() | {"n_atoms": n_atoms, "stage_ranges": learned}
        inputs = {"descriptors": list(self._digests.values())}
        header = Header("dictionary", made_with | {"learn-dict": made}, inputs, seed)
        super().__init__(out, header, paths, tables={self._trace: ("stage_range", "epoch", "objective")})

    def make(self, execution):
        files = open_compatible(self._digests, "descriptors", digests=self._digests)
        with limit_blas_threads():
            wanted = [(PatchSamples(files, ranges), own) for ranges, own in self._options_of.items()]
            n_visits = sum(own.n_epochs * own.max_patches for _, own in wanted)
            count = ProgressCount(execution.progress, n_visits, "patch")
            learn = partial(_learn, self.path, self._header, count)
            with execution.workers.threads(_n_side_by_side(wanted)):
                learned = list(map_ordered(learn, wanted, count.stop))
        runs = {s: one for one in learned for s in one.samples.stage_ranges}
        # The trace is written first, so that it exists if the dictionary does, even after a kill.
        write_trace(self._trace, {s: one.records for s, one in runs.items()})
        with create_stored_file(self.path, self._header) as file:
            for stage_range, one in runs.items():
                write_dictionary(file, stage_range, one.D, one.records, n_patches=one.n_samples)
        remove_parts(self.path)
        return Outcome(self.path, True, "\n".join(map(_summary, learned)))


def _join_name(stage_ranges):
    """Return the name of the dictionary of some stage ranges, for messages and as seed of its generator."""
    return stage_ranges[0] if len(stage_ranges) == 1 else "all"


class PatchSamples:
    """The patches of some stage ranges in descriptors files.

    Parameters
    ----------
    files : list of StoredFile
    stage_ranges : tuple of str
    """

    def __init__(self, files, stage_ranges):
        self.files = files
        self.stage_ranges = stage_ranges
        self.name = _join_name(stage_ranges)
        self._counts = [sum(count_patches(file, s) for file in files) for s in stage_ranges]

    def __len__(self):
        return sum(self._counts)

    def bytes_for(self, n):
        """Return the bytes of memory in which n patches are learned from."""
        return 330 * n  # a descriptor, and its codes

    def draw(self, n, rng):
        """Return n patches of all files, drawn at random, as `NormalisedPatches`."""
        ends = np.cumsum(self._counts)
        rows = np.arange(n)
        if n < len(self):  # no number is drawn for all
            rows = np.sort(rng.choice(len(self), n, replace=False))
        parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
        starts = [0, *ends[:-1]]
        picked = [
            read_patches(self.files, s, part - start)
            for s, part, start in zip(self.stage_ranges, parts, starts)
        ]
        return NormalisedPatches(picked[0] if len(picked) == 1 else np.concatenate(picked))


class NormalisedPatches:
    """An array of stored descriptors whose rows are centred and scaled to norm 1 when they are read."""

    def __init__(self, stored):
        self.stored = stored

    def __len__(self):
        return len(self.stored)

    def __getitem__(self, rows):
        return normalise_descriptors(self.stored[rows])


def _choose_sizes(wanted, options):
    """Return the options with the numbers of atoms and samples of every dictionary with enough samples.

    Parameters
    ----------
    wanted : list of PatchSamples, one for each dictionary
    options : LearnOptions

    Returns
    -------
    chosen : dict, tuple of stage ranges -> LearnOptions
    """
    n_atoms = {samples.stage_ranges: options.n_atoms_for(len(samples)) for samples in wanted}
    few = [
        pluralise(len(samples), *(f"{word} of {', '.join(samples.stage_ranges)}" for word in _WORDS))
        for samples in wanted
        if not n_atoms[samples.stage_ranges]
    ]
    atoms = pluralise(options.n_atoms or 1, "atom")
    most = max(options.n_most(len(samples)) for samples in wanted)
    if len(few) == len(wanted):
        raise DataError(
            f"{' and '.join(few)}: too few for {atoms}",
            fix=f"lower n-atoms to {max(1, most // PATCHES_PER_ATOM)} or leave it out, lower stride-px at "
            "extraction, or add images",
        )
    for patches in few:
        log.warning("warning: left out, too few for %s: %s", atoms, patches)
    return {
        samples.stage_ranges: replace(options, n_atoms=n, max_patches=options.n_most(len(samples)))
        for samples in wanted
        if (n := n_atoms[samples.stage_ranges])
    }


def _n_side_by_side(wanted):
    """Return how many dictionaries may be learned at a time, so that their samples fit in memory together.

    wanted : list of (PatchSamples, LearnOptions), one pair for each dictionary

    Raises
    ------
    FlyannotError
        If one dictionary alone needs more memory than is available.
    """
    needed = [samples.bytes_for(options.max_patches) for samples, options in wanted]
    most = max(options.max_patches for _, options in wanted)
    require_memory(max(needed), f"learning from {most:,} patches in memory", fix="lower max-patches")
    return max(1, int(np.sum(np.cumsum(sorted(needed, reverse=True)) <= available_bytes())))


class LearnedDictionary(NamedTuple):
    """A dictionary that was learned.

    samples : PatchSamples
    D : float32 array (n_atoms, n_descriptor), the atoms
    records : list of EpochRecord
    n_samples : int, the number of samples that it was learned from
    """

    samples: PatchSamples
    D: np.ndarray
    records: list
    n_samples: int


def _learn(out, header, count, samples_and_options):
    """Learn one dictionary, starting from its last checkpoint if there is one.

    Parameters
    ----------
    out : Path of the dictionary file
    header : its Header
    count : ProgressCount of the visits of samples, for all dictionaries together
    samples_and_options : (PatchSamples, LearnOptions)

    Returns
    -------
    learned : LearnedDictionary
    """
    samples, options = samples_and_options
    place = samples.stage_ranges[0]
    path = part_path(out, json_digest([place, header.options, header.inputs, header.seed]))
    checkpoint = _Checkpoint(path, replace(header, kind="checkpoint"), place)
    rng = stage_range_rng(header.seed, samples.name)
    X = samples.draw(options.max_patches, rng)
    _warn_of_few_samples(samples, len(X), options.n_atoms)
    D = random_patches(X, options.n_atoms, rng)
    learner = LEARNERS[options.learner](D, len(X), lam=options.lam, **vars(options.settings()))
    state, records = checkpoint.read(samples.name)
    if state:
        learner.restore(state)
    count.add(len(records) * len(X))
    epochs = learn_dictionary(
        X,
        learner,
        n_epochs=options.n_epochs,
        rng=rng,
        on_samples=count.add,
        first_epoch=len(records),
        seconds=records[-1].seconds if records else 0.0,
    )
    while not has_small_gain(records, options.tol) and (record := next(epochs, None)):
        records.append(record)
        _log_record(samples, record, options.n_epochs)
        count.add(0)  # an interrupted run ends here, and not while it writes
        checkpoint.write(learner.state(), records)
    count.add((options.n_epochs - len(records)) * len(X))
    return LearnedDictionary(samples, np.asarray(learner.D), records, len(X))


def _summary(learned):
    """Return a line on a LearnedDictionary: its numbers of atoms and of samples."""
    samples = learned.samples
    n_unused = learned.records[-1].n_unused_atoms
    unused = f", {n_unused:,} of them unused" if n_unused else ""
    learned_from = f"{learned.n_samples:,} of " if learned.n_samples < len(samples) else ""
    all_samples = pluralise(len(samples), *_WORDS)
    return f"{samples.name:>5}: {pluralise(len(learned.D), 'atom')} from {learned_from}{all_samples}{unused}"


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
        stored = open_stored_file(self.path, "checkpoint")
        state, records = read_checkpoint(stored, self.place)
        log.info("%5s  continues after epoch %d", name, len(records))
        return state, [EpochRecord(**record) for record in records]

    def write(self, state, records):
        """Replace the checkpoint by a new state (a dict of arrays) and the list of records."""
        with create_stored_file(self.path, self.header) as file:
            write_checkpoint(file, self.place, state, records)


def _warn_of_few_samples(samples, n_samples, n_atoms):
    """Log a warning if there are few samples per atom, because atoms then copy single samples."""
    if n_samples < PATCHES_PER_ATOM * n_atoms:
        fewer = max(1, n_samples // PATCHES_PER_ATOM)
        log.warning(
            f"warning: {samples.name}: {n_samples / n_atoms:.1f} patches per atom; with fewer than about "
            f"{PATCHES_PER_ATOM}, atoms repeat single patches: use --n-atoms {fewer}, or more images"
        )


def _log_record(samples, record, n_epochs):
    """Log a line for a record of the trace, and a second one with -v."""
    log.info(
        f"{samples.name:>5}  epoch {record.epoch}/{n_epochs}  {record.n_visits:,} patches  "
        f"{record.seconds:.1f} s"
    )
    stored = "" if np.isnan(record.objective_stored) else f"; with stored codes {record.objective_stored:.5f}"
    log.log(
        _VERBOSE,
        f"{samples.name:>5}  objective {record.objective:.5f} (gap {record.gap:.1e}{stored})  "
        f"{record.mean_nonzeros:.1f} non-zeros  {record.n_unused_atoms} atoms unused",
    )
