"""Dense SIFT: one upright descriptor of every patch of an image, computed for the whole image at once.

Number (row_bin * 4 + column_bin) * 8 + orientation of a descriptor is the gradient energy in one of
4 x 4 spatial bins (row-major from the top left) around one of 8 directions.  Direction k points
k * 45 degrees from +x (to the right) towards the top of the image, to brighter grey: OpenCV's order.

A gradient of magnitude g at the offset (v, u) from the centre of the patch, in bins, adds

    g * tri(v - v_b) tri(u - u_b) * exp(-(v^2 + u^2) / 8) * tri(angle - k)

to the bin centred at (v_b, u_b), tri(t) = max(0, 1 - |t|), angles in units of 45 degrees.  Space
separates from angle, and rows from columns; hence 8 orientation maps of the image, a contraction over
rows for every row of patches, a contraction over columns for every patch.
"""

import numpy as np

from flyannot.descriptors.patches import check_patch
from flyannot.descriptors.sift_kernels import (
    PAIRS,
    TAPS,
    describe_patches,
    map_orientations,
    normalise_rows,
    smooth_image,
)
from flyannot.errors import DataError, InputError

N_FEATURES = 128
_N_BINS, _N_ORIENTATIONS = 4, 8


def dense_sift(image, corners, patch_px=16, *, smooth_px=None):
    """One upright SIFT descriptor for every patch.

    Parameters
    ----------
    image : uint8 or float32 array (height, width), grey levels from 0 to 255
    corners : int array (n_patches, 2)
        Top left pixels (row, column), in any order; a regular grid is quickest.
    patch_px : int, the side of a patch, in pixels; a multiple of 4
    smooth_px : float >= 0, optional
        Standard deviation of the Gaussian that smooths the image first.  By default that which brings
        an image of sharpness 0.5 px to 0.1 * patch_px: 1.6 px for a patch of 16, as OpenCV smooths
        its first octave, and twice that for twice the patch, as it smooths the next.

    Returns
    -------
    descriptors : uint8 array (n_patches, 128)
        512 times the descriptor of norm 1, rounded, at most 255; zero where the patch is constant.
        The order of the 128 numbers is the module's docstring.

    Raises
    ------
    InputError
        If `patch_px` is no multiple of 4, a patch leaves the image, or `smooth_px` is negative.

    Source
    ------
    Lowe, IJCV 2004, doi:10.1023/B:VISI.0000029664.99615.94.  As in OpenCV, gradients that touch the
    border of the image are left out.  Unlike OpenCV, which rounds centres to whole pixels, the centre
    is the true one, between the middle pixels, so mirrored patches have mirrored descriptors.
    """
    image = np.ascontiguousarray(image, np.float32)
    corners = np.ascontiguousarray(corners, np.int64).reshape(-1, 2)
    check_patch(image.shape, patch_px, corners)
    first, weights = _bin_weights(patch_px // _N_BINS)
    before, after = -first[0], first[-1] + weights.shape[1] - patch_px  # what patches at the border see
    maps = _orientation_maps(_smoothed(image, _smoothing(patch_px, smooth_px)), before, after)
    order = _row_order(corners)
    bands = np.empty((_N_BINS, maps.shape[1]), np.float32)
    descriptors = np.empty((len(corners), N_FEATURES), np.uint8)
    describe_patches(maps, corners, order, first + before, weights, bands, descriptors.view(np.uint64))
    return descriptors


def normalise_descriptors(descriptors, *, rows=None, out=None):
    """Descriptors with mean 0 and norm 1, as sparse coding takes them.

    Sums are exact integers, so a constant descriptor becomes exactly zero.

    Parameters
    ----------
    descriptors : uint8 array (n_stored, n_features)
    rows : int array (n,), optional
        Which descriptors to take, and in which order; all by default.
    out : float32 array (at least n, n_features), optional
        Its first n rows are filled and returned; saves the allocation in a loop over blocks.

    Returns
    -------
    X : float32 array (n, n_features)

    Raises
    ------
    DataError
        If the descriptors are not a uint8 matrix.
    IndexError
        If a row does not exist.
    """
    if descriptors.ndim != 2 or descriptors.dtype != np.uint8:
        raise DataError(
            f"descriptors are {descriptors.dtype} in {descriptors.ndim} dimensions, not a uint8 matrix",
            fix="take them from dense_sift, or from a file of flyannot extract",
        )
    if rows is not None:  # copied first: the kernel would wait for memory at every row
        descriptors = descriptors[rows]
    X = np.empty(descriptors.shape, np.float32) if out is None else out[: len(descriptors)]
    normalise_rows(descriptors, X)
    return X


def mirrored_descriptors(descriptors):
    """What the descriptors would be if the image were turned upside down (its rows in reverse order).

    Parameters and result: uint8 arrays (n_patches, 128 or more), of the same patches in the same order.  What
    follows the 128 numbers (`flyannot.descriptors.intensity`) is the same either way up.
    """
    by_bin = descriptors[:, :N_FEATURES].reshape(-1, _N_BINS, _N_BINS, _N_ORIENTATIONS)
    turned = -np.arange(_N_ORIENTATIONS) % _N_ORIENTATIONS  # up becomes down
    sift = by_bin[:, ::-1][..., turned].reshape(-1, N_FEATURES)
    return np.hstack([sift, descriptors[:, N_FEATURES:]])


def _smoothing(patch_px, smooth_px):
    if smooth_px is None:
        return np.sqrt(max((0.1 * patch_px) ** 2 - 0.25, 0.0))
    if smooth_px >= 0:
        return smooth_px
    raise InputError(f"cannot smooth by {smooth_px} px", fix="choose smooth_px of 0 or more")


def _smoothed(image, smooth_px):
    """The image under a Gaussian cut off at 4 standard deviations, reflected about its border pixels."""
    radius = int(np.rint(4 * smooth_px))
    if radius == 0:
        return image
    taps = np.exp(-0.5 * (np.arange(radius + 1) / smooth_px) ** 2)
    taps = (taps / (2 * taps.sum() - taps[0])).astype(np.float32)
    taps = np.pad(taps, (0, -radius % PAIRS))
    radius = len(taps) - 1
    rows, columns = (np.pad(np.arange(length), radius, mode="reflect") for length in image.shape)
    smoothed = np.empty_like(image)
    smooth_image(image, taps, rows, columns, np.empty(len(columns), np.float32), smoothed)
    return smoothed


def _orientation_maps(image, before, after):
    """Gradient energy of every pixel in 8 directions: (height, width * 8) within margins of zeros."""
    height, width = image.shape
    margins = before + after
    maps = np.zeros((height + margins, (width + margins) * _N_ORIENTATIONS), np.float32)
    map_orientations(image, before, np.empty((2, width), np.float32), np.empty((2, width), np.int32), maps)
    return maps


def _bin_weights(bin_px):
    """The four one-dimensional bins: their first pixels (from the corner) and weights (4, n_taps).

    A bin sees 2 bin_px pixels; weights of 0 follow up to a multiple of TAPS.
    """
    bins = np.arange(_N_BINS)
    first = np.floor((bins - 0.5) * bin_px + 0.5).astype(np.int64)
    pixels = first[:, None] + np.arange(2 * bin_px + -2 * bin_px % TAPS)
    offset = (pixels - (_N_BINS * bin_px - 1) / 2) / bin_px  # from the patch's centre, in bins
    triangle = np.maximum(1 - np.abs(offset - (bins[:, None] - 1.5)), 0)
    return first, (triangle * np.exp(-(offset**2) / 8)).astype(np.float32)


def _row_order(corners):
    """An order of the patches in which those of one row of the image stand together."""
    rows = corners[:, 0]
    return np.arange(len(rows)) if (rows[1:] >= rows[:-1]).all() else np.argsort(rows, kind="stable")
