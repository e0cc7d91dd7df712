"""The Encoder, with which every command computes the features of the picture of an embryo."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from flyannot.base.errors import DataError, FlyannotError
from flyannot.base.quality_warnings import QualityWarning
from flyannot.encode.options import PoolOptions
from flyannot.encode.pooling import PooledFeatures, pool_image
from flyannot.images.extract import DescribedPatches, describe_patches
from flyannot.images.geometry import STANDARD_PX
from flyannot.images.options import ExtractOptions, sorted_patch_sizes
from flyannot.images.sift import mirror_descriptors, normalise_descriptors
from flyannot.sparse.coders import find_coder, gram_for
from flyannot.sparse.objective import unconverged_rows

INEXACT = "inexact codes"  # the kind of a warning
_PATCHES_AT_ONCE = 2_000  # a call of a coder costs as much as the codes of a hundred patches


@dataclass(frozen=True, eq=False)
class Encoder:
    """The encoder of pictures: it describes patches, transforms them, codes them and pools the codes.

    The features of an image depend on this image alone.

    Parameters
    ----------
    extract : ExtractOptions, how embryos are viewed and their patches described
    pool : PoolOptions, how patches are coded and pooled
    D : float32 array (n_atoms, n_descriptor), the dictionary
    lam : weight of the L1 norm with which the dictionary was learned
    transforms : tuple of PatchTransform, applied in this order before coding
    """

    extract: ExtractOptions
    pool: PoolOptions
    D: np.ndarray
    lam: float
    transforms: tuple = ()

    @cached_property
    def gram(self):
        """The Gram matrix of the atoms, computed at its first use; None if the coder needs none."""
        return gram_for(self.pool.coder, self.D)

    @property
    def n_features(self):
        """The length of a feature vector of an image (int)."""
        n_cells = sum(rows * columns for rows, columns in self.pool.grid)
        return len(self.D) * n_cells * len(sorted_patch_sizes(self.extract.patch_px))

    def describe(self, grey):
        """Return the `DescribedPatches` of an image, changed by the transforms of this encoder.

        grey : float array of shape STANDARD_PX, grey levels from 0 to 255
        """
        described = describe_patches(grey, self.extract)
        for transform in self.transforms:
            described = transform(described)
        return described

    def encode_patches(self, described, view=""):
        """Code and pool the patches of one image, and return its `PooledFeatures`.

        described : DescribedPatches, as `describe` returns; view : str, view of the image, such as "lateral"
        """
        return self.encode_all([(described, view)])[0]

    def encode_all(self, described_and_views):
        """Code the patches of several images in one call of the coder, and pool the codes of each image.

        If the options mirror a view, the mirror image of each patch is coded too, under the number of
        the patch.

        Parameters
        ----------
        described_and_views : list of (DescribedPatches as `describe` returns, view such as "lateral")

        Returns
        -------
        pooled : list of PooledFeatures, one for each image

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
        Z, gaps = find_coder(self.pool.coder).codes(rows, self.D, self.lam, tol=tol, gram=self.gram)
        pooled = []
        first = 0
        for one, (described, _) in zip(coded, described_and_views):
            n_patches = len(described.descriptors)
            own = slice(first, first := first + len(one.descriptors))
            side_index = np.searchsorted(sides, one.patch_px)
            where = {"grid": self.pool.grid, "side_index": side_index, "n_sides": len(sides)}
            image = pool_image(Z[own], one.centres_px, STANDARD_PX, **where)
            winner = np.where(image.winner < n_patches, image.winner, image.winner - n_patches)
            is_exact = not len(unconverged_rows(gaps[own], tol))
            pooled.append(PooledFeatures(image.features, winner, is_exact=is_exact))
        return pooled

    def _add_mirror_images(self, described, view):
        """Return the `DescribedPatches` of an image, with mirror images if the options mirror its view."""
        if view not in self.pool.mirror:
            return described
        mirrored_px = (STANDARD_PX[0], 0) + described.centres_px * (-1, 1)
        return DescribedPatches(
            np.concatenate([described.descriptors, mirror_descriptors(described.descriptors)]),
            np.concatenate([described.centres_px, mirrored_px]),
            np.tile(described.patch_px, 2),
        )

    def encode(self, grey, view=""):
        """Return the `PooledFeatures` of an image.

        grey : float array of shape STANDARD_PX, grey levels from 0 to 255; view : str, such as "lateral"
        """
        return self.encode_patches(self.describe(grey), view)


