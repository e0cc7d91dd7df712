"""MODL as its paper completes ratings: a mini-batch changes the features that any of its samples has."""

import numpy as np

from flyannot.sparse.learners.modl import MODL


class OfSeenFeatures(MODL):
    """As `MODL`; the mask of a mini-batch is all that is observed of it.

    With projection "approximate" (partial), entries of an atom that no sample of the mini-batch has stay as
    they are; with "exact" (full), they shrink with the others.

    Source
    ------
    Mensch et al., ICML 2016, Section 2.3: "Update of the dictionary is performed on the rows that are seen
    at least once in the masks".
    """

    def _learn_batch(self, X, rows):
        self._seen_now = np.flatnonzero(~np.isnan(X).all(axis=0))
        super()._learn_batch(X, rows)

    def _next_features(self):
        return self._seen_now
