"""From a picture to the descriptors of its informative windows."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from flyannot.descriptors.intensity import shades
from flyannot.descriptors.patch_sides import window_sides
from flyannot.descriptors.patches import patch_centres, patch_corners, patch_std
from flyannot.descriptors.registration import WAYS, NoEmbryo, registered
from flyannot.descriptors.sift import dense_sift
from flyannot.descriptors.standard_image import fitted, quality_flags, read_grey
from flyannot.runtime.named_options import named_options


@dataclass(frozen=True)
class ExtractOptions:
    """Lengths in pixels of the standard 320 x 128 image; `min_std` in grey levels of 0 to 255.

    patch_px: the side of the windows, or a tuple of several sides.
    channel: what of a picture is described, as `flyannot.descriptors.standard_image.read_grey` takes it.
    register: "none" for the picture as it is, or one of flyannot.descriptors.registration.WAYS.
    shades: the weight of darkness and unevenness (`flyannot.descriptors.intensity`) at the end of a
    descriptor; 0 for none.
    """

    patch_px: int | tuple = 16
    stride_px: int = 16
    min_std: float = 6.0
    channel: str = "grey"
    register: str = "none"
    shades: float = 0.0

    def as_dict(self):
        """For a file's header."""
        return named_options(self, later=("channel", "register", "shades"))

    def place(self, bands, size_px, doubts=None):
        """How a picture comes to its standard size, as `flyannot.descriptors.standard_image.read_bands`
        takes it.

        One in which no embryo is found is taken as it is; the list `doubts` then gets the reason.
        """
        if self.register not in WAYS:
            return fitted(bands, size_px)
        try:
            return registered(bands, size_px, way=self.register)
        except NoEmbryo as error:
            if doubts is not None:
                doubts.append(f"not registered: {error.reason}")
            return fitted(bands, size_px)


@dataclass(frozen=True)
class Described:
    """The kept windows of one image: descriptors (n, 128, or 132 with shades) uint8, centres (n, 2) and sides
    (n,) in pixels."""

    descriptors: np.ndarray
    centres_px: np.ndarray
    n_windows: int  # looked at; the kept fraction is len(descriptors) / n_windows
    patch_px: np.ndarray | None = None


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
    grey = read_grey(path, channel=options.channel, place=partial(options.place, doubts=doubts))
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
    sides, n_windows, descriptors, centres_px = window_sides(options.patch_px), 0, [], []
    for side in sides:
        corners = patch_corners(grey.shape, side, options.stride_px)
        n_windows += len(corners)
        std = patch_std(grey, corners, side)
        kept = std >= options.min_std
        descriptors.append(_descriptors(grey, corners[kept], side, options.shades, std[kept]))
        centres_px.append(patch_centres(corners[kept], side))
    return Described(
        np.concatenate(descriptors),
        np.concatenate(centres_px),
        n_windows,
        np.repeat(np.array(sides, np.uint16), [len(mine) for mine in descriptors]),
    )


def _descriptors(grey, corners, side, weight, std):
    """The descriptors of the windows of one size, with their shades if these have a weight."""
    found = dense_sift(grey, corners, side)
    return np.hstack([found, shades(grey, corners, side, weight, std=std)]) if weight else found