def batch_images(described_and_views):
    """Divide images into lists with enough patches for one call of `Encoder.encode_all`, and yield the lists.

    described_and_views : iterable of (DescribedPatches, view) of each image
    """
    batch: list = []
    for one in described_and_views:
        batch.append(one)
        if sum(len(described.descriptors) for described, _ in batch) >= _PATCHES_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


VALUES, POSITIONS, PATCHES = "values", "positions", "patches"  # what a step may change


@dataclass(frozen=True)
class PatchTransform:
    """The change that a step between extract and learn-dict makes to the patches of one image.

    name : str, the name of the step
    function : function (DescribedPatches, options=...) that returns the changed DescribedPatches
    options : options of the step
    changes : tuple of what the function may change
        VALUES are descriptors, POSITIONS are centres and sides. With PATCHES the function may leave out
        patches, but must keep the order of the others.
    """

    name: str
    function: Callable
    options: Any
    changes: tuple

    def __call__(self, described):
        """Apply the function to a copy of the `DescribedPatches` of one image, and return its checked result.

        Raises
        ------
        FlyannotError
            If the function changed more than it may, or its result cannot be pooled.
        """
        changed = self.function(deepcopy(described), options=self.options)
        if fault := self._result_fault(described, changed):
            fix = f"correct its function, or what the step {self.name} says that it changes: CONTRIBUTING.md"
            raise FlyannotError(f"the step {self.name} returned {fault}", fix=fix)
        return replace(changed, n_candidates=described.n_candidates)

    def _result_fault(self, before, after):
        """Return in words what is wrong with the result of the function, or "" if nothing is.

        before, after : DescribedPatches of one image, and the result of the function
        """
        if not isinstance(after, DescribedPatches):
            return f"{type(after).__name__}, not DescribedPatches"
        for name in ("patch_px", "centres_px", "descriptors"):
            was, now = (np.asarray(getattr(one, name)) for one in (before, after))
            if now.dtype != was.dtype or now.shape[1:] != was.shape[1:]:
                return f"{name} of {now.dtype} and shape {now.shape}, not {was.dtype} and {was.shape}"
        if not len(now) == len(after.centres_px) == len(after.patch_px):
            return f"{len(now)} descriptors, {len(after.centres_px)} centres and {len(after.patch_px)} sides"
        if len(now) > len(was) or PATCHES not in self.changes and len(now) != len(was):
            return f"{len(now)} patches of {len(was)}"
        if not ((after.centres_px >= 0) & (after.centres_px < STANDARD_PX)).all():
            return "a centre outside the picture"
        places = [np.column_stack([one.centres_px, one.patch_px]).tolist() for one in (before, after)]
        kept = _match_in_order(*places)
        if POSITIONS not in self.changes and kept is None:
            return "patches at other places, or in another order"
        if VALUES not in self.changes and kept is not None and (was[kept] != now).any():
            return "other values"
        return ""


def _match_in_order(items, wanted):
    """Return the index of each wanted item in a list, or None if the list lacks one in this order.

    items, wanted : lists
    """
    rest = enumerate(items)
    numbers = [next((number for number, item in rest if item == one), None) for one in wanted]
    return None if None in numbers else numbers


def inexact_warnings(pooled):
    """Return [QualityWarning] for an image whose sparse codes missed their tolerance; otherwise [].

    pooled : PooledFeatures of the image
    """
    return [] if pooled.is_exact else [QualityWarning(INEXACT)]
