"""The patches of several images as the rows of one matrix: what goes between the estimators."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from flyannot.runtime.wording import short_repr


@dataclass(frozen=True, eq=False)
class ImagePatches:
    """Descriptors, or codes, of the patches of some images.  Its length is the number of images.

    Parameters
    ----------
    rows : float array or CSR matrix (n_patches, n_features)
        Image after image.
    first : int array (n_images + 1,)
        Image i has the rows first[i] to first[i + 1].
    centres_px : float array (n_patches, 2)
        Patch centres (row, column), in pixels from the top left corner of their image.
    sizes_px : int array (n_images, 2), (height, width) of every image

    An integer, a slice, or an array of numbers or truth values picks images, so that folds can be cut.
    """

    rows: object
    first: np.ndarray
    centres_px: np.ndarray
    sizes_px: np.ndarray

    __repr__ = short_repr

    def __len__(self):
        return len(self.first) - 1

    def __getitem__(self, images):
        chosen = np.atleast_1d(np.arange(len(self))[images])
        rows = np.concatenate([np.arange(self.first[i], self.first[i + 1]) for i in chosen] or [chosen])
        counts = np.diff(self.first)[chosen]
        return ImagePatches(
            self.rows[rows],
            np.concatenate([[0], np.cumsum(counts)]),
            self.centres_px[rows],
            self.sizes_px[chosen],
        )

    def with_rows(self, rows):
        """The same patches with other numbers: their codes instead of their descriptors."""
        return replace(self, rows=rows)

    def of_image(self, i):
        """The rows, centres and (height, width) of one image."""
        mine = slice(self.first[i], self.first[i + 1])
        return self.rows[mine], self.centres_px[mine], tuple(self.sizes_px[i].tolist())


def joined_patches(parts):
    """One `ImagePatches` of the images of several, in their order."""
    rows = [part.rows for part in parts]
    counts = np.concatenate([np.diff(part.first) for part in parts])
    return ImagePatches(
        sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows),
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([part.centres_px for part in parts]),
        np.concatenate([part.sizes_px for part in parts]),
    )


def _as_image_patches(X):
    """X as one `ImagePatches` if it is one, or a list of them, as cross-validation makes; else None."""
    if isinstance(X, ImagePatches):
        return X
    if isinstance(X, list | tuple) and X and all(isinstance(one, ImagePatches) for one in X):
        return joined_patches(X)
    return None


def matrix_of_samples(estimator, X, *, reset, **options):
    """The rows of X, checked, and the `ImagePatches` they are of (None for a plain matrix)."""
    patches = _as_image_patches(X)
    rows = X if patches is None else patches.rows
    options = {"dtype": [np.float64, np.float32], "order": "C"} | options
    return validate_data(estimator, rows, reset=reset, **options), patches
