"""Feature vectors from another program to features.h5, ready for `train`, `evaluate` and `similar`.

Such a file has no atoms and no winning patches: its arrays of these have no rows, or no columns.
"""

from pathlib import Path

import numpy as np

from flyannot.dataset.importers.vectors import read_vectors
from flyannot.features.pooling import Pooled
from flyannot.runtime.digest import digest_of_file
from flyannot.runtime.wording import pluralise
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.steps.engine.task import Outcome, file_task, run_task
from flyannot.store.features import write_features
from flyannot.store.header import Header
from flyannot.store.writing import create_stored

_NO_ATOMS, _NO_WINNERS = np.zeros((0, 0), np.float32), np.zeros(0, np.int32)


def import_features(source, out, execution):
    """Make a features file of vectors that were made elsewhere.

    Parameters
    ----------
    source : Path of an npz, parquet or h5ad file, see `flyannot.dataset.importers.vectors`
    out : Path of the features file
    execution : flyannot.steps.engine.task.Execution

    Raises
    ------
    InputError, DataError
        As `flyannot.dataset.importers.vectors.read_vectors`.
    """
    source = Path(source)
    read = read_vectors(source)
    present = [s for s in STAGE_RANGES if s in read.stage_ranges]
    options = {"import": {"n_features": read.vectors.shape[1], "stage_ranges": present}}
    header = Header("features", options, {"vectors": [digest_of_file(source)]})

    def make(execution):
        lines = []
        with create_stored(out, header) as file:
            for s in present:
                columns, vectors = read.of_stage_range(s)
                write_features(file, s, columns, [Pooled(one, _NO_WINNERS) for one in vectors], _NO_ATOMS)
                images, each = pluralise(len(vectors), "image"), pluralise(vectors.shape[1], "feature")
                lines.append(f"{s:>5}: {images}, {each} each")
        return Outcome(out, True, "\n".join(lines))

    return run_task(file_task(out, header, make, [source]), execution)
