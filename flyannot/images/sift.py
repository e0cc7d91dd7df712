"""Dense SIFT: one upright descriptor of every patch of an image, computed for the whole image at once.

Number (row_bin * 4 + column_bin) * 8 + orientation of a descriptor is the gradient energy in one of
4 x 4 spatial bins (row-major from the top left) around one of 8 directions.  Direction k points
k * 45 degrees from +x (to the right) towards the top of the image, to brighter grey: OpenCV's order.

A gradient of magnitude g at the offset (v, u) from the centre of the patch, in bins, adds

    g * tri(v - v_b) tri(u - u_b) * exp(-(v^2 + u^2) / 8) * tri(angle - k)

to the bin centred at (v_b, u_b), with tri(t) = max(0, 1 - |t|) and angles in units of 45 degrees.  The
factors for space and angle are separate, and so are those for rows and columns.  So there are 8 orientation
maps of the image, a contraction over rows for every row of patches, and a contraction over columns for every
patch.

No kernel lets the compiler reorder arithmetic.  A patch has the same bits for any grid, thread or vector
length of the machine.
"""

from functools import lru_cache

import numpy as np

from flyannot.base.errors import DataError
from flyannot.images.patches import check_patches
from flyannot.jobs.compiled import compiled

N_FEATURES = 128
_N_BINS, _N_ORIENTATIONS = 4, 8
_N_KEPT = 16  # sizes of patches and of images whose filters are kept
_PAIRS = 3  # pairs of pixels that are added in one pass of a filter: fewer passes read less memory
_TAPS = 8  # pixels that are added in one pass of a contraction

_ZERO, _HALF, _ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
_CLIP, _TOP, _SCALE, _TINY = np.float32(0.2), np.float32(255.0), np.float32(512.0), np.float32(1e-30)

# Odd minimax polynomial: |atan(r) 4/pi - r P(r^2)| <= 4e-7 on [0, 1], fitted by Lawson's iteration.
_A0, _A1, _A2, _A3, _A4, _A5, _A6 = np.float32(
    [1.2732346, -0.4242099, 0.25220093, -0.16849214, 0.101380006, -0.042786222, 0.008673044]
)


