"""The plainest features: the grey levels of an image, averaged over the cells of a grid.

What every other feature must beat.
"""

import numpy as np

from flyannot.descriptors.standard_image import SIZE_PX, read_grey
from flyannot.features.pooling import cells_of


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
    return np.hstack([_level_means(paths, level) for level in grid])


def _level_means(paths, grid):
    middles = np.indices(SIZE_PX).reshape(2, -1).T + 0.5
    cell = cells_of(middles, SIZE_PX, grid)
    n_pixels = np.bincount(cell, minlength=grid[0] * grid[1])
    sums = [np.bincount(cell, 255 - read_grey(path).ravel(), grid[0] * grid[1]) for path in paths]
    return (np.array(sums) / np.maximum(n_pixels, 1) / 255).astype(np.float32)
