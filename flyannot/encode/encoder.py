"""The Encoder, with which every command computes the features of the picture of an embryo."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from flyannot.base.errors import DataError, FlyannotError
from flyannot.base.registry import callable_name
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
_PATCHES_AT_ONCE = 2_000  # a call of a coder costs as much as the codes of a hundred patches


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
        """Return the `PooledFeatures` of one image from its patches; see `encode_all`."""
        return self.encode_all([(described, view)])[0]

    def encode_all(self, described_and_views):
        """Code the patches of some images in one call of the coder, and pool the codes of each image.

        If the options mirror a view, the mirror images of its patches are coded too, under the same numbers.

        Parameters
        ----------
        described_and_views : list of (DescribedPatches as `describe` returns, view of the image in its table)

        Returns
        -------
        pooled : list of PooledFeatures

        Raises
        ------
        DataError
            If the dictionary was not learned from patches of these sizes.
        """
        sides = sorted_patch_sizes(self.extract.patch_px)
        tol = self.pool.tol
        if not all(np.isin(described.patch_px, sides).all() for described, _ in described_and_views):
            raise DataError(f"the dictionary is for patches of {sides} px, and others were given")
        coded = [self._add_mirror_images(*one) for one in described_and_views]
        rows = normalise_descriptors(np.concatenate([one.descriptors for one in coded]))
        Z, gaps = CODERS[self.pool.coder].codes(rows, self.D, self.lam, tol=tol, gram=self.gram)
        pooled = []
        first = 0
        for one, (described, _) in zip(coded, described_and_views):
            n_patches = len(described.descriptors)
            own = slice(first, first := first + len(one.descriptors))
            part = np.searchsorted(sides, one.patch_px)
            where = {"grid": self.pool.grid, "part": part, "n_parts": len(sides)}
            image = pool_image(Z[own], one.centres_px, STANDARD_PX, **where)
            winner = np.where(image.winner < n_patches, image.winner, image.winner - n_patches)
            is_exact = not len(unconverged_rows(gaps[own], tol))
            pooled.append(PooledFeatures(image.features, winner, is_exact=is_exact))
        return pooled

    def _add_mirror_images(self, described, view):
        """Return the `DescribedPatches` of an image, followed by their mirror images if its view has them."""
        if view not in self.pool.mirror:
            return described
        mirrored_px = (STANDARD_PX[0], 0) + described.centres_px * (-1, 1)
        return DescribedPatches(
            np.concatenate([described.descriptors, mirror_descriptors(described.descriptors)]),
            np.concatenate([described.centres_px, mirrored_px]),
            np.tile(described.patch_px, 2),
        )

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
        pooled = self.encode_all(list(zip(described, views)))
        features, winner = (np.stack([getattr(p, n) for p in pooled]) for n in ("features", "winner"))
        return list(greys), list(warnings), described, features, winner


def batch_images(described_and_views):
    """Yield lists of images, each with enough patches for one call of a coder, for `Encoder.encode_all`.

    described_and_views : iterable of (DescribedPatches, view)
    """
    batch: list = []
    for one in described_and_views:
        batch.append(one)
        if sum(len(described.descriptors) for described, _ in batch) >= _PATCHES_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


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
    name = callable_name(transform)
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