def dense_sift(image, corners, patch_px=16):
    """Compute one upright SIFT descriptor for every patch of an image.

    Parameters
    ----------
    image : uint8 or float32 array (height, width), grey levels from 0 to 255
    corners : int array (n_patches, 2)
        Top left pixels (row, column), in any order; a regular grid is quickest.
    patch_px : int, side of a patch in pixels; a multiple of 4

    Returns
    -------
    descriptors : uint8 array (n_patches, 128)
        512 times the descriptor of norm 1, rounded, at most 255; zero if the patch is constant.
        The module's docstring gives the order of the 128 numbers.

    Raises
    ------
    InputError
        If `patch_px` is not a multiple of 4, or a patch leaves the image.

    Source
    ------
    Lowe, IJCV 2004, doi:10.1023/B:VISI.0000029664.99615.94.  As in OpenCV, gradients that touch the border of
    the image are left out.  Unlike OpenCV, which rounds centres to whole pixels, the centre lies exactly
    between the middle pixels.  So mirrored patches have mirrored descriptors.
    """
    image = np.ascontiguousarray(image, np.float32)
    corners = np.ascontiguousarray(corners, np.int64).reshape(-1, 2)
    check_patches(image.shape, patch_px, corners)
    first, weights = _bin_weights(patch_px // _N_BINS)
    before = -first[0]  # pixels outside the image that the bins of a patch at its border cover
    after = first[-1] + weights.shape[1] - patch_px
    maps = _orientation_maps(_smooth_for_patch(image, patch_px), before, after)
    order = np.argsort(corners[:, 0], kind="stable")
    scratch = _make_scratch(maps.shape[1])
    descriptors = np.empty((len(corners), N_FEATURES), np.uint8)
    _contract_patches(maps, corners, order, first + before, weights, scratch, descriptors.view(np.uint64))
    return descriptors


def normalise_descriptors(descriptors):
    """Normalise descriptors to mean 0 and norm 1, as input of sparse coding.

    Sums are exact integers, so that a constant descriptor becomes exactly zero.

    Parameters
    ----------
    descriptors : uint8 array (n, n_features)

    Returns
    -------
    X : float32 array (n, n_features)

    Raises
    ------
    DataError
        If the descriptors are not a uint8 matrix.
    """
    if descriptors.ndim != 2 or descriptors.dtype != np.uint8:
        what = f"descriptors are {descriptors.dtype} in {descriptors.ndim} dimensions, not a uint8 matrix"
        raise DataError(what, fix="take them from dense_sift, or from a file of flyannot extract")
    X = np.empty(descriptors.shape, np.float32)
    _normalise_rows(descriptors, X)
    return X


def mirror_descriptors(descriptors):
    """Return the descriptors that the patches of an image have if its rows are reversed (top to bottom).

    Parameters
    ----------
    descriptors : uint8 array (n_patches, 128 or more)

    Returns
    -------
    mirrored : uint8 array of the same shape, the same patches in the same order
        Numbers after the first 128, which describe intensity, are not changed.
    """
    by_bin = descriptors[:, :N_FEATURES].reshape(-1, _N_BINS, _N_BINS, _N_ORIENTATIONS)
    turned = -np.arange(_N_ORIENTATIONS) % _N_ORIENTATIONS  # up becomes down
    sift = by_bin[:, ::-1][..., turned].reshape(-1, N_FEATURES)
    return np.hstack([sift, descriptors[:, N_FEATURES:]])


def _smooth_for_patch(image, patch_px):
    """Convolve an image with the Gaussian that SIFT needs for patches of one size.

    The Gaussian ends at 4 standard deviations, and the image is reflected about its border pixels.
    The Gaussian turns an image of sharpness 0.5 px into one of 0.1 * patch_px.  This is 1.6 px for a patch of
    16, as OpenCV smooths its first octave, and twice as much for a patch twice as large.

    image : float32 array (height, width); patch_px : int, side of a patch in pixels
    """
    taps = _gaussian_taps(patch_px)
    if len(taps) == 1:
        return image
    rows, columns = (_reflected_indices(length, len(taps) - 1) for length in image.shape)
    smoothed = np.empty_like(image)
    _smooth_image(image, taps, rows, columns, np.empty(len(columns), np.float32), smoothed)
    return smoothed


@lru_cache(maxsize=_N_KEPT)
def _gaussian_taps(patch_px):
    """Return half of the Gaussian kernel of SIFT, from its middle, with zeros up to a multiple of _PAIRS.

    patch_px : int, side of a patch in pixels
    """
    smooth_px = np.sqrt(max((0.1 * patch_px) ** 2 - 0.25, 0.0))
    radius = int(np.rint(4 * smooth_px))
    if radius == 0:
        return np.ones(1, np.float32)
    taps = np.exp(-0.5 * (np.arange(radius + 1) / smooth_px) ** 2)
    return np.pad((taps / (2 * taps.sum() - taps[0])).astype(np.float32), (0, -radius % _PAIRS))


@lru_cache(maxsize=_N_KEPT)
def _reflected_indices(length, radius):
    """Return the indices of the pixels along a line, with `radius` reflected pixels on both sides.

    length : int, number of pixels of the line
    """
    return np.pad(np.arange(length), radius, mode="reflect")


def _orientation_maps(image, before, after):
    """Return the gradient energy of each pixel in 8 directions, with margins of zeros around the image.

    Parameters
    ----------
    image : float32 array (height, width), smoothed
    before : int, width in pixels of the margin above and to the left
    after : int, width in pixels of the margin below and to the right

    Returns
    -------
    maps : float32 array (height + before + after, (width + before + after) * 8)
        Number 8 * column + k of a row is the energy in direction k.
    """
    height, width = image.shape
    margins = before + after
    maps = np.zeros((height + margins, (width + margins) * _N_ORIENTATIONS), np.float32)
    _map_orientations(image, before, np.empty((2, width), np.float32), np.empty((2, width), np.int32), maps)
    return maps


@lru_cache(maxsize=_N_KEPT)
def _bin_weights(bin_px):
    """Return which pixels each of the four bins of a patch covers along one axis, and their weights.

    Weights of 0 follow, up to a multiple of _TAPS.

    bin_px : int, distance between bins; a bin covers 2 bin_px pixels

    Returns
    -------
    first : int array (4,), the first pixel of each bin, counted from the corner of the patch
    weights : float32 array (4, n_taps)
    """
    bins = np.arange(_N_BINS)
    first = np.floor((bins - 0.5) * bin_px + 0.5).astype(np.int64)
    pixels = first[:, None] + np.arange(2 * bin_px + -2 * bin_px % _TAPS)
    offset = (pixels - (_N_BINS * bin_px - 1) / 2) / bin_px  # from the patch's centre, in bins
    triangle = np.maximum(1 - np.abs(offset - (bins[:, None] - 1.5)), 0)
    return first, (triangle * np.exp(-(offset**2) / 8)).astype(np.float32)


@compiled
def _smooth_image(image, taps, rows, columns, line, smoothed):
    """Convolve an image with a symmetric kernel: down its columns, then along its rows.

    Pixels are added in mirrored pairs, so that a mirrored image gives mirrored bits.

    Parameters
    ----------
    image : float32 array (height, width)
    taps : float32 array (radius + 1,), half of the kernel from its middle
    rows : int array (height + 2 radius,), indices of the rows, with reflected ones on both sides
    columns : int array (width + 2 radius,), indices of the columns, with reflected ones on both sides
    line : float32 array (width + 2 radius,), overwritten: one row after the first convolution
    smoothed : float32 array (height, width), overwritten with the result
    """
    radius = len(taps) - 1
    height, width = image.shape
    middle = line[radius : radius + width]
    for i in range(height):
        for j in range(width):
            middle[j] = taps[0] * image[i, j]
        for k in range(1, radius + 1, 3):
            t0, t1, t2 = taps[k], taps[k + 1], taps[k + 2]
            a0, b0 = image[rows[i + radius - k]], image[rows[i + radius + k]]
            a1, b1 = image[rows[i + radius - k - 1]], image[rows[i + radius + k + 1]]
            a2, b2 = image[rows[i + radius - k - 2]], image[rows[i + radius + k + 2]]
            for j in range(width):
                middle[j] += t0 * (a0[j] + b0[j]) + t1 * (a1[j] + b1[j]) + t2 * (a2[j] + b2[j])
        for j in range(radius):
            line[j] = line[radius + columns[j]]
            line[radius + width + j] = line[radius + columns[radius + width + j]]
        for j in range(width):
            smoothed[i, j] = taps[0] * middle[j]
        for k in range(1, radius + 1, 3):
            t0, t1, t2 = taps[k], taps[k + 1], taps[k + 2]
            a0, b0 = line[radius - k :], line[radius + k :]
            a1, b1 = line[radius - k - 1 :], line[radius + k + 1 :]
            a2, b2 = line[radius - k - 2 :], line[radius + k + 2 :]
            for j in range(width):
                smoothed[i, j] += t0 * (a0[j] + b0[j]) + t1 * (a1[j] + b1[j]) + t2 * (a2[j] + b2[j])


@compiled(error_model="numpy")
def _map_orientations(image, before, share, direction, maps):
    """Split every gradient between the axis (directions 0 2 4 6) and the diagonal (1 3 5 7) beside it.

    The angle from the axis is atan(lesser / greater of |dx|, |dy|), which needs no branch and is exactly
    mirrored.

    Parameters
    ----------
    image : float32 array (height, width), smoothed
    before : int, width in pixels of the margin of the maps above and to the left
    share, direction : float32 and int32 arrays (2, width), overwritten for each row of pixels
    maps : float32 array of zeros, filled as `_orientation_maps` returns it
    """
    height, width = image.shape
    for i in range(1, height - 1):
        for j in range(1, width - 1):
            dx = image[i, j + 1] - image[i, j - 1]
            dy = image[i - 1, j] - image[i + 1, j]
            ax, ay = abs(dx), abs(dy)
            r = min(ax, ay) / max(max(ax, ay), _TINY)
            s = r * r
            angle = r * (_A0 + s * (_A1 + s * (_A2 + s * (_A3 + s * (_A4 + s * (_A5 + s * _A6))))))
            magnitude = np.sqrt(dx * dx + dy * dy)
            share[1, j] = magnitude * angle
            share[0, j] = magnitude * (_ONE - angle)
            left, down = np.int32(dx < _ZERO), np.int32(dy < _ZERO)
            axis = np.int32(4) * left if ax >= ay else np.int32(2) + np.int32(4) * down
            direction[0, j] = axis
            direction[1, j] = np.int32(1) + np.int32(2) * (left ^ down) + np.int32(4) * down
        for j in range(1, width - 1):
            pixel = (j + before) * 8
            maps[i + before, pixel + direction[0, j]] = share[0, j]
            maps[i + before, pixel + direction[1, j]] = share[1, j]


def _make_scratch(width):
    """Allocate the arrays that `_contract_patches` overwrites: float32 arrays, except the last two.

    bands : (row bin; pixel column, orientation)
    cells : (pixel column; row bin, orientation)
    histogram : (column bin; row bin, orientation), and the same memory as one row
    partial : sums of squares
    quantised : uint8, and the same memory as words of 8 bytes

    width : int, length of a row of the orientation maps
    """
    bands = np.empty((_N_BINS, width), np.float32)
    cells = np.empty((width // _N_ORIENTATIONS, N_FEATURES // _N_BINS), np.float32)
    histogram = np.empty((_N_BINS, cells.shape[1]), np.float32)
    partial = np.empty(cells.shape[1], np.float32)
    quantised = np.empty(N_FEATURES, np.uint8)
    return bands, cells, histogram, histogram.ravel(), partial, quantised, quantised.view(np.uint64)


@compiled(error_model="numpy")
def _contract_patches(maps, corners, order, first, weights, scratch, descriptors):
    """Compute the descriptors of all patches from the orientation maps.

    Rows of pixels are summed once for every row of patches, then columns for every patch in the row.

    Parameters
    ----------
    maps : float32 array, as `_orientation_maps` returns
    corners : int array (n_patches, 2), top left pixels (row, column)
    order : int array (n_patches,), the patches sorted so that those with the same top row are neighbours
    first : int array (4,), first pixel of each bin, as `_bin_weights` returns, plus the margin of the maps
    weights : float32 array (4, n_taps), as `_bin_weights` returns
    scratch : arrays from `_make_scratch`, overwritten
    descriptors : uint64 array (n_patches, 16), overwritten: 128 bytes of each patch, 8 orientations a word
    """
    bands, cells, histogram, flat, partial, quantised, words = scratch
    top = -1
    for patch in order:
        if corners[patch, 0] != top:
            top = corners[patch, 0]
            _sum_bins(maps, top, first, weights, bands)
            _interleave_bins(bands, cells)
        _sum_bins(cells, corners[patch, 1], first, weights, histogram)
        _quantise_histogram(flat, partial, quantised)
        _swap_bins(words, descriptors, patch)


@compiled
def _sum_bins(lines, start, first, weights, sums):
    """Store in sums[b] the weighted sum of the lines that bin b of a patch covers.

    Parameters
    ----------
    lines : float32 array (n_lines, n), rows or columns of pixels
    start : int, the first line of the patch
    first, weights : first line and weights of each bin, as `_bin_weights` returns
    sums : float32 array (4, n), overwritten
    """
    for k in range(0, weights.shape[1], 8):
        for b in range(4):
            _add_taps(lines, start + first[b] + k, weights, b, k, sums)


@compiled
def _add_taps(lines, at, weights, b, k, sums):
    """Add 8 weighted lines to the sum of one bin; for the first 8 weights, store them instead.

    Parameters
    ----------
    lines : float32 array (n_lines, n)
    at : int, index of the first of the 8 lines
    weights : float32 array (4, n_taps)
    b, k : int, the bin, and the index of the first of its 8 weights
    sums : float32 array (4, n), whose row b is changed
    """
    w0, w1, w2, w3 = weights[b, k], weights[b, k + 1], weights[b, k + 2], weights[b, k + 3]
    w4, w5, w6, w7 = weights[b, k + 4], weights[b, k + 5], weights[b, k + 6], weights[b, k + 7]
    for j in range(sums.shape[1]):
        near = w0 * lines[at, j] + w1 * lines[at + 1, j] + w2 * lines[at + 2, j] + w3 * lines[at + 3, j]
        far = w4 * lines[at + 4, j] + w5 * lines[at + 5, j] + w6 * lines[at + 6, j] + w7 * lines[at + 7, j]
        sums[b, j] = near + far if k == 0 else sums[b, j] + (near + far)


@compiled
def _interleave_bins(bands, cells):
    """Reorder sums from (row bin; column, orientation) to (column; row bin, orientation).

    The numbers that one patch needs are then contiguous.

    bands : float32 array (4, n_columns * 8); cells : float32 array (n_columns, 32), overwritten
    """
    for column in range(cells.shape[0]):
        for b in range(4):
            for k in range(8):
                cells[column, b * 8 + k] = bands[b, column * 8 + k]


@compiled(error_model="numpy")
def _quantise_histogram(histogram, partial, quantised):
    """Convert the histogram of a patch to the bytes of a SIFT descriptor.

    The histogram is scaled to norm 1, clipped at 0.2, and scaled to norm 512.  A byte is at most 255.

    histogram : float32 array (128,), changed; partial : float32 array (32,), overwritten
    quantised : uint8 array (128,), overwritten with the result
    """
    limit = _CLIP * np.sqrt(_sum_squares(histogram, partial))
    for j in range(len(histogram)):
        histogram[j] = min(histogram[j], limit)
    scale = _SCALE / max(np.sqrt(_sum_squares(histogram, partial)), _TINY)
    for j in range(len(histogram)):
        quantised[j] = np.uint8(np.int32(min(histogram[j] * scale + _HALF, _TOP)))


@compiled
def _sum_squares(values, partial):
    """Return the sum of the squares of 128 values, added in a fixed order that can be vectorised.

    partial : float32 array (32,), overwritten
    """
    for j in range(len(partial)):
        a, b, c, d = values[j], values[j + 32], values[j + 64], values[j + 96]
        partial[j] = (a * a + b * b) + (c * c + d * d)
    s0, s1, s2, s3 = _ZERO, _ZERO, _ZERO, _ZERO
    for j in range(8):
        s0 += partial[j]
        s1 += partial[j + 8]
        s2 += partial[j + 16]
        s3 += partial[j + 24]
    return (s0 + s1) + (s2 + s3)


@compiled
def _swap_bins(by_column, by_row, patch):
    """Reorder the bins of a descriptor from column by column to row by row.

    The 8 orientations of a bin are moved as one word of 8 bytes.

    by_column : uint64 array (16,); by_row : uint64 array (n_patches, 16), whose row `patch` is overwritten
    """
    for row in range(4):
        for column in range(4):
            by_row[patch, row * 4 + column] = by_column[column * 4 + row]


@compiled(error_model="numpy")
def _normalise_rows(descriptors, X):
    """Subtract the mean of each descriptor, and scale the result to norm 1.

    With s = sum x and q = sum x^2, the centred descriptor has the squared norm (p q - s^2) / p.

    descriptors : uint8 array (n, p); X : float32 array (n, p), overwritten with the result
    """
    p = descriptors.shape[1]
    for i in range(len(descriptors)):
        x, total, squares = descriptors[i], 0, 0
        for j in range(p):
            total += np.int32(x[j])
            squares += np.int32(x[j]) * np.int32(x[j])
        scatter = p * squares - total * total
        scale = np.float32(1 / np.sqrt(scatter / p)) if scatter > 0 else _ZERO
        mean = np.float32(total / p)
        for j in range(p):
            X[i, j] = (np.float32(x[j]) - mean) * scale
