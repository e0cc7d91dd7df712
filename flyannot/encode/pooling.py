"""One feature vector per image: the largest |z| of every atom in every cell.

The patches of every cell of a grid laid over the image, or of every grid of a pyramid, are pooled by maximum;
patches of several sizes separately.  Cells come in the order of `flyannot.encode.options`, atoms within a
cell.  The winning patch of every feature is kept as well: it is the exact explanation of a score.

Since the maximum of maxima is what pooling all patches at once gives, a group's vector follows from its
images' vectors.

Source: Yang et al., CVPR 2009, doi:10.1109/CVPR.2009.5206757.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.base.errors import DataError
from flyannot.base.text import short_repr
from flyannot.jobs.compiled import compiled

NO_PATCH = -1


@dataclass(frozen=True)
class Pooled:
    """features (n_cells * n_atoms,) float32, winner likewise int32: the number of the patch within the image,
    NO_PATCH where no patch uses the atom; is_exact : whether all codes reached their tolerance."""

    features: np.ndarray
    winner: np.ndarray
    is_exact: bool = True

    __repr__ = short_repr


def pool_image(Z, centres_px, size_px, *, grid=((1, 1),), part=0, n_parts=1):
    """Pool the codes of one image.  DataError if a centre lies outside the image.

    Parameters
    ----------
    Z : CSR matrix (n_patches, n_atoms)
    centres_px : float array (n_patches, 2)
        Patch centres (row, column), in pixels from the top left corner.
    size_px : (height, width) of the image, in pixels
    grid : tuple of (n_rows, n_columns) of cells; ((1, 1),) pools the whole image
    part : int array (n_patches,), below n_parts: patches of different parts (sizes) are pooled separately
    """
    levels = []
    for rows, columns in grid:
        n_cells = n_parts * rows * columns
        place = np.floor(np.asarray(centres_px) / size_px * (rows, columns)).astype(np.int64)
        if (place < 0).any() or (place >= (rows, columns)).any():
            raise DataError(
                f"a patch centre lies outside the {size_px} px image; are the descriptors of other images?"
            )
        cell = place[:, 0] * columns + place[:, 1] + part * (rows * columns)
        features = np.zeros(n_cells * Z.shape[1], np.float32)
        winner = np.full(len(features), NO_PATCH, np.int32)
        _pool_max(Z.data, Z.indices, Z.indptr, cell, Z.shape[1], features, winner)
        levels.append((features, winner))
    features, winner = (np.concatenate(arrays) for arrays in zip(*levels))
    return Pooled(features, winner)


@compiled
def _pool_max(data, indices, indptr, cell, n_atoms, features, winner):
    """Row after row; a tie keeps the earlier patch."""
    for i in range(len(indptr) - 1):
        for at in range(indptr[i], indptr[i + 1]):
            k = cell[i] * n_atoms + indices[at]
            if abs(data[at]) > features[k]:
                features[k] = abs(data[at])
                winner[k] = i
