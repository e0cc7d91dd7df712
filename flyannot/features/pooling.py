"""One feature vector per image, and from these exactly one per group.

The magnitude |z| of every atom's codes is pooled over the patches of every cell of a grid laid over the
image, or of every grid of a pyramid: by maximum, mean, or root mean square (`max`, `mean`, `rms`).
Windows of several sizes are pooled apart, views and signs if that is wanted. Cells come in the order of
`flyannot.features.grid`, atoms within a cell. With `max` the winning patch of every feature is kept as well:
it is the exact explanation of a score.

Since max of max, and the patch-weighted mean of means (or of mean squares), are what pooling all
patches at once gives, a group's vector follows from its images' vectors and patch counts.

Source: Yang et al., CVPR 2009, doi:10.1109/CVPR.2009.5206757.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.errors import DataError
from flyannot.features.grid import levels_of
from flyannot.runtime.compiled import compiled

POOLINGS = ("max", "mean", "rms")
NO_PATCH = -1


@dataclass(frozen=True)
class Pooled:
    """features (n_cells * n_atoms,) float32, winner likewise int32, n_patches (n_cells,) int32.

    winner is the number of the patch within the image, NO_PATCH where no patch uses the atom;
    empty unless pooling is max.
    """

    features: np.ndarray
    winner: np.ndarray
    n_patches: np.ndarray


def pool_image(Z, centres_px, size_px, *, pooling="max", grid=(1, 1), part=None, n_parts=1):
    """Pool the codes of one image.

    Parameters
    ----------
    Z : CSR matrix (n_patches, n_atoms)
    centres_px : float array (n_patches, 2)
        Patch centres (row, column), in pixels from the top left corner.
    size_px : (height, width) of the image, in pixels
    pooling : one of POOLINGS
    grid : (n_rows, n_columns) of cells, or several such; (1, 1) pools the whole image
    part : int array (n_patches,), below n_parts: patches of different parts (sizes of windows, views) are
        pooled apart; None for one part

    Raises
    ------
    DataError
        If a centre lies outside the image.
    """
    part = 0 if part is None else part
    levels = [
        _pool_level(Z, cells_of(centres_px, size_px, level) + part * level[0] * level[1],
                    n_parts * level[0] * level[1], pooling)
        for level in levels_of(grid)
    ]  # fmt: skip
    return Pooled(
        *(
            np.concatenate([getattr(one, name) for one in levels])
            for name in ("features", "winner", "n_patches")
        )
    )


def _pool_level(Z, cell, n_cells, pooling):
    """Pool over the cells of one grid, given the cell of every patch."""
    n_atoms = Z.shape[1]
    n_patches = np.bincount(cell, minlength=n_cells).astype(np.int32)
    if pooling == "max":
        features, winner = _pool_max(Z.data, Z.indices, Z.indptr, cell, n_cells, n_atoms)
        return Pooled(features, winner, n_patches)
    power = 1 if pooling == "mean" else 2
    sums = _pool_sum(Z.data, Z.indices, Z.indptr, cell, n_cells, n_atoms, power)
    means = sums / np.maximum(n_patches, 1)[:, None]
    return Pooled((means ** (1 / power)).ravel().astype(np.float32), np.empty(0, np.int32), n_patches)


def pool_group(features, n_patches, *, pooling="max"):
    """The features of a group from those of its images: exactly those of all its patches together.

    Parameters
    ----------
    features : float array (n_images, n_cells * n_atoms)
    n_patches : int array (n_images, n_cells)
    """
    if pooling == "max":
        return features.max(axis=0)
    power = 1 if pooling == "mean" else 2
    cells = features.reshape(*n_patches.shape, -1).astype(np.float64) ** power
    sums = np.einsum("ijk,ij->jk", cells, n_patches)
    means = sums / np.maximum(n_patches.sum(axis=0), 1)[:, None]
    return (means ** (1 / power)).ravel().astype(features.dtype)


def cells_of(centres_px, size_px, grid):
    """The cell (row-major number) that each patch centre lies in."""
    cell = np.floor(np.asarray(centres_px) / size_px * grid).astype(np.int64)
    if (cell < 0).any() or (cell >= grid).any():
        raise DataError(
            f"a patch centre lies outside the {size_px} px image; are the descriptors of other images?"
        )
    return cell[:, 0] * grid[1] + cell[:, 1]


@compiled
def _pool_max(data, indices, indptr, cell, n_cells, n_atoms):
    """Row after row; a tie keeps the earlier patch."""
    features = np.zeros(n_cells * n_atoms, np.float32)
    winner = np.full(n_cells * n_atoms, NO_PATCH, np.int32)
    for i in range(len(indptr) - 1):
        for at in range(indptr[i], indptr[i + 1]):
            k = cell[i] * n_atoms + indices[at]
            if abs(data[at]) > features[k]:
                features[k] = abs(data[at])
                winner[k] = i
    return features, winner


@compiled
def _pool_sum(data, indices, indptr, cell, n_cells, n_atoms, power):
    """Sums of |z| to the given power, in float64."""
    sums = np.zeros((n_cells, n_atoms))
    for i in range(len(indptr) - 1):
        for at in range(indptr[i], indptr[i + 1]):
            sums[cell[i], indices[at]] += abs(data[at]) ** power
    return sums
