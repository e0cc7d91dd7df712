"""Intensity features: mean and standard deviation of a patch, which its SIFT descriptor scales away.

Both are numbers from 0 to 1, written as angles up to a quarter turn: by the cosine and the sine of each.  So
four numbers, of one length whatever the patch, join the descriptor.
"""

import numpy as np

from flyannot.descriptors.patches import patch_mean, patch_std

_WHITE = 255.0  # the largest grey level, and the largest byte


def intensity_features(grey, corners, patch_px, weight, *, std=None):
    """Four bytes of every patch, for the end of its descriptor.

    Parameters
    ----------
    grey : array (height, width), grey levels from 0 to 255
    corners : int array (n_patches, 2), top left pixels (row, column)
    patch_px : int, the side of a patch, in pixels
    weight : float in (0, 1], the length of each cosine and sine together, as part of 255; a SIFT descriptor
        has the length 512
    std : float array (n_patches,), `patch_std` of the patches, where the caller has it

    Returns
    -------
    features : uint8 array (n_patches, 4)
        Cosine and sine of a quarter turn times the darkness (1 - mean / 255), then of a quarter turn times
        the square root of the standard deviation over 127.5, its largest value.
    """
    std = patch_std(grey, corners, patch_px) if std is None else std
    darkness = 1 - patch_mean(grey, corners, patch_px) / _WHITE
    deviation = np.sqrt(std / (_WHITE / 2))
    angles = np.pi / 2 * np.clip(np.stack([darkness, deviation], axis=1), 0, 1)
    pairs = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(angles), 4)
    return np.rint(weight * _WHITE * pairs).astype(np.uint8)
