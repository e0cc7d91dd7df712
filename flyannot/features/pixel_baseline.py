"""The plainest features: the grey levels of an image, averaged over the cells of a grid.

What every other feature must beat.
"""

import numpy as np

from flyannot.descriptors.images.geometry import scaled_image
from flyannot.descriptors.images.picture import read_grey


def pixel_features(paths, grid):
    """The mean darkness, from 0 (white) to 1 (black), of every cell of every image.

    Parameters
    ----------
    paths : paths of pictures
    grid : tuple of (n_rows, n_columns), one after the other

    Returns
    -------
    features : float32 array (n_images, n_rows * n_columns), cells in row-major order

    Raises
    ------
    UnreadableImage
        If a picture cannot be read.
    """
    return np.stack([_of_image(1 - read_grey(path) / 255, grid) for path in paths])


def _of_image(darkness, levels):
    return np.concatenate([scaled_image(darkness, (columns, rows)).ravel() for rows, columns in levels])
