"""Dictionaries and features as plain arrays: npz, mat and CSV.  No pickles."""

import numpy as np

from flyannot.runtime.tables import write_csv_rows
from flyannot.store.dictionary import read_dictionary
from flyannot.store.features import read_features
from flyannot.store.schema import IMAGE_COLUMNS


def write_dictionary_npz(stored, stage_ranges, path):
    """An array (n_atoms, n_features) for each stage range, by its name."""
    with open(path, "wb") as file:
        np.savez(file, **{s: read_dictionary(stored, s) for s in stage_ranges})


def write_dictionary_mat(stored, stage_ranges, path):
    """For MATLAB and SPAMS: a matrix D_4_6 (n_features, n_atoms), atoms in columns, for each stage range."""
    from scipy.io import savemat

    atoms = {f"D_{s.replace('-', '_')}": read_dictionary(stored, s).T.astype("f8") for s in stage_ranges}
    with open(path, "wb") as file:
        savemat(file, atoms, do_compression=False)


def write_dictionary_csv(stored, stage_ranges, path):
    """A row for each atom: stage range, its number, and its values."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        n_features = read_dictionary(stored, stage_ranges[0]).shape[1]
        write_csv_rows(file, [["stage_range", "atom", *(f"x{i}" for i in range(n_features))]])
        for s in stage_ranges:
            write_csv_rows(
                file, ([s, k, *_numbers(atom)] for k, atom in enumerate(read_dictionary(stored, s)))
            )


def write_features_csv(stored, stage_ranges, path):
    """A row for each image: its columns, stage range, and features."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        for n, s in enumerate(stage_ranges):
            columns, features = read_features([stored], s)
            if n == 0:
                names = [f"f{i}" for i in range(features.shape[1])]
                write_csv_rows(file, [[*IMAGE_COLUMNS, "stage_range", *names]])
            texts = zip(*(columns[name] for name in IMAGE_COLUMNS))
            write_csv_rows(file, ([*text, s, *_numbers(row)] for text, row in zip(texts, features)))


def write_features_npz(stored, stage_ranges, path):
    """Arrays `4-6/features`, `4-6/image`, `4-6/gene` and so on; text as unicode arrays."""
    arrays = {}
    for s in stage_ranges:
        columns, arrays[f"{s}/features"] = read_features([stored], s)
        arrays |= {f"{s}/{name}": np.array(columns[name], dtype=str) for name in IMAGE_COLUMNS}
    with open(path, "wb") as file:
        np.savez(file, **arrays)


def _numbers(row):
    """As text that gives the same float32 back."""
    return [f"{value:.9g}" for value in row.tolist()]
