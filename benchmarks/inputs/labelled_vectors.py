"""Images with many labels, as feature vectors: embryos by bags of visual words, and Corel5k."""

import gzip
import zipfile
from dataclasses import dataclass

import numpy as np

from benchmarks.findings import Source
from flyannot.errors import DataError
from flyannot.stage_ranges import parse_stage_range

_COREL_TEST = "Corel5k-test-sparse.arff.gz"
_N_COREL_LABELS = 374
_TEST_SHARE = 0.3
_LEAST = 10  # training rows that carry a label
_KINDS = ("{0,1}", "numeric")  # of attributes


@dataclass(frozen=True)
class Labelled:
    """Training and test rows: X float32 (n, n_features), Y bool (n, n_labels)."""

    X: np.ndarray
    Y: np.ndarray
    X_test: np.ndarray
    Y_test: np.ndarray
    source: Source

    def write(self, path):
        """Write the rows to an npz file that workers read; its path as text."""
        np.savez(path, X=self.X, Y=self.Y, X_test=self.X_test, Y_test=self.Y_test)
        return str(path)


def read_bags_of_words(path):
    """The embryos of Cai et al. 2012: X float32 (n, n_words), Y bool (n, n_terms), stage ranges, text (n,).

    Neither genes nor the names of terms are given.

    Raises
    ------
    DataError
        If it is no such file.

    Source
    ------
    Cai, Wang, Huang and Ding, ECCV 2012, doi:10.1007/978-3-642-33712-3_42.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            X, Y, ranges = (archive[name] for name in ("features", "terms", "stage_range"))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} does not hold the bag-of-words features: {error}") from error
    if not len(X) == len(Y) == len(ranges) or X.ndim != 2 or not np.isfinite(X).all():
        raise DataError(f"{path}: features, terms and stage ranges do not fit one another")
    ranges = np.array([parse_stage_range(str(s)) for s in ranges])
    return X.astype(np.float32), Y.astype(bool), ranges


def embryo_words(setup):
    """2,000 embryos by 1,750 visual words, 79 terms (Cai et al. 2012), split at random."""
    X, Y, _ = read_bags_of_words(setup.data_file("bow"))
    test, train = np.split(setup.rng("bow").permutation(len(X)), [int(_TEST_SHARE * len(X))])
    text = f"{len(X):,} real embryos of BDGP by {X.shape[1]:,} visual words (Cai et al. 2012)"
    return _kept(setup, X[train], Y[train], X[test], Y[test], text)


def corel5k(setup):
    """Corel5k: 499 visual words, 374 labels, 4,500 + 500 images."""
    path = setup.data_file("corel5k")
    (train, test) = (read_sparse_arff(file) for file in (path, path.with_name(_COREL_TEST)))
    train, test = (rows[setup.rng("corel5k").permutation(len(rows))] for rows in (train, test))
    (X, Y), (X_test, Y_test) = (np.split(rows, [-_N_COREL_LABELS], axis=1) for rows in (train, test))
    text = f"Corel5k, {len(X):,} + {len(X_test)} real photographs by {X.shape[1]} visual words"
    return _kept(setup, X, Y > 0, X_test, Y_test > 0, text)


def read_sparse_arff(path):
    """The values of gzipped sparse ARFF, rows of {index value, ...}: float32 (n_rows, n_attributes).

    Raises
    ------
    DataError
        If it is damaged, or with the line: an attribute that is not numeric or {0,1}, a row that is not
        sparse, an index that is no attribute's, a value that is no number.
    """
    n_attributes, rows, in_rows, number = 0, [], False, 0
    try:
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(map(str.strip, lines), 1):  # noqa: B007
                if in_rows and line:
                    rows.append(_entries(line, n_attributes))
                elif line.lower().startswith("@attribute"):
                    if not line.lower().endswith(_KINDS):
                        raise ValueError(f"not an attribute of numbers or of {{0,1}}: {line[:60]}")
                    n_attributes += 1
                in_rows = in_rows or line.lower() == "@data"
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{path}, line {number}: {error}", fix="get the file again") from error
    values = np.zeros((len(rows), n_attributes), np.float32)
    for row, entries in zip(values, rows):
        row[list(entries)] = list(entries.values())
    return values


def _entries(line, n_attributes):
    """{place: value} of one row."""
    if not (line.startswith("{") and line.endswith("}")):
        raise ValueError(f"not a sparse row in braces: {line[:60]}")
    pairs = (entry.split() for entry in line[1:-1].split(",") if entry.strip())
    entries = {int(place): float(value) for place, value in pairs}
    for place in entries:
        if not 0 <= place < n_attributes:
            raise ValueError(f"attribute {place} of {n_attributes}")
    return entries


def _kept(setup, X, Y, X_test, Y_test, text):
    """The first rows of each, with the labels that enough training rows and any query carry."""
    n, n_test = setup.sizes["n_labelled"], setup.sizes["n_queries"]
    X, Y, X_test, Y_test = X[:n], Y[:n], X_test[:n_test], Y_test[:n_test]
    labels = np.flatnonzero((Y.sum(axis=0) >= _LEAST) & (Y_test.sum(axis=0) > 0))
    text = f"{text}: {len(X):,} labelled, {len(X_test):,} queries, {len(labels)} labels"
    return Labelled(X, Y[:, labels], X_test, Y_test[:, labels], Source(text))
