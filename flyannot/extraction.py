"""From a grey image to the descriptors of its informative windows."""

from dataclasses import asdict, dataclass

import numpy as np

from flyannot.descriptors import dense_sift
from flyannot.patches import patch_centres, patch_corners, patch_std
from flyannot.pyramid import window_sides


@dataclass(frozen=True)
class ExtractOptions:
    """Lengths in pixels of the standard 320 x 128 image; `min_std` in grey levels of 0 to 255.

    patch_px: the side of the windows, or a tuple of several sides.
    channel: what of a picture is described, as `flyannot.images.read_grey` takes it.
    """

    patch_px: int | tuple = 16
    stride_px: int = 16
    min_std: float = 6.0
    channel: str = "grey"

    def as_dict(self):
        """For a file's header, where a channel that is not named is grey: older files name none."""
        named = asdict(self)
        if self.channel == "grey":
            del named["channel"]
        return named


@dataclass(frozen=True)
class Described:
    """The kept windows of one image: descriptors (n, 128) uint8, centres (n, 2) and sides (n,) in pixels."""

    descriptors: np.ndarray
    centres_px: np.ndarray
    n_windows: int  # looked at; the kept fraction is len(descriptors) / n_windows
    patch_px: np.ndarray | None = None


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
        np.concatenate([dense_sift(grey, mine, side) for mine, side in zip(kept, sides)]),
        np.concatenate([patch_centres(mine, side) for mine, side in zip(kept, sides)]),
        n_windows,
        np.repeat(np.array(sides, np.uint16), [len(mine) for mine in kept]),
    )
