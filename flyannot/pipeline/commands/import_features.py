"""Imports of feature vectors that another program made, as a features.h5 for `flyannot train`.

Such a file has no atoms and no winning patches: these arrays are empty.
"""

from dataclasses import dataclass, replace

import numpy as np

from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.dataset.folder import Image
from flyannot.dataset.importers.vectors import read_vectors
from flyannot.encode.pooling import PooledFeatures
from flyannot.files.digest import file_digest, json_digest
from flyannot.files.hdf5.features import write_features
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.pictures import pictures_path, write_pictures
from flyannot.files.hdf5.writing import create_stored_file
from flyannot.images.options import STRIDE_PX, ExtractOptions
from flyannot.pipeline.engine.task import FileTask, Outcome, run_task
from flyannot.pipeline.pictures.opened_pictures import PictureUse, read_rows

_NO_ATOMS, _NO_WINNERS = np.zeros((0, 0), np.float32), np.zeros(0, np.int32)


@dataclass(frozen=True)
class Showing(PictureUse):
    """The use of an embryo whose features another program made: it is only shown."""

    extract: ExtractOptions = ExtractOptions(stride_px=STRIDE_PX)
    stage_ranges: tuple = STAGE_RANGES

    def take(self, image, view):
        return None, []


def import_features(source, out, execution, *, folder=None):
    """Make a features file of vectors from another program.

    Parameters
    ----------
    source : Path of an npz file, see `read_vectors`
    out : Path of the features file
    execution : Execution
    folder : Path of the folder with the pictures, which are stored beside the features; None for none
        Pictures that cannot be read are failures of the Outcome, and their features are kept.

    Raises
    ------
    InputError, DataError
        See `read_vectors`.
    """
    read = read_vectors(source)
    n_features = next(iter(read.values()))[1].shape[1]
    options = {"import": {"n_features": n_features, "stage_ranges": list(read)}}
    header = Header("features", options, {"vectors": [file_digest(source)]})
    shown, failures = _read_pictures(read, folder) if folder else ({}, ())
    if folder:
        digests = sorted((*place, row.digest) for place, row in shown.items())
        header = replace(header, inputs=header.inputs | {"images": [json_digest(digests)]}, failures=failures)

    def make(execution):
        lines = []
        with create_stored_file(out, header) as file:
            for s, (columns, vectors) in read.items():
                pooled = [PooledFeatures(vector, _NO_WINNERS) for vector in vectors]
                rows = [shown.get((s, name)) for name in columns["image"]]
                columns = columns | {"picture_digest": [row.digest if row else "" for row in rows]}
                write_features(file, s, columns, pooled, _NO_ATOMS)
                images, each = pluralise(len(vectors), "image"), pluralise(vectors.shape[1], "feature")
                lines.append(f"{s:>5}: {images}, {each} each")
        return Outcome(out, True, "\n".join(lines), failures)

    def write_beside():
        beside = replace(header, kind="pictures", failures=())
        with create_stored_file(pictures_path(out), beside) as file:
            for s in read:
                rows = [row for (stage_range, _), row in shown.items() if stage_range == s]
                if rows:
                    columns = {"image": [row.image.name for row in rows]}
                    columns["picture_digest"] = [row.digest for row in rows]
                    write_pictures(file, s, columns, [row.shown for row in rows])

    task = FileTask(out, header, make, [source], write_beside=write_beside if folder else None)
    return run_task(task, execution)


def _read_pictures(read, folder):
    """Open the pictures of vectors once each.

    Returns a dict, (stage range, name of an image) -> PictureRow, and a tuple of (name, reason) of failures.

    read : dict, as `read_vectors` returns; folder : Path
    """
    images = [
        Image(str(folder / name), name, "", s)
        for s, (columns, _) in read.items()
        for name in columns["image"]
    ]
    _, (rows,), (failures,) = read_rows(images, [Showing()])
    return {(row.image.stage_range, row.image.name): row for row in rows}, tuple(failures)
