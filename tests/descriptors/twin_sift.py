"""Dense SIFT written out slowly: every patch, every pixel, every bin, in float64."""

import math

import numpy as np
from scipy.ndimage import gaussian_filter


def slow_sift(image, corners, patch_px, smooth_px):
    """Descriptors before rounding, float64 (n, 128), in the order of `flyannot.descriptors.sift`."""
    smoothed = gaussian_filter(np.asarray(image, float), smooth_px, mode="mirror", truncate=4)
    return np.array([_slow_descriptor(smoothed, top, left, patch_px) for top, left in corners])


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
    """Shared between the bins beside it, in proportion to how near they are."""
    turn = np.abs(angle - np.arange(8))
    apart = np.abs(v - np.arange(4)), np.abs(u - np.arange(4)), np.minimum(turn, 8 - turn)
    histogram += weight * np.einsum("i,j,k", *(np.maximum(0, 1 - one) for one in apart))


def _normalised(histogram):
    norm = np.linalg.norm(histogram)
    if norm == 0:
        return histogram
    clipped = np.minimum(histogram, 0.2 * norm)
    return np.minimum(512 * clipped / np.linalg.norm(clipped), 255)
