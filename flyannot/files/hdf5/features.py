"""The writer and reader of features.h5: one vector of pooled codes for each image."""

import numpy as np

from flyannot.base.errors import DataError
from flyannot.files.hdf5.header import image_digest
from flyannot.files.hdf5.reading import read_image_metadata
from flyannot.files.hdf5.writing import write_array, write_image_columns


def write_features(file, stage_range, columns, pooled, D):
    """Add the pooled features of the images of one stage range to a new features file.

    Parameters
    ----------
    file : open h5py file
    stage_range : str
    columns : dict, name in IMAGE_COLUMNS -> list of str with one entry for each image
    pooled : list with one object for each image. Its attribute `features` (n_features,) is the largest code
        of every atom in every cell; `winner` (n_features,) is the number of the patch with this code, or -1
        for none
    D : array (n_atoms, n_descriptor), the atoms
    """
    group = file.create_group(stage_range)
    write_image_columns(group, columns)
    features = np.stack([image.features for image in pooled]).astype("f4")
    winner = np.stack([image.winner for image in pooled]).astype("i4")
    write_array(group, "features", features)
    write_array(group, "winner", winner)
    write_array(group, "D", D)
    digests = [image_digest(features[i : i + 1], winner[i : i + 1]) for i in range(len(pooled))]
    write_array(group, "content", np.stack(digests))


class StoredFeatures:
    """The features of a stage range in one or more open files, which are read a few megabytes at a time.

    Parameters
    ----------
    files : list of StoredFile of kind "features"; files without the stage range are skipped
    stage_range : str

    Attributes
    ----------
    columns : dict, name in IMAGE_COLUMNS -> list of str with one entry for each image of all files
    shape : (n_images, n_features), of all files together
    dtype : numpy.dtype of the features

    Raises
    ------
    DataError
        If two files were pooled with different dictionaries.
    """

    def __init__(self, files, stage_range):
        self._files = [stored for stored in files if stage_range in stored.stage_ranges]
        self._stage_range = stage_range
        self._is_checked = False
        first, *others = self._files
        D = first.read_array(stage_range, "D")
        for file in others:
            if not np.array_equal(file.read_array(stage_range, "D"), D):
                raise DataError(
                    f"{file.path} and {first.path} were pooled with different dictionaries of {stage_range}",
                    fix="pool all descriptors with one dictionary",
                )
        parts = [read_image_metadata(stored, stage_range) for stored in self._files]
        self.columns = {name: [value for part in parts for value in part[name]] for name in parts[0]}
        features = first.datasets(stage_range)["features"]
        self.shape = len(self.columns["image"]), features.shape[1]
        self.dtype = features.dtype

    def __len__(self):
        return self.shape[0]

    def iterate_blocks(self, columns=slice(None)):
        """Yield (number of the first image, array of features) for each block of consecutive images.

        The first complete iteration compares every image with its digest and reads all columns. Later ones
        read only the chosen columns.

        Parameters
        ----------
        columns : slice or list of int, the features to return; by default all
        """
        first = 0
        for stored in self._files:
            blocks = (rows[:, columns] for rows, _ in stored.iterate_image_rows(self._stage_range))
            if self._is_checked:
                blocks = stored.iterate_columns(self._stage_range, "features", columns)
            for rows in blocks:
                yield first, rows
                first += len(rows)
        self._is_checked = True


def read_features(files, stage_range):
    """Read the features of all images of a stage range in several open files.

    Parameters
    ----------
    files : list of StoredFile of kind "features"
    stage_range : str

    Returns
    -------
    columns : dict, name in IMAGE_COLUMNS -> list of str with one entry for each image
    features : array (n_images, n_features)
    """
    stored = StoredFeatures(files, stage_range)
    features = np.empty(stored.shape, stored.dtype)
    for first, rows in stored.iterate_blocks():
        features[first : first + len(rows)] = rows
    return stored.columns, features
