"""features.h5: one pooled vector per image."""

import numpy as np

from flyannot.errors import DataError
from flyannot.store.content_digest import digest_of_image
from flyannot.store.image_columns import read_image_columns, write_image_columns
from flyannot.store.writing import write_array


def write_features(file, stage_range, columns, pooled, D):
    """Add one stage range: image columns, the features and winning patches of every image
    (each has `features` and `winner`), and the atoms."""
    group = file.create_group(stage_range)
    write_image_columns(group, columns)
    features = np.stack([one.features for one in pooled]).astype("f4")
    winner = np.stack([one.winner for one in pooled]).astype("i4")
    write_array(group, "features", features)
    write_array(group, "winner", winner)
    write_array(group, "D", D)
    digests = [digest_of_image(features[i : i + 1], winner[i : i + 1]) for i in range(len(pooled))]
    write_array(group, "content", np.stack(digests))


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
        np.concatenate([rows for one in holding for rows, _ in one.blocks_of_images(stage_range)]),
    )


def read_features_of_image(stored, stage_range, index):
    """The features and winners of one image, (1, n_features) each."""
    return stored.images(stage_range, index, index + 1)


def _check_dictionary(files, stage_range):
    D = files[0].array(stage_range, "D")
    for file in files[1:]:
        if not np.array_equal(file.array(stage_range, "D"), D):
            raise DataError(
                f"{file.path} and {files[0].path} were pooled with different dictionaries of {stage_range}",
                fix="pool all descriptors with one dictionary",
            )
