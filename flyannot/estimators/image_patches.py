"""The patches of several images as the rows of one matrix, and their pooling to one vector per image."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from flyannot.base.errors import InputError, error_message
from flyannot.base.text import short_repr
from flyannot.encode.options import GridType
from flyannot.encode.pooling import pool_image


@dataclass(frozen=True, eq=False)
class ImagePatches:
    """Descriptors or codes of the patches of some images.  Its length is the number of images.

    An index selects images: an integer, a slice, or an array of integers or booleans.

    Parameters
    ----------
    rows : float array or CSR matrix (n_patches, n_features)
        Image after image.
    first : int array (n_images + 1,)
        Image i has the rows first[i] to first[i + 1].
    centres_px : float array (n_patches, 2)
        Patch centres (row, column), in pixels from the top left corner of their image.
    sizes_px : int array (n_images, 2), (height, width) of every image
    """

    rows: Any
    first: NDArray[Any]
    centres_px: NDArray[Any]
    sizes_px: NDArray[Any]

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.first) - 1

    def __getitem__(self, images: Any) -> "ImagePatches":
        chosen = np.atleast_1d(np.arange(len(self))[images])
        rows = np.concatenate([np.arange(self.first[i], self.first[i + 1]) for i in chosen] or [chosen])
        counts = np.diff(self.first)[chosen]
        return ImagePatches(
            self.rows[rows],
            np.concatenate([[0], np.cumsum(counts)]),
            self.centres_px[rows],
            self.sizes_px[chosen],
        )

    def with_rows(self, rows: Any) -> "ImagePatches":
        """Return the same patches with other rows, such as codes instead of descriptors."""
        return replace(self, rows=rows)

    def of_image(self, i: int) -> tuple[Any, NDArray[Any], tuple[int, ...]]:
        """Return the rows, centres and (height, width) of one image."""
        rows = slice(self.first[i], self.first[i + 1])
        return self.rows[rows], self.centres_px[rows], tuple(self.sizes_px[i].tolist())


def concatenate_patches(parts):
    """Return one `ImagePatches` of the images of several, in their order."""
    rows = [part.rows for part in parts]
    counts = np.concatenate([np.diff(part.first) for part in parts])
    return ImagePatches(
        sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows),
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([part.centres_px for part in parts]),
        np.concatenate([part.sizes_px for part in parts]),
    )


def _as_image_patches(X):
    """Return X as one `ImagePatches` if it is one, or is a list of them; otherwise None.

    Cross-validation makes such lists.
    """
    if isinstance(X, ImagePatches):
        return X
    if isinstance(X, list | tuple) and X and all(isinstance(part, ImagePatches) for part in X):
        return concatenate_patches(X)
    return None


def check_samples(estimator, X, *, reset, **options):
    """Validate X for an estimator, and return (rows, ImagePatches); the second is None for a plain matrix.

    reset : True in `fit`, False later; options : of scikit-learn's `validate_data`
    """
    patches = _as_image_patches(X)
    rows = X if patches is None else patches.rows
    options = {"dtype": [np.float64, np.float32], "order": "C"} | options
    return validate_data(estimator, rows, reset=reset, **options), patches


class SpatialMaxPooling(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Spatial max pooling: the largest |code| of every atom in every cell of a grid over the image.

    Parameters
    ----------
    grid : (n_rows, n_columns) of cells, or several grids; (1, 1) pools the whole image

    Attributes
    ----------
    n_features_in_ : int, atoms

    Source
    ------
    Yang et al., CVPR 2009, doi:10.1109/CVPR.2009.5206757.

    Examples
    --------
    >>> from flyannot import SpatialMaxPooling
    >>> SpatialMaxPooling().fit_transform([[0.5, -2.0, 0.0]])
    array([[0.5, 2. , 0. ]], dtype=float32)
    """

    def __init__(self, *, grid: Sequence[int] | Sequence[Sequence[int]] = (1, 1)) -> None:
        self.grid = grid

    def fit(self, X: ImagePatches | ArrayLike, y: object = None) -> Self:
        """Validate the grid, and store the number of atoms."""
        try:
            self._levels = GridType().parse(self.grid)
        except ValueError as error:
            raise InputError(f"the grid is {self.grid}, and must be {error_message(error)}") from None
        check_samples(self, X, reset=True, accept_sparse="csr")
        return self

    def transform(self, X: ImagePatches | ArrayLike) -> NDArray[np.float32]:
        """Pool every image.

        Parameters
        ----------
        X : ImagePatches of codes; or a dense or sparse matrix, a row per image with one patch in the middle

        Returns
        -------
        features : float32 array (n_images, n_cells * n_atoms)
            Cells grid by grid in row-major order, atoms within a cell.  A cell without patches is zero.
        """
        check_is_fitted(self)
        rows, patches = check_samples(self, X, reset=False, accept_sparse="csr")
        codes = _with_one_patch_each(rows) if patches is None else patches.with_rows(sp.csr_matrix(rows))
        features = np.zeros((len(codes), self._n_features_out), np.float32)
        for i in range(len(codes)):
            features[i] = pool_image(*codes.of_image(i), grid=self._levels).features
        return features

    @property
    def _n_features_out(self):
        return sum(rows * columns for rows, columns in self._levels) * self.n_features_in_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _with_one_patch_each(rows):
    """Return codes as `ImagePatches` of images with one patch each."""
    n = rows.shape[0]
    return ImagePatches(
        sp.csr_matrix(rows), np.arange(n + 1), np.full((n, 2), 0.5, np.float32), np.ones((n, 2), int)
    )
