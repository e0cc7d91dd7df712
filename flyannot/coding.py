"""From the descriptors of one image to its pooled features."""

from dataclasses import dataclass

import numpy as np

from flyannot.descriptors import normalise
from flyannot.errors import DataError
from flyannot.images import SIZE_PX
from flyannot.pooling import pool_image
from flyannot.pyramid import window_sides
from flyannot.sparse.coders import coder, gram_for


@dataclass(frozen=True)
class PoolOptions:
    """How patches are coded and pooled.  `tol` is the duality gap relative to 1/2 |x|^2.

    grid: (rows, columns), or a pyramid, a tuple of several.
    """

    coder: str = "cd"
    tol: float = 1e-4
    pooling: str = "max"
    grid: tuple = (1, 1)


@dataclass(frozen=True)
class Atoms:
    """A dictionary ready for coding: D (n_atoms, n_features), its Gram matrix (None where the coder takes
    none), its lam, and the sides of the windows that it is for, in pixels."""

    D: object
    gram: object
    lam: float
    sides: tuple = (16,)


def atoms_of(D, lam, patch_px=16, *, coder_name=PoolOptions.coder):
    """Make a dictionary ready for coding patches, of one side or of several, by one coder."""
    return Atoms(D, gram_for(coder_name, D), lam, window_sides(patch_px))


def features_of(descriptors, centres_px, atoms, options, patch_px=None):
    """Code every patch of one image and pool.  An image's features depend on that image alone.

    Parameters
    ----------
    descriptors : uint8 array (n_patches, n_features), as stored
    centres_px : float array (n_patches, 2)
    atoms : Atoms
    options : PoolOptions
    patch_px : int array (n_patches,), the side of every patch; None where there is one size of windows

    Returns
    -------
    pooled : flyannot.pooling.Pooled
    """
    if patch_px is None and len(atoms.sides) > 1:
        raise DataError(f"the windows have sides of {atoms.sides} px; which patch has which?")
    window = None if patch_px is None else np.searchsorted(atoms.sides, patch_px)
    Z = coder(options.coder)(normalise(descriptors), atoms.D, atoms.lam, tol=options.tol, gram=atoms.gram)
    where = {"grid": options.grid, "window": window, "n_windows": len(atoms.sides)}
    return pool_image(Z, centres_px, SIZE_PX, pooling=options.pooling, **where)
