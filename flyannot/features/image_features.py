"""The plainest features of an image: its grey levels over a grid."""

import numpy as np

from flyannot.descriptors.images.geometry import scaled_image
from flyannot.descriptors.images.picture import read_grey


def pixel_features(paths, grid):
    """The mean darkness, from 0 (white) to 1 (black), of every cell of every image.

    What every other feature must beat.  `grid` is a tuple of (n_rows, n_columns), one after the other.
    UnreadableImage if a picture cannot be read.

    Returns
    -------
    features : float32 array (n_images, n_rows * n_columns), cells in row-major order
    """
    darkness = (1 - read_grey(path) / 255 for path in paths)
    return np.stack(
        [np.concatenate([scaled_image(dark, (n, m)).ravel() for m, n in grid]) for dark in darkness]
    )
