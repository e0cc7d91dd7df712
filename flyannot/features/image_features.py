"""The features of an image, from its descriptors."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flyannot.descriptors.images.geometry import STANDARD_PX
from flyannot.descriptors.options import patch_sides
from flyannot.descriptors.sift import mirrored_descriptors, normalise_descriptors
from flyannot.errors import DataError
from flyannot.features.options import PoolOptions
from flyannot.features.pooling import Pooled, pool_image
from flyannot.runtime.wording import short_repr
from flyannot.sparse.coders import CODERS, gram_for
from flyannot.sparse.coders.verified import rows_to_mend

INEXACT = "inexact codes"  # a quality warning


@dataclass(frozen=True)
class AtomsToCode:
    """A dictionary to code by: D (n_atoms, n_features), its lam, the sides of the patches that it is for, in
    pixels, and the name of the coder."""

    D: object
    lam: float
    sides: tuple
    coder: str

    __repr__ = short_repr

    @cached_property
    def gram(self):
        """The Gram matrix, made when the first image is coded; None where the coder takes none."""
        return gram_for(self.coder, self.D)


def atoms_of_features(D, lam, patch_px=(16,), *, coder_name=PoolOptions.coder):
    """A dictionary that codes patches of some sides by one coder."""
    return AtomsToCode(D, lam, patch_sides(patch_px), coder_name)


def features_of(described, atoms, options, *, view=""):
    """Code every patch of one image and pool: a flyannot.features.pooling.Pooled, in which a patch and its
    mirror image have one number.  An image's features depend on that image alone.

    DataError if a patch has a side that the dictionary is not for.

    Parameters
    ----------
    described : flyannot.descriptors.extract.DescribedPatches
    atoms : AtomsToCode
    view : what the image shows, as its table says
    """
    descriptors, centres_px = described.descriptors, described.centres_px
    if not np.isin(described.patch_px, atoms.sides).all():
        raise DataError(f"the dictionary is for patches of {atoms.sides} px, and others were given")
    part, n_patches = np.searchsorted(atoms.sides, described.patch_px), len(descriptors)
    is_mirrored = view in options.mirror
    if is_mirrored:
        descriptors = np.concatenate([descriptors, mirrored_descriptors(descriptors)])
        centres_px = np.concatenate([centres_px, (STANDARD_PX[0], 0) + centres_px * (-1, 1)])
        part = np.tile(part, 2)
    encode, tol = CODERS[options.coder], options.tol
    Z, gaps = encode.codes(normalise_descriptors(descriptors), atoms.D, atoms.lam, tol=tol, gram=atoms.gram)
    pooled = pool_image(Z, centres_px, STANDARD_PX, grid=options.grid, part=part, n_parts=len(atoms.sides))
    winner = np.where(pooled.winner < n_patches, pooled.winner, pooled.winner - n_patches)
    return Pooled(pooled.features, winner, is_exact=not len(rows_to_mend(gaps, tol)))


def quality_warnings_with(warnings, pooled):
    """The quality warnings of an image, separated by commas, and what there is to say of its codes."""
    said = [warnings] if warnings else []
    return ", ".join(said if pooled.is_exact else [*said, INEXACT])
