"""From a picture to the descriptors of its informative patches."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from flyannot.descriptors.intensity import intensity_features
from flyannot.descriptors.options import patch_sides
from flyannot.descriptors.patches import patch_centres, patch_corners, patch_std
from flyannot.descriptors.picture import read_grey, read_picture
from flyannot.descriptors.placing import place
from flyannot.descriptors.quality import standard_warnings
from flyannot.descriptors.sift import dense_sift
from flyannot.runtime.wording import short_repr


@dataclass(frozen=True)
class Described:
    """The kept patches of one image: descriptors (n, 128, or 132 with intensity) uint8, centres (n, 2) and
    sides (n,) in pixels."""

    descriptors: np.ndarray
    centres_px: np.ndarray
    patch_px: np.ndarray
    n_candidates: int = 0  # patches before those of little contrast were dropped

    __repr__ = short_repr


def read_in_colour(path, options):
    """The picture placed as `read_embryo` places it, to look at: uint8 of shape (*SIZE_PX, 3)."""
    picture = read_picture(path, "RGB", place=partial(place, options=options), planes=options.plane)
    return np.rint(picture).astype(np.uint8)


def read_embryo(path, options):
    """The grey levels that are described, and the warnings about the picture.

    Parameters
    ----------
    path : path of the picture, or its address as in `flyannot.descriptors.address`
    options : ExtractOptions

    Returns
    -------
    grey : float32 array of shape SIZE_PX
    quality_warnings : str, separated by commas
        Those of `flyannot.descriptors.quality`, and "not registered" with the reason where no embryo was
        found.

    Raises
    ------
    UnreadableImage
        As `flyannot.descriptors.picture.read_grey`.
    """
    warnings = []
    placed = partial(place, options=options, warnings=warnings)
    grey = read_grey(path, channel=options.channel, place=placed, planes=options.plane)
    return grey, ", ".join([*standard_warnings(grey), *warnings])


def describe(grey, options):
    """Describe every patch of a grid whose pixels vary enough; a grid for each size of patches.

    Parameters
    ----------
    grey : array (height, width), grey levels in [0, 255]
    options : ExtractOptions

    Source
    ------
    Lin et al., KDD 2014, section 5.1: patches of 16 x 16 pixels, SIFT, and "the patches with small standard
    deviations were discarded".  The paper gives neither stride nor threshold; ours are defaults.
    """
    sides, n_candidates, descriptors, centres_px = patch_sides(options.patch_px), 0, [], []
    for side in sides:
        corners = patch_corners(grey.shape, side, options.stride_px)
        n_candidates += len(corners)
        std = patch_std(grey, corners, side)
        kept = std >= options.min_std
        descriptors.append(_descriptors(grey, corners[kept], side, options.intensity, std[kept]))
        centres_px.append(patch_centres(corners[kept], side))
    return Described(
        np.concatenate(descriptors),
        np.concatenate(centres_px),
        np.repeat(np.array(sides, np.uint16), [len(mine) for mine in descriptors]),
        n_candidates,
    )


def _descriptors(grey, corners, side, weight, std):
    """The descriptors of the patches of one size, with their intensity features if these have a weight."""
    found = dense_sift(grey, corners, side)
    if not weight:
        return found
    return np.hstack([found, intensity_features(grey, corners, side, weight, std=std)])
