"""What learning leaves behind while it goes on: checkpoints, and lines of the log."""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flyannot.sparse.fit import EpochRecord
from flyannot.store.dictionary import read_checkpoint, write_checkpoint
from flyannot.store.header import Header
from flyannot.store.reading import open_stored
from flyannot.store.writing import create_stored, difference_of_headers

log = logging.getLogger("flyannot")
PATCHES_PER_ATOM = 10  # at least, or the dictionary is remarked on
VERBOSE = logging.DEBUG + 5  # what -v shows


@dataclass(frozen=True)
class Checkpoint:
    """The file that one dictionary's learning goes on from; `place` is the stage range it is under."""

    path: Path
    header: Header
    place: str

    def read(self, name):
        """The state, a dict of arrays, and the records; nothing of either if there is no such file."""
        if difference_of_headers(self.path, self.header):
            return {}, []
        with open_stored(self.path, "checkpoint") as stored:
            state, records = read_checkpoint(stored, self.place)
        if records:
            log.info("%5s  continues after epoch %d", name, records[-1]["epoch"])
        return state, [EpochRecord(**one) for one in records]

    def write(self, state, records):
        """Put this in the place of what was there."""
        with create_stored(self.path, self.header) as file:
            write_checkpoint(file, self.place, state, records)


def remark_on_counts(name, n_patches, n_atoms):
    """An atom that few patches share is a copy of one of them, not a pattern."""
    if n_patches < PATCHES_PER_ATOM * n_atoms:
        log.warning(
            "warning: %s: %.1f patches an atom; with fewer than about %d, atoms repeat single patches: "
            "use --n-atoms %d, or more images",
            name, n_patches / n_atoms, PATCHES_PER_ATOM, max(1, n_patches // PATCHES_PER_ATOM),
        )  # fmt: skip


def log_end(name, records, tol):
    """Why learning by shares ended."""
    before, last = records[-2:]
    log.info(
        "%5s  %s visits to patches in the place of %s lower the objective by %.2f %%, less than %g %%",
        name, f"{last.n_visits:,}", f"{before.n_visits:,}",
        100 * (1 - last.objective / before.objective), 100 * tol,
    )  # fmt: skip


def log_record(name, record, n_epochs):
    """A line for every record of the trace, and with -v what it says."""
    log.info(
        "%5s  epoch %d/%d  %s patches  %.1f s",
        name,
        record.epoch,
        n_epochs,
        f"{record.n_visits:,}",
        record.seconds,
    )
    stored = "" if np.isnan(record.objective_stored) else f"; with stored codes {record.objective_stored:.5f}"
    log.log(
        VERBOSE, "       objective %.5f (gap %.1e%s)  %.1f non-zeros  %d atoms unused",
        record.objective, record.gap, stored, record.mean_nonzeros, record.n_unused_atoms,
    )  # fmt: skip
