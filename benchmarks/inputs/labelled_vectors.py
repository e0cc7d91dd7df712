"""Images with many labels, as feature vectors: embryos by bags of visual words, and Corel5k."""

import gzip
import zipfile
from dataclasses import dataclass

import numpy as np

from benchmarks.findings import Source
from benchmarks.inputs.patches import described_patches
from flyannot.base.errors import DataError
from flyannot.base.stage_ranges import parse_stage_range
from flyannot.images.sift import normalise_descriptors

_COREL_TEST = "Corel5k-test-sparse.arff.gz"
_N_COREL_LABELS, N_COREL_WORDS = 374, 499
_TEST_SHARE = 0.3
_LEAST = 10  # training rows that carry a label


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
    """Read the embryos of Cai et al. 2012; the file names neither genes nor terms.

    Returns
    -------
    X : float32 (n, n_words); Y : bool (n, n_terms); stage ranges; text (n,)

    Raises
    ------
    DataError
        If it is no such file.
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


def embryo_words(setup, name):
    """2,000 embryos by 1,750 visual words, 79 terms (Cai et al. 2012), split at random."""
    X, Y, _ = read_bags_of_words(setup.data_file("bow"))
    test, train = np.split(setup.rng("bow").permutation(len(X)), [int(_TEST_SHARE * len(X))])
    text = f"{len(X):,} real embryos of BDGP by {X.shape[1]:,} visual words (Cai et al. 2012)"
    return _kept(setup, name, X[train], Y[train], X[test], Y[test], text)


def corel5k(setup, name):
    """Corel5k: 499 visual words, 374 labels, 4,500 + 500 images."""
    path = setup.data_file("corel5k")
    (train, test) = (read_sparse_arff(file) for file in (path, path.with_name(_COREL_TEST)))
    train, test = (rows[setup.rng("corel5k").permutation(len(rows))] for rows in (train, test))
    (X, Y), (X_test, Y_test) = (np.split(rows, [-_N_COREL_LABELS], axis=1) for rows in (train, test))
    text = f"Corel5k, {len(X):,} + {len(X_test)} real photographs by {X.shape[1]} visual words"
    return _kept(setup, name, X, Y > 0, X_test, Y_test > 0, text)


def descriptors(setup, name):
    """SIFT descriptors of patches of embryos, each labelled by its image."""
    n_test = setup.sizes["n_queries"][name]
    found, source = described_patches(setup, setup.sizes["n_labelled"][name] + n_test, views=(None,))
    Y = np.repeat(np.eye(len(found), dtype=bool), [len(one.descriptors) for one in found], axis=0)
    X = normalise_descriptors(np.concatenate([one.descriptors for one in found]))
    test, train = np.split(setup.rng("descriptors").permutation(len(X)), [n_test])
    return _kept(setup, name, X[train], Y[train], X[test], Y[test], source.text)


_N_FEATURES, _N_CONCEPTS, _N_WAYS = 428, 81, 6  # as in NUS-WIDE; in which a concept varies
_CLUTTER = 6.0  # of a feature, over what one concept adds


def synthetic_images(setup, name):
    """Draw images like NUS-WIDE in size: each is the sum of what its concepts add, and clutter."""
    n = setup.sizes["n_labelled"][name] + setup.sizes["n_queries"][name]
    rng, some = setup.rng("images"), (_N_CONCEPTS, _N_WAYS)
    means = rng.gamma(0.5, size=(_N_CONCEPTS, _N_FEATURES))
    ways = 0.5 * rng.normal(size=(*some, _N_FEATURES)) * means[:, None]
    rates = 1 / (3 + np.arange(_N_CONCEPTS))
    Y = rng.random((n, _N_CONCEPTS)) < 2 * rates / rates.sum()
    X = np.empty((n, _N_FEATURES), np.float32)
    for rows in np.array_split(np.arange(n), n // 1000 + 1):
        weights = rng.normal(size=(len(rows), *some)) * Y[rows, :, None]
        made = Y[rows] @ means + weights.reshape(len(rows), -1) @ ways.reshape(-1, _N_FEATURES)
        X[rows] = np.maximum(made + _CLUTTER * rng.gamma(0.5, size=made.shape), 0)
    split = setup.sizes["n_labelled"][name]
    text = f"{n:,} SYNTHETIC images of {_N_FEATURES} features"
    return _kept(setup, name, X[:split], Y[:split], X[split:], Y[split:], text)


def read_sparse_arff(path):
    """Read gzipped sparse ARFF, with rows of {index value, ...}, as float32 (n_rows, n_attributes).

    Raises
    ------
    DataError
        With the line, if a row is not sparse, an index is no attribute's, or a value is no number.
    """
    n_attributes, entries, n_rows, in_rows, number = 0, [], 0, False, 0
    try:
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(map(str.strip, lines), 1):  # noqa: B007
                n_attributes += line.lower().startswith("@attribute")
                if in_rows and line:
                    pairs = (entry.split() for entry in line.strip("{}").split(",") if entry)
                    entries += [(n_rows, int(place), float(value)) for place, value in pairs]
                    n_rows += 1
                in_rows = in_rows or line.lower() == "@data"
        rows, places, found = np.array(entries).T
        values = np.zeros((n_rows, n_attributes), np.float32)
        values[rows.astype(int), places.astype(int)] = found
    except (OSError, EOFError, ValueError, IndexError) as error:
        raise DataError(f"{path}, line {number}: {error}", fix="get the file again") from error
    return values


def _kept(setup, name, X, Y, X_test, Y_test, text):
    """Keep the first rows of each, and the labels that enough training rows and any query carry."""
    n, n_test = setup.sizes["n_labelled"][name], setup.sizes["n_queries"][name]
    X, Y, X_test, Y_test = X[:n], Y[:n], X_test[:n_test], Y_test[:n_test]
    labels = np.flatnonzero((Y.sum(axis=0) >= _LEAST) & (Y_test.sum(axis=0) > 0))
    text = f"{text}: {len(X):,} labelled, {len(X_test):,} queries, {len(labels)} labels"
    kind = "synthetic" if "SYNTHETIC" in text else "real"
    return Labelled(X, Y[:, labels], X_test, Y_test[:, labels], Source(text, kind))
