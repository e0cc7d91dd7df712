"""From a picture to the descriptors of its informative windows."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from flyannot.descriptors.intensity import shades
from flyannot.descriptors.patch_sides import patch_sides
from flyannot.descriptors.patches import patch_centres, patch_corners, patch_std
from flyannot.descriptors.registration import NoEmbryo, registered
from flyannot.descriptors.sift import dense_sift
from flyannot.descriptors.standard_image import fitted, quality_flags, read_grey


@dataclass(frozen=True)
class Described:
    """The kept windows of one image: descriptors (n, 128, or 132 with shades) uint8, centres (n, 2) and sides
    (n,) in pixels."""

    descriptors: np.ndarray
    centres_px: np.ndarray
    patch_px: np.ndarray
    n_windows: int = 0  # looked at; the kept fraction is len(descriptors) / n_windows


def place(bands, size_px, *, options, doubts=None):
    """How a picture comes to its standard size, as `flyannot.descriptors.standard_image.read_bands` takes it.

    One in which no embryo is found is taken as it is; the list `doubts` then gets the reason.
    """
    if options.register == "none":
        return fitted(bands, size_px)
    try:
        return registered(bands, size_px, way=options.register)
    except NoEmbryo as error:
        if doubts is not None:
            doubts.append(f"not registered: {error.reason}")
        return fitted(bands, size_px)


def read_embryo(path, options):
    """The grey levels that are described, and what makes the picture doubtful.

    Parameters
    ----------
    path : path of the picture
    options : ExtractOptions

    Returns
    -------
    grey : float32 array of shape SIZE_PX
    doubts : str, separated by commas: those of `flyannot.descriptors.standard_image.quality_flags`; "not
    registered" where no
        embryo was found: the picture is then taken as it is

    Raises
    ------
    UnreadableImage
        As `flyannot.descriptors.standard_image.read_grey`.
    """
    doubts = []
    grey = read_grey(path, channel=options.channel, place=partial(place, options=options, doubts=doubts))
    return grey, ", ".join([*quality_flags(grey), *doubts])


def describe(grey, options):
    """Describe every window of a grid whose pixels vary enough; a grid for each size of windows.

    Parameters
    ----------
    grey : array (height, width), grey levels in [0, 255]
    options : ExtractOptions

    Source
    ------
    Lin et al., KDD 2014, section 5.1: 16 x 16 windows, SIFT, and "the patches with small standard
    deviations were discarded".  The paper gives neither stride nor threshold; ours are defaults.
    """
    sides, n_windows, descriptors, centres_px = patch_sides(options.patch_px), 0, [], []
    for side in sides:
        corners = patch_corners(grey.shape, side, options.stride_px)
        n_windows += len(corners)
        std = patch_std(grey, corners, side)
        kept = std >= options.min_std
        descriptors.append(_descriptors(grey, corners[kept], side, options.intensity, std[kept]))
        centres_px.append(patch_centres(corners[kept], side))
    return Described(
        np.concatenate(descriptors),
        np.concatenate(centres_px),
        np.repeat(np.array(sides, np.uint16), [len(mine) for mine in descriptors]),
        n_windows,
    )


def _descriptors(grey, corners, side, weight, std):
    """The descriptors of the windows of one size, with their shades if these have a weight."""
    found = dense_sift(grey, corners, side)
    return np.hstack([found, shades(grey, corners, side, weight, std=std)]) if weight else found
