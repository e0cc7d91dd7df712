"""The patterns of Wu et al. 2016 drawn as pictures: dark stain on a light grey body on white ground.

The interpolation is a cubic spline: the scores on these pictures were measured so.
"""

import numpy as np

BLOCK_PX = (8, 10)  # of the picture, for each pixel of a pattern
BODY_GREY = 180  # of unstained body, as in many real pictures: the outline tells a patch where it lies


def render_patterns(patterns, mask):
    """Each pattern as a picture.

    A pattern is continued outside the mask before it is interpolated, so that it does not fade towards
    the outline; an interpolated mask then cuts the body out.

    Parameters
    ----------
    patterns : float array (n_images, n_pixels) in [0, 1]
        0 unstained, 1 black; a row fills the True places of `mask`, column by column.
    mask : bool array (16, 32)

    Yields
    ------
    picture : uint8 array (128, 320)
        The mean over a block of 8 x 10 px inside the body is BODY_GREY (1 - value), nearly.
    """
    from scipy import ndimage

    body = body_of(mask)
    nearest = tuple(ndimage.distance_transform_edt(~mask, return_distances=False, return_indices=True))
    grid = np.zeros(mask.shape)
    for pattern in patterns:
        grid.T[mask.T] = pattern
        smoothed = ndimage.uniform_filter(grid[nearest], 3, mode="nearest")
        continued = np.where(mask, grid, smoothed)  # no steps where two rim pixels meet outside
        light = 1 - np.clip(_enlarged(continued), 0, 1)
        yield np.rint(255 + body * (BODY_GREY * light - 255)).astype("u1")


def body_of(mask):
    """How much of each pixel of a picture is body, in [0, 1]: the staircase of the mask made smooth."""
    from scipy import ndimage

    padded = np.pad(mask.astype(float), 2)  # the body touches the edge of the grid: it ends there
    enlarged = ndimage.gaussian_filter(_enlarged(padded), (5.0, 6.25))
    rows, columns = (2 * px for px in BLOCK_PX)
    return np.clip((enlarged[rows:-rows, columns:-columns] - 0.36) / 0.2, 0, 1)


def _enlarged(grid):
    """Cubic interpolation between the middles of the blocks, to the size of the picture."""
    from scipy import ndimage

    return ndimage.zoom(grid, BLOCK_PX, order=3, mode="nearest", grid_mode=True)
