"""dictionary.h5, the checkpoints on the way to it, and the trace of its learning.

A record of the trace describes one epoch: an object with the attributes of TRACE.
"""

import numpy as np

from flyannot.files.hdf5.writing import write_array
from flyannot.files.tables import write_table

TRACE = {
    "epoch": "i4",
    "seconds": "f8",
    "objective_stored": "f8",
    "objective": "f8",
    "gap": "f8",
    "mean_nonzeros": "f8",
    "n_unused_atoms": "i4",
    "n_visits": "i8",
}


def write_dictionary(file, stage_range, D, records, *, n_patches):
    """Add one stage range: atoms D (n_atoms, n_features) and the record of every epoch.

    Seconds are left out, so that equal inputs and options give equal bytes. `write_trace` writes them.
    """
    group = file.create_group(stage_range)
    group.attrs["n_patches"] = n_patches
    write_array(group, "D", D)
    _write_records(group.create_group("trace"), records, without=("seconds",))


def read_dictionary(stored, stage_range):
    """Return the atoms of a stage range (n_atoms, n_features)."""
    return stored.array(stage_range, "D")


def write_checkpoint(file, stage_range, state, records):
    """Add a learner's state (a flat dict of arrays) and its records so far."""
    group = file.create_group(stage_range)
    for name, values in state.items():
        write_array(group, f"state/{name}", np.atleast_1d(values))
    _write_records(group.create_group("trace"), records)


def read_checkpoint(stored, stage_range):
    """Return the state of a learner, with scalars as arrays of one value, and its records as dicts."""
    names = stored.dataset_names(stage_range, "state")
    state = {name: stored.array(stage_range, f"state/{name}") for name in names}
    columns = [stored.array(stage_range, f"trace/{name}").tolist() for name in TRACE]
    return state, [dict(zip(TRACE, row)) for row in zip(*columns)]


def _write_records(group, records, without=()):
    """Add the columns of a trace, except those in `without`."""
    for name, dtype in TRACE.items():
        if name not in without:
            write_array(group, name, [getattr(record, name) for record in records], dtype=dtype)


def write_trace(path, records_of):
    """Write the records of all stage ranges (a dict), with their seconds, as CSV."""
    rows = (
        (s, *(f"{getattr(r, n):.6g}" for n in TRACE)) for s, records in records_of.items() for r in records
    )
    write_table(path, ("stage_range", *TRACE), rows)
