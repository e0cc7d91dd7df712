"""OpenCV's SIFT of patches on a grid, key point by key point.

OpenCV rounds the centre of a patch, which lies between pixels, to a whole pixel (here the next one down and
to the right).
"""

import numpy as np


def opencv_sift(image, corners, patch_px=16):
    """Descriptors of patches of a uint8 image, as `flyannot.descriptors.sift.dense_sift` gives them."""
    return compute(image, keypoints(corners, patch_px))


def keypoints(corners, patch_px=16):
    """OpenCV's key points for patches: upright, with bins of a quarter of the patch."""
    from cv2 import KeyPoint  # slow to import, and only the comparison needs it

    half, size = patch_px // 2, patch_px / 6  # OpenCV's bins are 1.5 times the size
    return [KeyPoint(float(column + half), float(row + half), size, 0.0) for row, column in corners]


def compute(image, points):
    """OpenCV's descriptors of given key points, uint8 (n_points, 128)."""
    from cv2 import SIFT_create

    return SIFT_create().compute(image, points)[1].astype(np.uint8)
