"""From a picture to the descriptors of its informative windows."""

from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from flyannot.descriptors import dense_sift
from flyannot.images import fitted, quality_flags, read_grey
from flyannot.patches import patch_centres, patch_corners, patch_std
from flyannot.pyramid import window_sides
from flyannot.registration import WAYS, NoEmbryo, registered
from flyannot.shades import shades


@dataclass(frozen=True)
class ExtractOptions:
    """Lengths in pixels of the standard 320 x 128 image; `min_std` in grey levels of 0 to 255.

    patch_px: the side of the windows, or a tuple of several sides.
    channel: what of a picture is described, as `flyannot.images.read_grey` takes it.
    register: "none" for the picture as it is, or one of flyannot.registration.WAYS.
    shades: the weight of darkness and unevenness (`flyannot.shades`) at the end of a descriptor; 0 for none.
    """

    patch_px: int | tuple = 16
    stride_px: int = 16
    min_std: float = 6.0
    channel: str = "grey"
    register: str = "none"
    shades: float = 0.0

    def as_dict(self):
        """For a file's header, where older files do not name the later options: nor does it, unless used."""
        named, later = asdict(self), ("channel", "register", "shades")
        return {k: v for k, v in named.items() if k not in later or v != getattr(ExtractOptions, k)}

    @property
    def place(self):
        """How a picture comes to its standard size, as `flyannot.images.read_bands` takes it."""
        return partial(registered, way=self.register) if self.register in WAYS else fitted


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
    doubts : str, separated by commas: those of `flyannot.images.quality_flags`; "not registered" where no
        embryo was found: the picture is then taken as it is

    Raises
    ------
    UnreadableImage
        As `flyannot.images.read_grey`.
    """
    doubts = ()
    try:
        grey = read_grey(path, channel=options.channel, place=options.place)
    except NoEmbryo as error:
        grey, doubts = read_grey(path, channel=options.channel), (f"not registered: {error.reason}",)
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
    sides, n_windows, kept = window_sides(options.patch_px), 0, []
    for side in sides:
        corners = patch_corners(grey.shape, side, options.stride_px)
        n_windows += len(corners)
        kept.append(corners[patch_std(grey, corners, side) >= options.min_std])
    return Described(
        np.concatenate([_descriptors(grey, mine, side, options.shades) for mine, side in zip(kept, sides)]),
        np.concatenate([patch_centres(mine, side) for mine, side in zip(kept, sides)]),
        n_windows,
        np.repeat(np.array(sides, np.uint16), [len(mine) for mine in kept]),
    )


def _descriptors(grey, corners, side, weight):
    """The descriptors of the windows of one size, with their shades if these have a weight."""
    found = dense_sift(grey, corners, side)
    return np.hstack([found, shades(grey, corners, side, weight)]) if weight else found
