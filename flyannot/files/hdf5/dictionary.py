"""The writers and readers of dictionary.h5, of checkpoints of dictionary learning, and of its trace.

The trace has one record for each epoch: an object with the attributes that TRACE_DTYPES names, such as
`objective`.
"""

import numpy as np

from flyannot.files.hdf5.schema import TRACE_DTYPES
from flyannot.files.hdf5.writing import write_array
from flyannot.files.tables import write_table


def write_dictionary(file, stage_range, D, records, *, n_patches):
    """Add the dictionary of one stage range, and the trace of its learning, to a new dictionary file.

    The seconds of each epoch are left out, so that equal inputs and options give equal bytes. `write_trace`
    writes them.

    Parameters
    ----------
    file : open h5py file
    stage_range : str
    D : array (n_atoms, n_features), the atoms
    records : list of trace records, one for each epoch
    n_patches : int, the number of patches, stored as an attribute
    """
    group = file.create_group(stage_range)
    group.attrs["n_patches"] = n_patches
    write_array(group, "D", D)
    _write_records(group.create_group("trace"), records, without=("seconds",))


def read_dictionary(stored, stage_range):
    """Return the atoms of a stage range of an open file that has them, array (n_atoms, n_features)."""
    return stored.read_array(stage_range, "D")


def write_checkpoint(file, stage_range, state, records):
    """Add the state of a dictionary learner after an epoch to a new checkpoint file.

    Parameters
    ----------
    file : open h5py file
    stage_range : str
    state : dict, name -> array or scalar, from which the learner can continue
    records : list of trace records, one for each epoch so far
    """
    group = file.create_group(stage_range)
    for name, values in state.items():
        write_array(group, f"state/{name}", np.atleast_1d(values))
    _write_records(group.create_group("trace"), records)


def read_checkpoint(stored, stage_range):
    """Read the state of a dictionary learner and its trace from a checkpoint.

    Parameters
    ----------
    stored : StoredFile of kind "checkpoint"
    stage_range : str

    Returns
    -------
    state : dict, name -> array; a scalar is an array of length 1
    records : list of dicts, one for each epoch, with the keys of TRACE
    """
    names = stored.dataset_names(stage_range, "state")
    state = {name: stored.read_array(stage_range, f"state/{name}") for name in names}
    columns = [stored.read_array(stage_range, f"trace/{name}").tolist() for name in TRACE_DTYPES]
    return state, [dict(zip(TRACE_DTYPES, row)) for row in zip(*columns)]


def _write_records(group, records, without=()):
    """Write the trace of dictionary learning, one dataset for each name in TRACE.

    Parameters
    ----------
    group : h5py group
    records : list of trace records, one for each epoch
    without : tuple of names in TRACE that are not written
    """
    for name, dtype in TRACE_DTYPES.items():
        if name not in without:
            write_array(group, name, [getattr(record, name) for record in records], dtype=dtype)


def write_trace(path, records_of):
    """Write the trace of dictionary learning as a CSV table with a row for each epoch, including its seconds.

    Parameters
    ----------
    path : Path of the table
    records_of : dict, stage range -> list of trace records, one for each epoch
    """
    records = ((s, record) for s, some in records_of.items() for record in some)
    rows = ((s, *(f"{getattr(record, n):.6g}" for n in TRACE_DTYPES)) for s, record in records)
    write_table(path, ("stage_range", *TRACE_DTYPES), rows)
