"""features.h5: one pooled vector per image."""

import numpy as np

from flyannot.errors import DataError
from flyannot.store.image_columns import read_image_columns, write_image_columns
from flyannot.store.writing import write_array


def write_features(file, stage_range, columns, pooled, D):
    """Add one stage range: image columns, the features and winning patches of every image
    (each has `features` and `winner`), and the atoms."""
    group = file.create_group(stage_range)
    write_image_columns(group, columns)
    write_array(group, "features", np.stack([one.features for one in pooled]), dtype="f4")
    write_array(group, "winner", np.stack([one.winner for one in pooled]), dtype="i4")
    write_array(group, "D", D)


def read_features(files, stage_range):
    """Image columns and features (n_images, n_features) of all `files`.

    Raises
    ------
    DataError
        If two were pooled with different dictionaries.
    """
    holding = [stored for stored in files if stage_range in stored.stage_ranges]
    _check_dictionary(holding, stage_range)
    columns = [read_image_columns(stored, stage_range) for stored in holding]
    return (
        {name: [value for part in columns for value in part[name]] for name in columns[0]},
        np.concatenate([stored.array(stage_range, "features") for stored in holding]),
    )


def _check_dictionary(files, stage_range):
    D = files[0].array(stage_range, "D")
    for file in files[1:]:
        if not np.array_equal(file.array(stage_range, "D"), D):
            raise DataError(
                f"{file.path} and {files[0].path} were pooled with different dictionaries of {stage_range}",
                fix="pool all descriptors with one dictionary",
            )
