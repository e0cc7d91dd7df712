"""The Encoder, with which every command computes the features of the picture of an embryo."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from flyannot.base.errors import DataError, FlyannotError
from flyannot.base.text import short_repr
from flyannot.encode.options import count_cells
from flyannot.encode.pooling import PooledFeatures, pool_image
from flyannot.images.extract import DescribedPatches, describe_patches
from flyannot.images.geometry import STANDARD_PX
from flyannot.images.options import ExtractOptions, sorted_patch_sizes
from flyannot.images.picture import read_embryo
from flyannot.images.quality import join_warnings
from flyannot.images.sift import mirror_descriptors, normalise_descriptors
from flyannot.sparse.coders import CODERS, gram_for
from flyannot.sparse.coders.verified import unconverged_rows

INEXACT = "inexact codes"  # a quality warning


@dataclass(frozen=True, eq=False)
class Encoder:
    """The chain from the picture of an embryo to its features: read, describe, transform, code, pool.

    The features of an image depend on this image alone.  Without a dictionary an encoder only reads and
    describes.

    Parameters
    ----------
    extract : ExtractOptions, how pictures are read and their patches described
    pool : PoolOptions, how patches are coded and pooled
    D : float32 array (n_atoms, n_descriptor), the dictionary
    lam : weight of the L1 norm with which the dictionary was learned
    transforms : functions from the `DescribedPatches` of one image to others, in the order of the chain
    """

    extract: ExtractOptions
    pool: Any = None
    D: Any = None
    lam: float = 0.0
    transforms: tuple[Callable, ...] = ()

    __repr__ = short_repr

    @cached_property
    def gram(self):
        """The Gram matrix of the atoms, computed for the first image; None if the coder needs none."""
        return gram_for(self.pool.coder, self.D)

    @property
    def n_features(self):
        """The length of a feature vector."""
        return len(self.D) * count_cells(self.pool.grid, self.extract.patch_px)

    def read(self, address):
        """Read a picture; return the grey levels of its embryo, and its quality warnings.

        address : path or address of the picture

        Raises
        ------
        DataError
            If the picture cannot be read.
        """
        return read_embryo(address, self.extract)

    def describe(self, grey):
        """Return the `DescribedPatches` of an image, transformed by the steps before the dictionary.

        grey : float array of shape STANDARD_PX
        """
        described = describe_patches(grey, self.extract)
        for transform in self.transforms:
            described = transform_patches(transform, described)
        return described

    def encode_patches(self, described, view=""):
        """Code every patch of one image, and pool the codes.

        If the options mirror the view, the mirror images of the patches are coded too, under the same
        numbers.

        Parameters
        ----------
        described : DescribedPatches, as `describe` returns
        view : str, the view of the image in its table

        Returns
        -------
        pooled : PooledFeatures

        Raises
        ------
        DataError
            If the dictionary was not learned from patches of these sizes.
        """
        descriptors = described.descriptors
        centres_px = described.centres_px
        sides = sorted_patch_sizes(self.extract.patch_px)
        n_patches = len(descriptors)
        if not np.isin(described.patch_px, sides).all():
            raise DataError(f"the dictionary is for patches of {sides} px, and others were given")
        part = np.searchsorted(sides, described.patch_px)
        if view in self.pool.mirror:
            descriptors = np.concatenate([descriptors, mirror_descriptors(descriptors)])
            centres_px = np.concatenate([centres_px, (STANDARD_PX[0], 0) + centres_px * (-1, 1)])
            part = np.tile(part, 2)
        tol = self.pool.tol
        rows = normalise_descriptors(descriptors)
        Z, gaps = CODERS[self.pool.coder].codes(rows, self.D, self.lam, tol=tol, gram=self.gram)
        pooled = pool_image(Z, centres_px, STANDARD_PX, grid=self.pool.grid, part=part, n_parts=len(sides))
        winner = np.where(pooled.winner < n_patches, pooled.winner, pooled.winner - n_patches)
        return PooledFeatures(pooled.features, winner, is_exact=not len(unconverged_rows(gaps, tol)))

    def encode(self, grey, view=""):
        """Return the `PooledFeatures` of an image from its grey levels."""
        return self.encode_patches(self.describe(grey), view)

    def encode_pictures(self, pictures):
        """Encode some pictures, and keep everything that an explanation shows.

        Parameters
        ----------
        pictures : iterable of (path or address, view)

        Returns
        -------
        greys, quality_warnings, described : lists with one entry for each picture
            The grey levels, the quality warnings and the DescribedPatches.
        features, winner : arrays (n_pictures, n_features)

        Raises
        ------
        DataError
            If a picture cannot be read.
        """
        addresses, views = zip(*pictures)
        greys, warnings = zip(*map(self.read, addresses))
        described = [self.describe(grey) for grey in greys]
        pooled = [self.encode_patches(one, view) for one, view in zip(described, views)]
        features, winner = (np.stack([getattr(p, n) for p in pooled]) for n in ("features", "winner"))
        return list(greys), list(warnings), described, features, winner


def transform_patches(transform, described):
    """Apply the `transform` of a step to the `DescribedPatches` of one image, and check the result.

    transform : function from DescribedPatches to DescribedPatches

    Raises
    ------
    FlyannotError
        If the result is no `DescribedPatches`, its descriptors have another type or width, or its arrays
        have different lengths.
    """
    changed = transform(described)
    name = getattr(transform, "func", transform).__qualname__
    fix = "correct this function: CONTRIBUTING.md shows one"
    if not isinstance(changed, DescribedPatches):
        raise FlyannotError(f"{name} returned {type(changed).__name__}, not DescribedPatches", fix=fix)
    before, after = described.descriptors, changed.descriptors
    if after.dtype != before.dtype or after.shape[1:] != before.shape[1:]:
        raise FlyannotError(
            f"{name} returned descriptors of {after.dtype} and shape {after.shape}; "
            f"{before.dtype} of width {before.shape[1]} were needed",
            fix=fix,
        )
    if not len(after) == len(changed.centres_px) == len(changed.patch_px):
        raise FlyannotError(
            f"{name} returned {len(after)} descriptors with {len(changed.centres_px)} centres and "
            f"{len(changed.patch_px)} sides",
            fix=fix,
        )
    return changed


def add_inexact_warning(warnings, pooled):
    """Return the quality warnings of an image as text, with one more if its codes missed their tolerance."""
    return warnings if pooled.is_exact else join_warnings(warnings, INEXACT)
