"""Imports of feature vectors that another program made, as a features.h5 for `flyannot train`.

Such a file has no atoms and no winning patches: these arrays are empty.
"""

from dataclasses import dataclass, replace

import numpy as np

from flyannot.base.fates import merge_fates
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
from flyannot.pipeline.engine.fates import list_stored_fates
from flyannot.pipeline.engine.task import FileTask, Outcome
from flyannot.pipeline.pictures.opened_pictures import PictureUse, read_rows

_NO_ATOMS, _NO_WINNERS = np.zeros((0, 0), np.float32), np.zeros(0, np.int32)


@dataclass(frozen=True)
class Showing(PictureUse):
    """The use of an embryo whose features another program made: it is only shown."""

    extract: ExtractOptions = ExtractOptions(stride_px=STRIDE_PX)
    stage_ranges: tuple = STAGE_RANGES

    def take(self, image, view):
        return None, []


class ImportTask(FileTask):
    """The task that makes a features file of vectors from another program.

    Parameters
    ----------
    source : Path of an npz file, see `read_vectors`
    out : Path of the features file
    folder : Path of the folder with the pictures, which are stored beside the features; None for none
        Pictures that cannot be read are among the fates of the Outcome; their features are kept.

    Raises
    ------
    InputError, DataError
        See `read_vectors`.
    """

    def __init__(self, source, out, folder=None):
        self._read = read_vectors(source)
        n_features = next(iter(self._read.values()))[1].shape[1]
        options = {"import": {"n_features": n_features, "stage_ranges": list(self._read)}}
        header = Header("features", options, {"vectors": [file_digest(source)]})
        self._shown = {}
        self._has_pictures = folder is not None
        if self._has_pictures:
            self._shown, failures = _read_pictures(self._read, folder)
            digests = sorted((*place, row.digest) for place, row in self._shown.items())
            inputs = header.inputs | {"images": [json_digest(digests)]}
            header = replace(header, inputs=inputs, failures=failures)
        super().__init__(out, header, [source])

    @property
    def paths_beside(self):
        return (pictures_path(self.path),)

    def make(self, execution):
        lines = []
        with create_stored_file(self.path, self._header) as file:
            for s, (columns, vectors) in self._read.items():
                pooled = [PooledFeatures(vector, _NO_WINNERS) for vector in vectors]
                rows = [self._shown.get((s, name)) for name in columns["image"]]
                columns = columns | {"picture_digest": [row.digest if row else "" for row in rows]}
                write_features(file, s, columns, pooled, _NO_ATOMS)
                images, each = pluralise(len(vectors), "image"), pluralise(vectors.shape[1], "feature")
                lines.append(f"{s:>5}: {images}, {each} each")
        return Outcome(self.path, True, "\n".join(lines), self.list_fates())

    def list_fates(self):
        return merge_fates(list_stored_fates(self.path), self._header.failures) if self._has_pictures else []

    def write_beside(self):
        if not self._has_pictures:
            return
        beside = replace(self._header, kind="pictures", failures=())
        with create_stored_file(pictures_path(self.path), beside) as file:
            for s in self._read:
                rows = [row for (stage_range, _), row in self._shown.items() if stage_range == s]
                if rows:
                    columns = {"image": [row.image.name for row in rows]}
                    columns["picture_digest"] = [row.digest for row in rows]
                    write_pictures(file, s, columns, [row.shown for row in rows])


def _read_pictures(read, folder):
    """Open the pictures of vectors once each.

    Returns a dict, (stage range, name of an image) -> PictureRow, and a tuple of the PictureFates of others.

    read : dict, as `read_vectors` returns; folder : Path
    """
    images = [
        Image(str(folder / name), name, "", s)
        for s, (columns, _) in read.items()
        for name in columns["image"]
    ]
    _, (taken,) = read_rows(images, [Showing()])
    return {(row.image.stage_range, row.image.name): row for row in taken.rows}, tuple(taken.failures)
