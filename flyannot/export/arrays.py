"""Dictionaries and features as plain arrays: npz and CSV.  No pickles."""

import numpy as np

from flyannot.base.quality_warnings import format_warnings
from flyannot.files.hdf5.dictionary import read_dictionary
from flyannot.files.hdf5.features import read_features
from flyannot.files.hdf5.schema import IMAGE_COLUMNS
from flyannot.files.tables import write_csv_rows


def write_dictionary_npz(stored, stage_ranges, path):
    """Write an npz file with an array of atoms (n_atoms, n_features) for each stage range, under its name."""
    with open(path, "wb") as file:
        np.savez(file, **{s: read_dictionary(stored, s) for s in stage_ranges})


def write_features_csv(stored, stage_ranges, path):
    """Write a CSV file with a row for each image: its columns, its stage range and its features."""
    columns, features = read_all_features(stored, stage_ranges)
    with open(path, "w", newline="", encoding="utf-8") as file:
        write_csv_rows(file, [[*columns, *(f"f{i}" for i in range(features.shape[1]))]])
        rows = zip(zip(*columns.values()), features)
        write_csv_rows(file, ([*texts, *(f"{v:.9g}" for v in row.tolist())] for texts, row in rows))


def read_all_features(stored, stage_ranges):
    """Return (columns, X): the image columns as a dict of lists, and the features, a row for each image.

    The last column is `stage_range`.
    """
    columns = {name: [] for name in (*IMAGE_COLUMNS, "stage_range")}
    blocks = []
    for s in stage_ranges:
        of_range, features = _read_images(stored, s)
        blocks.append(features)
        for name, values in (of_range | {"stage_range": [s] * len(features)}).items():
            columns[name] += values
    return columns, np.concatenate(blocks)


def _read_images(stored, stage_range):
    """Return the image columns of one stage range, with warnings as texts, and the features."""
    columns, features = read_features([stored], stage_range)
    warnings = list(map(format_warnings, columns["quality_warnings"]))
    return columns | {"quality_warnings": warnings}, features


def write_features_npz(stored, stage_ranges, path):
    """Write an npz file with arrays such as `4-6/features`, `4-6/image` and `4-6/gene`; texts are unicode."""
    arrays = {}
    for s in stage_ranges:
        columns, arrays[f"{s}/features"] = _read_images(stored, s)
        arrays |= {f"{s}/{name}": np.array(columns[name], dtype=str) for name in IMAGE_COLUMNS}
    with open(path, "wb") as file:
        np.savez(file, **arrays)
