"""Dense SIFT written out slowly: every patch, every pixel, every bin, in float64."""

import math

import numpy as np


def slow_sift(image, corners, patch_px, smooth_px):
    """Descriptors before rounding, float64 (n, 128), in the order of `flyannot.descriptors.sift`."""
    smoothed = slow_gaussian(image, smooth_px)
    return np.array([_slow_descriptor(smoothed, top, left, patch_px) for top, left in corners])


def slow_gaussian(image, smooth_px):
    """A two-dimensional Gaussian, cut off at 4 standard deviations, reflected about the border pixels."""
    radius = round(4 * smooth_px)
    if radius == 0:
        return np.asarray(image, float)
    padded = np.pad(np.asarray(image, float), radius, mode="reflect")
    total, weights = np.zeros(image.shape), 0.0
    for i in range(-radius, radius + 1):
        for j in range(-radius, radius + 1):
            weight = math.exp(-(i * i + j * j) / (2 * smooth_px**2))
            rows = slice(radius + i, radius + i + image.shape[0])
            total += weight * padded[rows, radius + j : radius + j + image.shape[1]]
            weights += weight
    return total / weights


def _slow_descriptor(image, top, left, patch_px):
    height, width = image.shape
    bin_px, middle = patch_px / 4, (patch_px - 1) / 2
    histogram = np.zeros((4, 4, 8))
    for i in range(max(top - patch_px, 1), min(top + 2 * patch_px, height - 1)):
        for j in range(max(left - patch_px, 1), min(left + 2 * patch_px, width - 1)):
            dx, dy = image[i, j + 1] - image[i, j - 1], image[i - 1, j] - image[i + 1, j]
            v, u = (i - top - middle) / bin_px, (j - left - middle) / bin_px
            if max(abs(v), abs(u)) < 2.5:
                weight = math.hypot(dx, dy) * math.exp(-(v * v + u * u) / 8)
                _add(histogram, weight, v + 1.5, u + 1.5, math.atan2(dy, dx) / (math.pi / 4) % 8)
    return _normalised(histogram.ravel())


def _add(histogram, weight, v, u, angle):
    for row in range(4):
        for column in range(4):
            for k in range(8):
                turn = min(abs(angle - k), 8 - abs(angle - k))
                share = max(0, 1 - abs(v - row)) * max(0, 1 - abs(u - column)) * max(0, 1 - turn)
                histogram[row, column, k] += weight * share


def _normalised(histogram):
    norm = np.linalg.norm(histogram)
    if norm == 0:
        return histogram
    clipped = np.minimum(histogram, 0.2 * norm)
    return np.minimum(512 * clipped / np.linalg.norm(clipped), 255)
