"""Positions of the patches of an image, and the mean and standard deviation of their grey levels."""

from functools import lru_cache

import numpy as np

from flyannot.base.errors import InputError
from flyannot.jobs.compiled import compiled


def patch_corners(size_px, patch_px, stride_px):
    """Return the top left pixel of every patch of a regular grid, centred in the image.

    Pixels that the grid leaves over are split evenly between the sides.  So the patches of a mirrored image
    are the mirrored patches.  If the number left over is odd, the bottom (or right) side gets one pixel more.
    The grid is then its own mirror image except for that pixel.

    Parameters
    ----------
    size_px : (height, width) of the image, in pixels
    patch_px : int, side of a patch; a multiple of 4 (SIFT has 4 bins a side)
    stride_px : int >= 1, distance from one patch to the next

    Returns
    -------
    corners : int64 array (n_patches, 2)
        (row, column), in row-major order.

    Raises
    ------
    InputError
        If no patch fits, `patch_px` is not a positive multiple of 4, or `stride_px` is below 1.
    """
    check_patches(size_px, patch_px)
    if stride_px < 1:
        raise InputError(f"a stride of {stride_px} px is not possible", fix="choose --stride-px of 1 or more")
    return _patch_grid(tuple(size_px), patch_px, stride_px).copy()


