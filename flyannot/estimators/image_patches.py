"""The container `ImagePatches` for descriptors or codes of images, and the estimator `SpatialMaxPooling`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from flyannot.base.errors import InputError, error_message
from flyannot.base.options import FloatType, IntegerType, require_number
from flyannot.encode.options import GridType
from flyannot.encode.pooling import pool_image


@dataclass(frozen=True, eq=False)
class ImagePatches:
    """Descriptors or codes of the patches of several images, one patch per row.

    Its length is the number of images.  An index selects images: an integer, a slice, or an array of
    integers or booleans.

    Parameters
    ----------
    rows : float array or CSR matrix (n_patches, n_features)
        Descriptors or codes, image after image.
    first : int array (n_images + 1,)
        Image i has the rows first[i] to first[i + 1].
    centres_px : float array (n_patches, 2)
        Patch centres (row, column), in pixels from the top left corner of their image.
    sizes_px : int array (n_images, 2)
        (height, width) of every image, in pixels.
    """

    rows: Any
    first: NDArray[Any]
    centres_px: NDArray[Any]
    sizes_px: NDArray[Any]

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def shape(self) -> tuple[int]:
        """The number of images, by which scikit-learn knows that an index selects images."""
        return (len(self),)

    def __getitem__(self, images: Any) -> "ImagePatches":
        chosen = np.atleast_1d(np.arange(len(self))[images])
        rows = np.concatenate([np.arange(self.first[i], self.first[i + 1]) for i in chosen] or [chosen])
        counts = np.diff(self.first)[chosen]
        first = np.concatenate([[0], np.cumsum(counts)])
        return ImagePatches(self.rows[rows], first, self.centres_px[rows], self.sizes_px[chosen])

    def with_rows(self, rows: Any) -> "ImagePatches":
        """Return a copy with other values for the patches, such as codes instead of descriptors.

        `rows` is a float array or CSR matrix with one row per patch.
        """
        return replace(self, rows=rows)

    def of_image(self, i: int) -> tuple[Any, NDArray[Any], tuple[int, ...]]:
        """Return the rows and the centres of the patches of image i, and its (height, width), in pixels."""
        rows = slice(self.first[i], self.first[i + 1])
        return self.rows[rows], self.centres_px[rows], tuple(self.sizes_px[i].tolist())


_BLOCK_BYTES = 2**26  # rows that are read at a time

# The numbers that estimators take as parameters, with their types.
_NUMBERS = {
    "alpha": FloatType(above=0),
    "tol": FloatType(least=0),
    "objective_tol": FloatType(),
    "n_nonzero_coefs": IntegerType(),
    "max_iter": IntegerType(most=2**31 - 1),
    "data_parallel": IntegerType(most=4096),
}
_FLAGS = ("positive_code", "positive_dict", "sparse_output")


def _validate_parameters(estimator):
    """Raise InputError unless each number, flag and callback of an estimator has the right type and range.

    A number may be None, so that the program chooses it.
    """
    parameters = estimator.get_params(deep=False)
    for name, value in parameters.items():
        if name in _NUMBERS and value is not None:
            require_number(name, value, _NUMBERS[name])
        if name in _FLAGS:
            is_flag = isinstance(value, bool | np.bool_ | Integral)
            require_number(name, int(value) if is_flag else value, IntegerType(0, 1), "True or False")
    if (n_jobs := parameters.get("n_jobs")) is not None:
        spares_cores = isinstance(n_jobs, Integral) and n_jobs < 0
        kind = IntegerType(least=-(2**63), most=-1) if spares_cores else IntegerType()
        require_number("n_jobs", n_jobs, kind, "a whole number of threads, or -1 for all cores")
    callback = parameters.get("callback")
    if callback is not None and not callable(callback):
        raise InputError(f"callback is {callback!r}, and must be a function", fix="choose another callback")


class DenseRows:
    """A view of a matrix that reads its rows as dense arrays, so that the matrix is never copied whole.

    Parameters
    ----------
    matrix : float array, such as a memory map, or CSR matrix (n_samples, n_features)
    scale : float
        A power of two by which rows are divided when they are read.
    """

    def __init__(self, matrix, scale=1.0):
        self._matrix = matrix
        self._scale = matrix.dtype.type(scale)
        self.shape = matrix.shape
        self.dtype = matrix.dtype

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, rows):
        X = self._matrix[rows]
        X = X.toarray() if sp.issparse(X) else X
        return X if self._scale == 1 else X / self._scale

    def blocks(self):
        """Yield (slice of rows, dense array of these rows) for consecutive blocks of the matrix."""
        length = max(1, _BLOCK_BYTES // (self.shape[1] * self.dtype.itemsize))
        for start in range(0, len(self), length):
            rows = slice(start, min(len(self), start + length))
            yield rows, self[rows]


def validate_estimator_input(estimator, X, *, reset, **options):
    """Validate the parameters of an estimator and the samples X that a user gave it.

    Parameters
    ----------
    estimator : BaseEstimator
    X : array-like (n_samples, n_features), or ImagePatches
    reset : bool
        Whether to store the number of features, as in `fit`.  Otherwise it must equal the stored number.
    options : further arguments of `validate_data` of scikit-learn

    Returns
    -------
    rows : array (n_samples, n_features), float32 or float64, or a CSR matrix if `options` accept it
    patches : ImagePatches, or None if X is a plain matrix
    """
    _validate_parameters(estimator)
    patches = X if isinstance(X, ImagePatches) else None
    rows = X if patches is None else patches.rows
    options = {"dtype": [np.float64, np.float32], "order": "C"} | options
    return validate_data(estimator, rows, reset=reset, **options), patches


class SpatialMaxPooling(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Spatial max pooling: the largest absolute code of every atom in every cell of a grid over the image.

    It turns the codes of an image's patches into one vector per image.

    Parameters
    ----------
    grid : (n_rows, n_columns), or a sequence of such pairs
        Numbers of cells.  (1, 1) pools the whole image.

    Attributes
    ----------
    n_features_in_ : int
        Number of atoms.

    References
    ----------
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
        """Validate the grid, and store the number of atoms of the codes X; y is ignored."""
        try:
            self._levels = GridType().parse(self.grid)
        except ValueError as error:
            raise InputError(f"the grid is {self.grid}, and must be {error_message(error)}") from None
        validate_estimator_input(self, X, reset=True, accept_sparse="csr")
        return self

    def transform(self, X: ImagePatches | ArrayLike) -> NDArray[np.float32]:
        """Pool the codes of every image to one vector.

        Parameters
        ----------
        X : ImagePatches of codes, or array-like or sparse matrix (n_images, n_atoms)
            In a matrix each row is an image with one patch in its middle.

        Returns
        -------
        features : float32 array (n_images, n_cells * n_atoms)
            Cells grid by grid in row-major order, atoms within a cell.  A cell without patches is zero.
        """
        check_is_fitted(self)
        rows, patches = validate_estimator_input(self, X, reset=False, accept_sparse="csr")
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
    """Return codes (n_images, n_atoms) as `ImagePatches` of images that have one patch each."""
    n = rows.shape[0]
    centres, sizes = np.full((n, 2), 0.5, np.float32), np.ones((n, 2), int)
    return ImagePatches(sp.csr_matrix(rows), np.arange(n + 1), centres, sizes)
