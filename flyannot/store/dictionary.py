"""dictionary.h5, the checkpoints on the way to it, and the trace of its learning."""

import csv
import io
from dataclasses import astuple, fields

import numpy as np

from flyannot.runtime.atomic_file import write_text
from flyannot.sparse.fit import EpochRecord
from flyannot.store.writing import write_array

_COLUMNS = tuple(field.name for field in fields(EpochRecord))


def write_dictionary(file, stage_range, D, records, *, n_patches):
    """Add one stage range: atoms D (n_atoms, n_features) and the `EpochRecord` of every epoch.

    Seconds are left out, so that the same inputs and options give the same bytes; they are in the
    table that `write_trace` makes.
    """
    group = file.create_group(stage_range)
    group.attrs["n_patches"] = n_patches
    write_array(group, "D", D)
    _write_records(group.create_group("trace"), records, without=("seconds",))


def read_dictionary(stored, stage_range):
    """The atoms that `write_dictionary` took."""
    return stored.array(stage_range, "D")


def write_checkpoint(file, stage_range, state, records):
    """Add a learner's state (a flat dict of arrays) and its records so far."""
    group = file.create_group(stage_range)
    for name, values in state.items():
        write_array(group, f"state/{name}", np.atleast_1d(values))
    _write_records(group.create_group("trace"), records)


def read_checkpoint(stored, stage_range):
    """The state and the records that `write_checkpoint` took; scalars come back as arrays of one."""
    group = stored.group(stage_range)
    state = {name: stored.array(stage_range, f"state/{name}") for name in group["state"]}
    columns = [stored.array(stage_range, f"trace/{name}").tolist() for name in _COLUMNS]
    return state, [EpochRecord(*row) for row in zip(*columns)]


def _write_records(group, records, without=()):
    for name, field in zip(_COLUMNS, fields(EpochRecord)):
        if name not in without:
            dtype = "i4" if field.type is int else "f8"
            write_array(group, name, [getattr(record, name) for record in records], dtype=dtype)


def write_trace(path, records_of):
    """Write the records of all stage ranges, seconds included, as CSV."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["stage_range", *_COLUMNS])
    for stage_range, records in records_of.items():
        rows.writerows([stage_range, *(f"{v:.6g}" for v in astuple(record))] for record in records)
    write_text(path, text.getvalue())
