"""SpatialMaxPooling: the codes of an image's patches to one feature vector."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from flyannot.errors import InputError, message_of
from flyannot.estimators.image_patches import ImagePatches, matrix_of_samples
from flyannot.features.grid import Grid
from flyannot.features.pooling import pool_image


class SpatialMaxPooling(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The largest |code| of every atom in every cell of a grid laid over the image.

    Parameters
    ----------
    grid : (n_rows, n_columns) of cells, or several such; (1, 1) pools the whole image

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

    def __init__(self, *, grid=(1, 1)):
        self.grid = grid

    def fit(self, X, y=None):
        """Look at how many atoms there are."""
        try:
            self._levels = Grid().parse(self.grid)
        except ValueError as error:
            raise InputError(f"the grid is {self.grid}, and must be {message_of(error)}") from None
        matrix_of_samples(self, X, reset=True, accept_sparse="csr")
        return self

    def transform(self, X):
        """Pool every image.

        Parameters
        ----------
        X : ImagePatches of codes; or a matrix, dense or sparse, of the codes of images with a single
            patch each, in the middle

        Returns
        -------
        features : float32 array (n_images, n_cells * n_atoms)
            Cells grid by grid in row-major order, atoms within a cell.  A cell without patches is zero.
        """
        check_is_fitted(self)
        rows, patches = matrix_of_samples(self, X, reset=False, accept_sparse="csr")
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
    n = rows.shape[0]
    return ImagePatches(
        sp.csr_matrix(rows), np.arange(n + 1), np.full((n, 2), 0.5, np.float32), np.ones((n, 2), int)
    )
