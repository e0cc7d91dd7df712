"""The compiled half of dense SIFT; `flyannot.descriptors.sift` says what is computed.

No kernel lets the compiler reorder arithmetic: the same patch gives the same bits whatever the grid,
the thread or the vector length of the machine.
"""

import numpy as np

from flyannot.runtime.compiled import compiled

PAIRS, TAPS = 3, 8  # pixels added in one pass of a filter: fewer passes, fewer trips through memory

_ZERO, _HALF, _ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
_CLIP, _TOP, _SCALE, _TINY = np.float32(0.2), np.float32(255.0), np.float32(512.0), np.float32(1e-30)

# Odd minimax polynomial: |atan(r) 4/pi - r P(r^2)| <= 4e-7 on [0, 1], fitted by Lawson's iteration.
_A0, _A1, _A2, _A3, _A4, _A5, _A6 = np.float32(
    [1.2732346, -0.4242099, 0.25220093, -0.16849214, 0.101380006, -0.042786222, 0.008673044]
)


@compiled
def smooth_image(image, taps, rows, columns, line, smoothed):
    """Convolve rows, then columns, adding pixels in mirrored pairs: a mirrored image gives mirrored bits.

    `rows` and `columns` number the image's pixels with reflected ones before and after.
    """
    radius, (height, width) = len(taps) - 1, image.shape
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
def map_orientations(image, before, share, direction, maps):
    """Split every gradient between the axis (directions 0 2 4 6) and the diagonal (1 3 5 7) beside it.

    Its angle from the axis is atan(lesser / greater of |dx|, |dy|): no branch, and exactly mirrored.
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


@compiled(error_model="numpy")
def describe_patches(maps, corners, order, first, weights, bands, descriptors):
    """Contract rows once for every row of patches, then columns for every patch of it."""
    cells = np.empty((bands.shape[1] // 8, 32), np.float32)  # pixel column; row bin, orientation
    histogram = np.empty((4, 32), np.float32)  # column bin; row bin, orientation
    partial = np.empty(32, np.float32)
    quantised = np.empty(128, np.uint8)
    flat, words = histogram.ravel(), quantised.view(np.uint64)
    top = -1
    for patch in order:
        if corners[patch, 0] != top:
            top = corners[patch, 0]
            _contract(maps, top, first, weights, bands)
            _interleave(bands, cells)
        _contract(cells, corners[patch, 1], first, weights, histogram)
        _quantise(flat, partial, quantised)
        _swap_bins(words, descriptors, patch)


@compiled
def _contract(lines, start, first, weights, sums):
    """sums[b] is the weighted sum of the lines that bin b of a patch at `start` sees."""
    for b in range(4):
        _put_taps(lines, start + first[b], weights, b, sums)
    for k in range(8, weights.shape[1], 8):
        for b in range(4):
            _add_taps(lines, start + first[b] + k, weights, b, k, sums)


@compiled
def _put_taps(lines, at, weights, b, sums):
    """sums[b] = the first 8 weights times their lines, in one pass."""
    w0, w1, w2, w3 = weights[b, 0], weights[b, 1], weights[b, 2], weights[b, 3]
    w4, w5, w6, w7 = weights[b, 4], weights[b, 5], weights[b, 6], weights[b, 7]
    for j in range(sums.shape[1]):
        near = w0 * lines[at, j] + w1 * lines[at + 1, j] + w2 * lines[at + 2, j] + w3 * lines[at + 3, j]
        far = w4 * lines[at + 4, j] + w5 * lines[at + 5, j] + w6 * lines[at + 6, j] + w7 * lines[at + 7, j]
        sums[b, j] = near + far


@compiled
def _add_taps(lines, at, weights, b, k, sums):
    """sums[b] += the 8 weights from k on times their lines, in one pass."""
    w0, w1, w2, w3 = weights[b, k], weights[b, k + 1], weights[b, k + 2], weights[b, k + 3]
    w4, w5, w6, w7 = weights[b, k + 4], weights[b, k + 5], weights[b, k + 6], weights[b, k + 7]
    for j in range(sums.shape[1]):
        near = w0 * lines[at, j] + w1 * lines[at + 1, j] + w2 * lines[at + 2, j] + w3 * lines[at + 3, j]
        far = w4 * lines[at + 4, j] + w5 * lines[at + 5, j] + w6 * lines[at + 6, j] + w7 * lines[at + 7, j]
        sums[b, j] += near + far


@compiled
def _interleave(bands, cells):
    """(row bin; column, orientation) to (column; row bin, orientation): a patch reads one stretch."""
    for column in range(cells.shape[0]):
        for b in range(4):
            for k in range(8):
                cells[column, b * 8 + k] = bands[b, column * 8 + k]


@compiled(error_model="numpy")
def _quantise(histogram, partial, quantised):
    """Norm 1, at most 0.2 each, norm 1 again, times 512, rounded, at most 255."""
    limit = _CLIP * np.sqrt(_sum_squares(histogram, partial))
    for j in range(len(histogram)):
        histogram[j] = min(histogram[j], limit)
    scale = _SCALE / max(np.sqrt(_sum_squares(histogram, partial)), _TINY)
    for j in range(len(histogram)):
        quantised[j] = np.uint8(np.int32(min(histogram[j] * scale + _HALF, _TOP)))


@compiled
def _sum_squares(values, partial):
    """The sum of the squares of 128 values, in strides: a fixed order that vectors can follow."""
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
    """(column bin, row bin) to (row bin, column bin); the 8 orientations of a bin move as one word."""
    for row in range(4):
        for column in range(4):
            by_row[patch, row * 4 + column] = by_column[column * 4 + row]


@compiled(error_model="numpy")
def normalise_rows(descriptors, X):
    """With s = sum x and q = sum x^2, the centred descriptor has the squared norm (p q - s^2) / p."""
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
