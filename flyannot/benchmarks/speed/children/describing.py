"""What one process does to measure dense SIFT.  `us_per_patch` is per descriptor."""

import numpy as np

from flyannot.benchmarks.speed.clocks import median_seconds
from flyannot.benchmarks.speed.worker import peak_mb
from flyannot.descriptors.patches import patch_corners
from flyannot.descriptors.sift import dense_sift, opencv_compute, opencv_keypoints

PATCH_PX = 16
SIZE_16_PX = 96  # the window of a key point of size 16: bins of 1.5 times the size, four a side


def describe_ours(greys, stride_px):
    """All windows of all pictures by `dense_sift`."""
    greys = np.load(greys)
    corners = patch_corners(greys[0].shape, PATCH_PX, stride_px)
    dense_sift(greys[0], corners, PATCH_PX)
    (seconds,) = median_seconds(lambda: [dense_sift(grey, corners, PATCH_PX) for grey in greys])
    return _cost(seconds, len(greys) * len(corners))


def describe_opencv(greys, stride_px, window_px):
    """OpenCV's descriptors around the same centres, in windows of `window_px`; key points are ready made."""
    greys = np.load(greys)
    corners = patch_corners(greys[0].shape, PATCH_PX, stride_px)
    keypoints = opencv_keypoints(corners + PATCH_PX // 2 - window_px // 2, window_px)
    opencv_compute(greys[0], keypoints[:8])
    (seconds,) = median_seconds(lambda: [opencv_compute(grey, keypoints) for grey in greys])
    return _cost(seconds, len(greys) * len(corners))


def _cost(seconds, n):
    return {"n": n, "us_per_patch": 1e6 * seconds / n, "per_second": n / seconds, "peak_mb": peak_mb()}
