"""Ratings in the layouts of MovieLens: u.data, ratings.dat and ratings.csv."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flyannot.errors import DataError, InputError

WHERE = "https://grouplens.org/datasets/movielens/"
_SEPARATORS = ("::", "\t", ",")


@dataclass(frozen=True)
class Ratings:
    """Known entries of a matrix: rows, columns int32 and values float64, each (n_known,); its shape."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    shape: tuple

    def subset(self, chosen):
        """The entries at the given places."""
        return Ratings(self.rows[chosen], self.columns[chosen], self.values[chosen], self.shape)

    def of_rows(self, kept):
        """The entries of some rows, which are numbered anew in the given order."""
        number = np.full(self.shape[0], -1, np.int32)
        number[kept] = np.arange(len(kept))
        there = number[self.rows] >= 0
        rows = number[self.rows[there]]
        return Ratings(rows, self.columns[there], self.values[there], (len(kept), self.shape[1]))

    def __len__(self):
        return len(self.values)


def read_ratings(path):
    """A ratings file: user, item and rating on each line, further columns ignored, a heading allowed.

    u.data (MovieLens 100K) is cut by tabs, ratings.dat (1M, 10M) by "::", ratings.csv (later ones) by commas.
    Users and items are numbered anew, from 0, by rising identifier.

    Raises
    ------
    InputError
        If there is no such file.
    DataError
        With the line: fewer than three columns, or one that is no number; a user who rated an item twice.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no such file: {path}", fix=f"get a data set of ratings from {WHERE}")
    cells = []
    with open(path, encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip() and not (number == 1 and line[:1].isalpha()):
                cells.append(_three(path, number, line))
    if not cells:
        raise DataError(f"{path} holds no rating", fix=f"get it again from {WHERE}")
    users, items, values = (np.array(column) for column in zip(*cells))
    return _numbered(path, users, items, values)


def _three(path, number, line):
    separator = next((s for s in _SEPARATORS if s in line), None)
    parts = line.strip().split(separator)
    try:
        return int(parts[0]), int(parts[1]), float(parts[2])
    except (ValueError, IndexError):
        raise DataError(
            f"{path}, line {number}: not a user, an item and a rating: {line.strip()[:60]}",
            fix="name u.data, ratings.dat or ratings.csv of MovieLens",
        ) from None


def _numbered(path, users, items, values):
    user_ids, rows = np.unique(users, return_inverse=True)
    item_ids, columns = np.unique(items, return_inverse=True)
    shape = len(user_ids), len(item_ids)
    if len(np.unique(rows * shape[1] + columns)) < len(values):
        raise DataError(f"{path}: a user rated an item twice", fix="keep one rating of each pair")
    return Ratings(rows.astype(np.int32), columns.astype(np.int32), values.astype(np.float64), shape)
