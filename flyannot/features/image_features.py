"""From the descriptors of one image to its pooled features."""

from dataclasses import dataclass, fields, replace

import numpy as np

from flyannot.descriptors.patch_sides import patch_sides
from flyannot.descriptors.sift import mirrored, normalise
from flyannot.descriptors.standard_image import SIZE_PX
from flyannot.errors import DataError
from flyannot.features.grid import VIEWS, grid_of
from flyannot.features.pooling import pool_image
from flyannot.runtime.named_options import named_options
from flyannot.sparse.coders import coder, gram_for


@dataclass(frozen=True)
class PoolOptions:
    """How patches are coded and pooled.  `tol` is the duality gap relative to 1/2 |x|^2.

    grid: (rows, columns), or a pyramid, a tuple of several.
    signs: "apart" pools positive and negative codes of an atom apart.
    views: "apart" pools images of each of VIEWS into cells of their own.
    mirror: the views whose images are pooled together with what they are upside down.
    """

    coder: str = "cd"
    tol: float = 1e-4
    pooling: str = "max"
    grid: tuple = (1, 1)
    signs: str = "merged"
    views: str = "merged"
    mirror: tuple = ()

    def as_dict(self):
        """For a file's header."""
        return named_options(self, later=("signs", "views", "mirror"))

    @classmethod
    def of(cls, header):
        """The options that a header has; it may have others besides."""
        known = cls(**{field.name: header[field.name] for field in fields(cls) if field.name in header})
        return replace(known, grid=grid_of(known.grid), mirror=tuple(known.mirror))


@dataclass(frozen=True)
class Atoms:
    """A dictionary ready for coding: D (n_atoms, n_features), its Gram matrix (None where the coder takes
    none), its lam, and the sides of the windows that it is for, in pixels."""

    D: object
    gram: object
    lam: float
    sides: tuple = (16,)


def atoms_of(D, lam, patch_px=(16,), *, coder_name=PoolOptions.coder):
    """Make a dictionary ready for coding patches, of one side or of several, by one coder."""
    return Atoms(D, gram_for(coder_name, D), lam, patch_sides(patch_px))


def features_of(descriptors, centres_px, atoms, options, patch_px=None, *, view=""):
    """Code every patch of one image and pool.  An image's features depend on that image alone.

    Parameters
    ----------
    descriptors : uint8 array (n_patches, n_features), as stored
    centres_px : float array (n_patches, 2)
    atoms : Atoms
    options : PoolOptions
    patch_px : int array (n_patches,), the side of every patch; None where there is one size of windows
    view : what the image shows, as its table says

    Returns
    -------
    pooled : flyannot.features.pooling.Pooled
        A patch and its mirror image have one number.
    """
    if patch_px is None and len(atoms.sides) > 1:
        raise DataError(f"the windows have sides of {atoms.sides} px; which patch has which?")
    n_patches, n_parts = len(descriptors), len(atoms.sides)
    part = np.zeros(n_patches, int) if patch_px is None else np.searchsorted(atoms.sides, patch_px)
    if options.views == "apart":
        part = part + n_parts * (VIEWS.index(view) if view in VIEWS else len(VIEWS))
        n_parts *= len(VIEWS) + 1
    if view in options.mirror:
        descriptors = np.concatenate([descriptors, mirrored(descriptors)])
        centres_px = np.concatenate([centres_px, (SIZE_PX[0], 0) + centres_px * (-1, 1)])
        part = np.tile(part, 2)
    Z = coder(options.coder)(normalise(descriptors), atoms.D, atoms.lam, tol=options.tol, gram=atoms.gram)
    Z = _signs_apart(Z) if options.signs == "apart" else Z
    where = {"grid": options.grid, "part": part, "n_parts": n_parts}
    pooled = pool_image(Z, centres_px, SIZE_PX, pooling=options.pooling, **where)
    winner = np.where(pooled.winner < n_patches, pooled.winner, pooled.winner - n_patches)
    return replace(pooled, winner=winner)


def _signs_apart(Z):
    """The codes with a column for every atom's positive values, then one for every atom's negative ones."""
    n_patches, n_atoms = Z.shape
    columns = Z.indices + n_atoms * (Z.data < 0)
    return type(Z)((Z.data, columns, Z.indptr), shape=(n_patches, 2 * n_atoms))
