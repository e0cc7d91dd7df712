"""Groups as a model sees them, read from where the features of their images lie, never all in float64."""

from dataclasses import replace

import numpy as np

from flyannot.classifiers.own_basis import OwnBasis, add_products
from flyannot.features.groups import normalise_features, pooled_columns
from flyannot.runtime.resources import require_bytes

_BLOCK_BYTES = 1 << 29  # of columns of all groups, held at once
_ROWS = 256  # normalised at once


class GroupRows:
    """The feature vectors of groups, pooled and normalised as `ClassifyOptions` say: (n_groups, n_features).

    features : of images, as `flyannot.features.groups.pooled_columns` takes them
    """

    def __init__(self, features, groups, options):
        self._features, self._groups, self._options = features, groups, options
        self.shape = len(groups), features.shape[1]

    def whole(self):
        """All of them, in the type of the features."""
        X = self._pooled(slice(None))
        for start in range(0, len(X), _ROWS):
            rows = slice(start, start + _ROWS)
            X[rows] = normalise_features(X[rows], self._options.normalisation)
        return X

    def own_basis(self, n_threads=1):
        """The rows in a basis of their own, from inner products that add up over blocks of columns.

        Returns
        -------
        basis : flyannot.classifiers.own_basis.OwnBasis
        lengths : float64 array (n_groups,), what the pooled rows were divided by

        Raises
        ------
        FlyannotError
            If the memory does not suffice.
        """
        n_groups, n_features = self.shape
        block = min(_BLOCK_BYTES, 4 * n_groups * n_features)
        require_bytes(
            2 * 8 * n_groups**2 + block, f"the inner products of {n_groups:,} groups",
            fix="use a machine with more memory, or fewer groups",
        )  # fmt: skip
        K = np.zeros((n_groups, n_groups))
        for columns in self._blocks():
            add_products(K, self._pooled(columns), n_threads=n_threads)
        lengths = self._lengths(np.sqrt(np.diagonal(K)))
        K /= lengths
        K /= lengths[:, None]
        return OwnBasis.of_products(K), lengths

    def in_features(self, scorer, basis, lengths):
        """A linear scorer of the basis as one of the features, which are read once more."""
        parts = basis.of_rows(scorer.weights) / lengths
        weights = np.empty((len(parts), self.shape[1]))
        for columns in self._blocks():
            weights[:, columns] = parts @ self._pooled(columns)
        return replace(scorer, weights=weights)

    def _pooled(self, columns):
        return pooled_columns(self._features, self._groups, columns, self._options.scheme)

    def _blocks(self):
        """Cut by the numbers of groups and features alone: so are the sums."""
        width = max(1, _BLOCK_BYTES // (4 * len(self._groups)))
        return (slice(start, start + width) for start in range(0, self.shape[1], width))

    def _lengths(self, lengths):
        is_divisor = (lengths > 0) & (self._options.normalisation == "l2")
        return np.where(is_divisor, lengths, 1.0)
