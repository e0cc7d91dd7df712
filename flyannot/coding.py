"""From the descriptors of one image to its pooled features."""

from dataclasses import dataclass

from flyannot.descriptors import normalise
from flyannot.images import SIZE_PX
from flyannot.pooling import pool_image
from flyannot.sparse.coders import coder


@dataclass(frozen=True)
class PoolOptions:
    """How patches are coded and pooled.  `tol` is the duality gap relative to 1/2 |x|^2."""

    coder: str = "cd"
    tol: float = 1e-4
    pooling: str = "max"
    grid: tuple = (1, 1)


@dataclass(frozen=True)
class Atoms:
    """A dictionary ready for coding: D (n_atoms, n_features), its Gram matrix, and its lam."""

    D: object
    gram: object
    lam: float


def atoms_of(D, lam):
    """Make a dictionary ready for coding."""
    return Atoms(D, D @ D.T, lam)


def features_of(descriptors, centres_px, atoms, options):
    """Code every patch of one image and pool.  An image's features depend on that image alone.

    Parameters
    ----------
    descriptors : uint8 array (n_patches, n_features), as stored
    centres_px : float array (n_patches, 2)
    atoms : Atoms
    options : PoolOptions

    Returns
    -------
    pooled : flyannot.pooling.Pooled
    """
    Z = coder(options.coder)(normalise(descriptors), atoms.D, atoms.lam, tol=options.tol, gram=atoms.gram)
    return pool_image(Z, centres_px, SIZE_PX, pooling=options.pooling, grid=tuple(options.grid))
