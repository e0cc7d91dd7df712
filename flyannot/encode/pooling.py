"""Max pooling: one feature vector per image, with the largest |z| of the codes z of every atom in every cell.

A grid, or every grid of a pyramid, divides the image into cells.  In each cell the codes of the patches are
pooled by maximum, separately for each size of patches.  Cells are ordered as in `options`,
and atoms are ordered within a cell.  The winning patch of every feature is kept too, for exact explanations.

The maximum of the vectors of several images equals pooling all their patches at once.

Source: Yang et al., CVPR 2009, doi:10.1109/CVPR.2009.5206757.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.base.errors import DataError
from flyannot.jobs.compiled import compiled

NO_PATCH = -1


@dataclass(frozen=True)
class PooledFeatures:
    """The feature vector of one image, and the number of the patch from which each feature comes.

    features : float32 array (n_cells * n_atoms,)
    winner : int32 array (n_cells * n_atoms,), the number of the winning patch, NO_PATCH if no patch uses the
        atom
    is_exact : whether all codes reached their tolerance
    """

    features: np.ndarray
    winner: np.ndarray
    is_exact: bool = True


def pool_image(Z, centres_px, size_px, *, grid=((1, 1),), side_index=0, n_sides=1):
    """Pool the sparse codes of the patches of one image by maximum, and return the feature vector.

    Parameters
    ----------
    Z : CSR matrix (n_patches, n_atoms), the codes
    centres_px : float array (n_patches, 2)
        Patch centres (row, column), in pixels from the top left corner.
    size_px : (height, width) of the image, in pixels
    grid : tuple of (n_rows, n_columns) of cells; ((1, 1),) pools the whole image
    side_index : int array (n_patches,), from 0 to n_sides - 1, for the size of each patch
        Patches of different sizes are pooled separately.
    n_sides : int, number of sizes of patches

    Returns
    -------
    pooled : PooledFeatures

    Raises
    ------
    DataError
        If a centre lies outside the image.
    """
    levels = []
    for rows, columns in grid:
        n_cells = n_sides * rows * columns
        place = np.floor(np.asarray(centres_px) / size_px * (rows, columns))
        is_inside = ((place >= 0) & (place < (rows, columns))).all(axis=1)
        if not is_inside.all():
            row, column = np.asarray(centres_px)[~is_inside][0]
            what = f"a patch centre at row {row:g}, column {column:g} lies outside the image of {size_px} px"
            fix = "make the descriptors again; a step that moves patches must keep them in the image"
            raise DataError(what, fix=fix)
        place = place.astype(np.int64)
        cell = place[:, 0] * columns + place[:, 1] + side_index * (rows * columns)
        features = np.zeros(n_cells * Z.shape[1], np.float32)
        winner = np.full(len(features), NO_PATCH, np.int32)
        _pool_max(Z.data, Z.indices, Z.indptr, cell, Z.shape[1], features, winner)
        levels.append((features, winner))
    features, winner = (np.concatenate(arrays) for arrays in zip(*levels))
    return PooledFeatures(features, winner)


@compiled
def _pool_max(data, indices, indptr, cell, n_atoms, features, winner):
    """Find the largest |z| of every atom in every cell, patch after patch; of equal values the earlier wins.

    Parameters
    ----------
    data, indices, indptr : arrays of the CSR matrix of codes
    cell : int array (n_patches,), the cell of each patch
    n_atoms : int
    features, winner : arrays (n_cells * n_atoms,), filled with the largest |z| and the number of its patch
    """
    for i in range(len(indptr) - 1):
        for at in range(indptr[i], indptr[i + 1]):
            k = cell[i] * n_atoms + indices[at]
            if abs(data[at]) > features[k]:
                features[k] = abs(data[at])
                winner[k] = i
