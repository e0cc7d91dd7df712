"""Dictionaries and features as plain arrays: npz and CSV.  No pickles."""

import numpy as np

from flyannot.base.quality_warnings import format_warnings
from flyannot.files.hdf5.dictionary import read_dictionary
from flyannot.files.hdf5.features import read_features
from flyannot.files.hdf5.header import describe_origin
from flyannot.files.hdf5.schema import IMAGE_COLUMNS
from flyannot.files.tables import write_csv_rows


def write_dictionary_npz(stored, stage_ranges, path):
    """Write an npz file with an array of atoms (n_atoms, n_features) for each stage range, under its name.

    Two texts name the origin, see `describe_origin`.
    """
    with open(path, "wb") as file:
        np.savez(file, **{s: read_dictionary(stored, s) for s in stage_ranges}, **describe_origin(stored))


def write_features_csv(stored, stage_ranges, path):
    """Write a CSV file with a row for each image: its columns, its stage range and its features."""
    columns, features = read_all_features(stored, stage_ranges)
    with open(path, "w", newline="", encoding="utf-8") as file:
        write_csv_rows(file, [[*columns, *(f"f{i}" for i in range(features.shape[1]))]])
        rows = zip(zip(*columns.values()), features)
        write_csv_rows(file, ([*texts, *(f"{v:.9g}" for v in row.tolist())] for texts, row in rows))


def read_all_features(stored, stage_ranges):
    """Return (columns, X): the image columns as a dict of lists, and the features, a row for each image.

    The last columns are `stage_range` and those of `describe_origin`.
    """
    columns = {name: [] for name in (*IMAGE_COLUMNS, "stage_range")}
    blocks = []
    for s in stage_ranges:
        of_range, features = read_features([stored], s)
        of_range["quality_warnings"] = list(map(format_warnings, of_range["quality_warnings"]))
        blocks.append(features)
        for name, values in (of_range | {"stage_range": [s] * len(features)}).items():
            columns[name] += values
    columns |= {name: [text] * len(columns["image"]) for name, text in describe_origin(stored).items()}
    return columns, np.concatenate(blocks)


def write_features_npz(stored, stage_ranges, path):
    """Write an npz file that `flyannot import features` reads: vectors, and texts of the image columns."""
    columns, features = read_all_features(stored, stage_ranges)
    with open(path, "wb") as file:
        np.savez(file, vector=features, **{name: np.array(of, dtype=str) for name, of in columns.items()})
