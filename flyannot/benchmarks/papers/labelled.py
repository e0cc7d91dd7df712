"""Images with many labels, as feature vectors: embryos by bags of words, and Corel5k."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from flyannot.benchmarks.papers.arff import read_sparse_arff
from flyannot.benchmarks.papers.embryos import Source

_COREL = ("Corel5k-train-sparse.arff.gz", "Corel5k-test-sparse.arff.gz")
_N_COREL_LABELS = 374
_TEST_SHARE = 0.3
_LEAST = 10  # training rows that carry a label
_EMBRYOS = ((600, 50), (1400, 100))  # labelled rows and queries, quick and full; SISO takes 1 s a query
_PHOTOGRAPHS = ((1800, 30), (4500, 500))


@dataclass(frozen=True, eq=False)  # equal to itself alone, so that what was found on it can be kept
class Labelled:
    """Training and test rows: X float32 (n, n_features), Y bool (n, n_labels)."""

    X: np.ndarray
    Y: np.ndarray
    X_test: np.ndarray
    Y_test: np.ndarray
    source: Source

    def share(self, tau, rng):
        """The same with the share tau of the training rows; itself at tau = 1."""
        if tau == 1:
            return self
        rows = np.sort(rng.permutation(len(self.X))[: max(2, round(tau * len(self.X)))])
        return Labelled(self.X[rows], self.Y[rows], self.X_test, self.Y_test, self.source)


@lru_cache(maxsize=1)
def embryo_words(setup):
    """2,000 embryos by 1,750 visual words, 79 terms (Cai et al. 2012), or None; split at random."""
    path = setup.shared_file("bow", "bdgp_bow.npz")
    if path is None:
        return None
    with np.load(path) as arrays:
        X, Y = arrays["features"].astype(np.float32), arrays["terms"].astype(bool)
    order = setup.rng("bow").permutation(len(X))
    n_test = int(_TEST_SHARE * len(X))
    text = f"{len(X):,} real embryos of BDGP by {X.shape[1]:,} visual words (Cai et al. 2012)"
    train, test = order[n_test:], order[:n_test]
    return _kept(X[train], Y[train], X[test], Y[test], setup.pick(*_EMBRYOS), text)


@lru_cache(maxsize=1)
def corel5k(setup):
    """Corel5k: 499 visual words, 374 labels, 4,500 + 500 images, or None."""
    paths = [setup.shared_file("corel5k", name) for name in _COREL]
    if None in paths:
        return None
    (train, test) = (read_sparse_arff(path)[1] for path in paths)
    X, Y = train[:, :-_N_COREL_LABELS], train[:, -_N_COREL_LABELS:] > 0
    X_test, Y_test = test[:, :-_N_COREL_LABELS], test[:, -_N_COREL_LABELS:] > 0
    text = f"Corel5k, {len(X):,} + {len(X_test)} real photographs by {X.shape[1]} visual words"
    train, test = (setup.rng("corel5k").permutation(n) for n in (len(X), len(X_test)))
    return _kept(X[train], Y[train], X_test[test], Y_test[test], setup.pick(*_PHOTOGRAPHS), text)


def _kept(X, Y, X_test, Y_test, sizes, text):
    """So many rows of each, with the labels that enough training rows and any query carry."""
    X, Y, X_test, Y_test = X[: sizes[0]], Y[: sizes[0]], X_test[: sizes[1]], Y_test[: sizes[1]]
    labels = np.flatnonzero((Y.sum(axis=0) >= _LEAST) & (Y_test.sum(axis=0) > 0))
    text = f"{text}: {len(X):,} labelled, {len(X_test):,} queries, {len(labels)} labels"
    return Labelled(X, Y[:, labels], X_test, Y_test[:, labels], Source(text, "real"))
