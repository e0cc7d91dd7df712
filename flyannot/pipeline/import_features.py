"""Imports of feature vectors that another program made, as a features.h5 for `flyannot train`.

Such a file has no atoms and no winning patches: these arrays are empty.
"""

import numpy as np

from flyannot.base.text import pluralise
from flyannot.dataset.importers.vectors import read_vectors
from flyannot.encode.pooling import PooledFeatures
from flyannot.files.digest import file_digest
from flyannot.files.hdf5.features import write_features
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.writing import create_stored_file
from flyannot.pipeline.engine.task import FileTask, Outcome, run_task

_NO_ATOMS, _NO_WINNERS = np.zeros((0, 0), np.float32), np.zeros(0, np.int32)


def import_features(source, out, execution):
    """Make a features file of vectors from another program.

    Parameters
    ----------
    source : Path of an npz file, see `read_vectors`
    out : Path of the features file
    execution : Execution

    Raises
    ------
    InputError, DataError
        See `read_vectors`.
    """
    read = read_vectors(source)
    n_features = next(iter(read.values()))[1].shape[1]
    options = {"import": {"n_features": n_features, "stage_ranges": list(read)}}
    header = Header("features", options, {"vectors": [file_digest(source)]})

    def make(execution):
        lines = []
        with create_stored_file(out, header) as file:
            for s, (columns, vectors) in read.items():
                pooled = [PooledFeatures(vector, _NO_WINNERS) for vector in vectors]
                write_features(file, s, columns, pooled, _NO_ATOMS)
                images, each = pluralise(len(vectors), "image"), pluralise(vectors.shape[1], "feature")
                lines.append(f"{s:>5}: {images}, {each} each")
        return Outcome(out, True, "\n".join(lines))

    return run_task(FileTask(out, header, make, [source]), execution)
