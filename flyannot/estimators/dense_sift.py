"""The estimator `DenseSIFT`, which turns images into SIFT descriptors of their patches."""

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from flyannot.base.errors import InputError
from flyannot.base.options import IntegerType, require_number
from flyannot.estimators.image_patches import ImagePatches
from flyannot.images.embryo import read_grey
from flyannot.images.extract import describe_patches
from flyannot.images.grey_levels import WHITE
from flyannot.images.options import STRIDE_PX, ExtractOptions
from flyannot.images.sift import normalise_descriptors

Images = Sequence[ArrayLike | str | os.PathLike[str]] | NDArray[Any]


class DenseSIFT(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Dense SIFT: descriptors of square patches on a regular grid over each image.

    A descriptor has 128 numbers, with mean 0 and norm 1.  Patches without contrast are skipped.  `fit`
    learns nothing.

    Parameters
    ----------
    patch_px : int
        Side of a patch, in pixels; a multiple of 4, by default 16.
    stride_px : int
        Distance between neighbouring patches, in pixels, by default 16.
    min_std : float
        Patches whose grey levels (0 to 255) have a smaller standard deviation are skipped, by default 6.

    References
    ----------
    Lowe, IJCV 2004; patches as in Lin et al., KDD 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from flyannot import DenseSIFT
    >>> images = np.random.default_rng(0).integers(0, 256, (3, 128, 320), np.uint8)
    >>> patches = DenseSIFT(stride_px=16).fit_transform(images)
    >>> len(patches), patches.rows.shape
    (3, (480, 128))
    """

    def __init__(
        self,
        *,
        patch_px: int = ExtractOptions.patch_px[0],
        stride_px: int = STRIDE_PX,
        min_std: float = ExtractOptions.min_std,
    ) -> None:
        self.patch_px = patch_px
        self.stride_px = stride_px
        self.min_std = min_std

    def fit(self, X: Images, y: object = None) -> Self:
        """Raise InputError unless X is a sequence of images.  Nothing is learned, and y is ignored."""
        _require_images(X)
        return self

    def transform(self, X: Images) -> ImagePatches:
        """Compute the descriptors of all patches of every image.

        Parameters
        ----------
        X : sequence of images, or array (n_images, height, width)
            Each image is a matrix of grey levels, or the path of a picture, which is read as in
            `flyannot extract`.  Grey levels are integers, or floats from 0 to 255.  If no float exceeds 1,
            they are from 0 to 1, as booleans are.

        Returns
        -------
        patches : flyannot.ImagePatches
            Its `rows` are the descriptors, float32 (n_patches, 128), image after image.
        """
        _require_images(X)
        require_number("stride_px", self.stride_px, IntegerType())
        options = ExtractOptions(patch_px=self.patch_px, stride_px=self.stride_px, min_std=self.min_std)
        greys = [_grey_levels(image) for image in X]
        described = [describe_patches(grey, options) for grey in greys]
        counts = [len(patches.descriptors) for patches in described]
        return ImagePatches(
            normalise_descriptors(np.concatenate([patches.descriptors for patches in described])),
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([patches.centres_px for patches in described]),
            np.array([grey.shape for grey in greys]),
        )

    def __sklearn_is_fitted__(self):
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True
        tags.requires_fit = False
        return tags


def _require_images(X):
    """Raise InputError unless X is a list, tuple or array of images or of paths."""
    try:
        n_images = len(X)
    except TypeError:
        raise InputError(f"X is of type {type(X).__name__}, not a list of images") from None
    if isinstance(X, str | os.PathLike) or isinstance(X, np.ndarray) and X.ndim == 2:
        raise InputError("X is one image, not several", fix="put it in a list: [image]")
    if n_images == 0:
        raise InputError("X has no images")


def _grey_levels(image):
    """Return the grey levels of an image as the matrix from which descriptors are computed.

    image : matrix of grey levels, or the path of a picture, which is read
    """
    if isinstance(image, str | os.PathLike):
        return read_grey(image)
    image = np.asarray(image)
    if image.ndim == 0 or image.dtype.kind not in "fiubO":
        raise InputError(f"an image of type {image.dtype} is not a matrix of real numbers")
    if image.dtype == np.uint8:
        return image
    grey = image.astype(np.float32)
    if grey.size and not (grey.min() >= 0 and grey.max() <= WHITE):
        what = f"grey levels run from {grey.min():g} to {grey.max():g}, outside 0 to {WHITE:g}"
        raise InputError(what, fix="scale them to 0 to 255, and replace those that are not finite")
    is_from_0_to_1 = image.dtype.kind in "fb" and grey.size and grey.max() <= 1
    return grey * np.float32(WHITE) if is_from_0_to_1 else grey