@lru_cache(maxsize=16)  # most images have one size
def _patch_grid(size_px, patch_px, stride_px):
    """Return the top left pixels of a grid of patches, int64 array; parameters as in `patch_corners`."""
    starts = [np.arange(length + 1)[(length - patch_px) % stride_px // 2 :: stride_px] for length in size_px]
    fitting = [start[start <= length - patch_px] for start, length in zip(starts, size_px)]
    rows, columns = np.meshgrid(*fitting, indexing="ij")
    return np.stack([rows.ravel(), columns.ravel()], axis=1).astype(np.int64)


def check_patches(size_px, patch_px, corners=None):
    """Raise InputError unless patches fit into an image.

    size_px : (height, width) of the image; patch_px : int, side of the patches
    corners : int array (n_patches, 2), their top left pixels; None to check only that one patch fits
    """
    if patch_px < 4 or patch_px % 4:
        what = f"a patch of {patch_px} px cannot be cut into 4 equal bins a side"
        raise InputError(what, fix="choose --patch-px from 4, 8, 12, 16, ...")
    if len(size_px) != 2:
        what = f"an image of shape {tuple(size_px)} is not a matrix of grey levels"
        raise InputError(what, fix="turn colours into grey levels first")
    if min(size_px) < patch_px:
        height, width = size_px
        what = f"a patch of {patch_px} px does not fit into an image of {height} x {width} px"
        raise InputError(what, fix="choose a smaller --patch-px, or larger images")
    if corners is not None:
        is_outside = (corners < 0) | (corners > np.subtract(size_px, patch_px))
        if is_outside.any():  # the search for the first is slow
            first = corners[is_outside.any(axis=1)][0]
            what = f"the patch at {tuple(first.tolist())} leaves the image of {tuple(size_px)} px"
            raise InputError(what, fix="take the corners from patch_corners for this image and side")


def patch_centres(corners, patch_px):
    """Return the centre of every patch, in pixels from the top left corner of the image.

    The corner of the image is (0, 0), and the middle of its first pixel is (0.5, 0.5).  A centre is
    corner + patch_px / 2.  If the image is mirrored, row becomes height - row, and column width - column.

    Parameters
    ----------
    corners : int array (n_patches, 2), top left pixels (row, column)
    patch_px : int, side of a patch in pixels

    Returns
    -------
    centres_px : float32 array (n_patches, 2), (row, column)
    """
    return (np.asarray(corners) + patch_px / 2).astype(np.float32)


def patch_std(image, corners, patch_px):
    """Return the standard deviation of the grey levels of every patch, over all its pixels.

    The result is exact for integer images.  Sums come from integral images of 64-bit integers.  These may
    wrap around, but the difference n sum(x^2) - sum(x)^2 of one patch still fits.  Float images are first
    rounded to multiples of 2^-16 grey levels (coarser for patches above 16 px: 2^-12 at 64).  A constant
    patch gives exactly 0.

    Parameters
    ----------
    image : uint8 or float32 array (height, width), grey levels from 0 to 255
    corners : int array (n_patches, 2), top left pixels (row, column)
    patch_px : int, side of a patch in pixels

    Returns
    -------
    std : float64 array (n_patches,), in grey levels

    Raises
    ------
    InputError
        If `patch_px` is not a multiple of 4, or a patch leaves the image.
    """
    image, corners = np.asarray(image), np.asarray(corners, np.int64).reshape(-1, 2)
    check_patches(image.shape, patch_px, corners)
    n_bits = _fraction_bits(patch_px)
    if np.issubdtype(image.dtype, np.integer):
        n_bits = min(n_bits, 0)
    sums = np.zeros((2, image.shape[0] + 1, image.shape[1] + 1), np.int64)
    scatter = np.empty(len(corners), np.int64)
    _fill_integrals(image, 2.0**n_bits, sums)
    _measure_scatter(sums, corners, patch_px, scatter)
    return np.sqrt(scatter.astype(np.float64)) / (patch_px**2 * 2.0**n_bits)


def patch_mean(image, corners, patch_px):
    """Return the mean grey level of every patch, float64 (n_patches,).

    Parameters and errors are as in `patch_std`.
    """
    image, corners = np.asarray(image), np.asarray(corners, np.int64).reshape(-1, 2)
    check_patches(image.shape, patch_px, corners)
    sums = np.pad(image.astype(np.float64), ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    top, left = corners.T
    bottom, right = top + patch_px, left + patch_px
    return (sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]) / patch_px**2


def _fraction_bits(patch_px):
    """Return the number of bits below one grey level to which grey levels are rounded for `patch_std`.

    For a patch of n pixels, n^2 var <= patch_px^4 (127.5 * 2^bits)^2 must stay below 2^63.

    patch_px : int, side of a patch in pixels
    """
    return min(16, int(np.floor((49 - 4 * np.log2(patch_px)) / 2)))


@compiled
def _fill_integrals(image, factor, sums):
    """Fill two integral images: sums of grey levels and of their squares over all rectangles from the corner.

    Parameters
    ----------
    image : array (height, width), grey levels
    factor : float, by which grey levels are multiplied before they are rounded to integers
    sums : int64 array (2, height + 1, width + 1) of zeros, overwritten.
        sums[0, i, j] is the sum of the integers in image[:i, :j], and sums[1, i, j] the sum of their squares,
        both modulo 2^64.
    """
    for i in range(image.shape[0]):
        total, squares = 0, 0
        for j in range(image.shape[1]):
            level = np.int64(np.rint(image[i, j] * factor))
            total += level
            squares += level * level
            sums[0, i + 1, j + 1] = sums[0, i, j + 1] + total
            sums[1, i + 1, j + 1] = sums[1, i, j + 1] + squares


@compiled
def _measure_scatter(sums, corners, patch_px, scatter):
    """Compute n^2 times the variance of the n grey levels of each patch, n sum(x^2) - sum(x)^2.

    Parameters
    ----------
    sums : int64 array (2, height + 1, width + 1), the integral images from `_fill_integrals`
    corners : int array (n_patches, 2), top left pixels (row, column)
    patch_px : int, side of a patch in pixels
    scatter : int64 array (n_patches,), overwritten with the result
    """
    for k in range(corners.shape[0]):
        top, left = corners[k, 0], corners[k, 1]
        bottom, right = top + patch_px, left + patch_px
        total = sums[0, bottom, right] - sums[0, top, right] - sums[0, bottom, left] + sums[0, top, left]
        squares = sums[1, bottom, right] - sums[1, top, right] - sums[1, bottom, left] + sums[1, top, left]
        scatter[k] = patch_px * patch_px * squares - total * total
