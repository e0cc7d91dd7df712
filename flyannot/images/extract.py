"""Descriptors of the patches of an image: SIFT, and optionally intensity.

Patches with little contrast are left out.  The intensity of a patch is the mean and the standard deviation
of its grey levels, which SIFT normalises away.  Each of the two is scaled to a number from 0 to 1, and taken
as an angle up to a quarter turn.  The cosine and the sine of both angles are four numbers of constant length,
which follow the SIFT descriptor.
"""

from dataclasses import dataclass, replace

import numpy as np

from flyannot.images.geometry import STANDARD_PX, resize_image
from flyannot.images.grey_levels import WHITE
from flyannot.images.options import STRIDE_PX, sorted_patch_sizes
from flyannot.images.patches import patch_centres, patch_corners, patch_mean, patch_std
from flyannot.images.sift import dense_sift

_ENOUGH_PATCHES = 10_000  # for a dictionary of 1,000 atoms: `LearnOptions.n_atoms_for`


@dataclass(frozen=True)
class DescribedPatches:
    """The descriptors and positions of the patches of one image.

    descriptors : uint8 array (n, 128), or (n, 132) with intensity
    centres_px : float32 array (n, 2), (row, column) in pixels
    patch_px : uint16 array (n,), the sides of the patches in pixels
    n_candidates : number of patches before those of little contrast were left out
    """

    descriptors: np.ndarray
    centres_px: np.ndarray
    patch_px: np.ndarray
    n_candidates: int = 0


def describe_patches(grey, options):
    """Compute the descriptors of all patches with enough contrast, on one grid for each side of patches.

    Parameters
    ----------
    grey : array (height, width), grey levels from 0 to 255
    options : ExtractOptions, with a number as `stride_px`

    Returns
    -------
    described : DescribedPatches

    Source
    ------
    Lin et al., KDD 2014, section 5.1: patches of 16 x 16 pixels, SIFT, and "the patches with small standard
    deviations were discarded".  The paper gives neither stride nor threshold; the defaults are ours.
    """
    if options.shrinking > 1:
        grey = resize_image(grey, tuple(length // options.shrinking for length in grey.shape[::-1]))
    of_sides = [_describe_one_side(grey, side, options) for side in sorted_patch_sizes(options.patch_px)]
    arrays = zip(*((one.descriptors, one.centres_px, one.patch_px) for one in of_sides))
    return DescribedPatches(*map(np.concatenate, arrays), sum(one.n_candidates for one in of_sides))


def _describe_one_side(grey, side, options):
    """Return the DescribedPatches of all patches that have one side.

    Parameters
    ----------
    grey : array (height, width), grey levels, shrunk by `options.shrinking`
    side : int, side of the patches in pixels of the picture before it was shrunk
    options : ExtractOptions
    """
    shrinking = options.shrinking
    small_px = side // shrinking
    candidates = patch_corners(grey.shape, small_px, options.stride_px // shrinking)
    std = patch_std(grey, candidates, small_px)
    kept = std >= options.min_std
    corners = candidates[kept]
    descriptors = dense_sift(grey, corners, small_px)
    if options.intensity:
        intensity = intensity_features(grey, corners, small_px, options.intensity, std=std[kept])
        descriptors = np.hstack([descriptors, intensity])
    centres_px = shrinking * patch_centres(corners, small_px)
    sides_px = np.full(len(corners), side, np.uint16)
    return DescribedPatches(descriptors, centres_px, sides_px, len(candidates))


def count_candidate_patches(options):
    """Count the patches of an image of the standard size, including patches without contrast (int)."""
    sides = sorted_patch_sizes(options.patch_px)
    return sum(len(patch_corners(STANDARD_PX, side, options.stride_px)) for side in sides)


def choose_stride(options, n_images):
    """Return a copy of the options in which `stride_px` is a number.

    If the user did not set it, it is STRIDE_PX, or half of it if the images have too few patches for a
    dictionary.

    Parameters
    ----------
    options : ExtractOptions
    n_images : int, number of images of the largest stage range
    """
    if options.stride_px is not None:
        return options
    usual = replace(options, stride_px=STRIDE_PX)
    is_few = n_images * count_candidate_patches(usual) < _ENOUGH_PATCHES
    return replace(options, stride_px=STRIDE_PX // 2) if is_few else usual


def intensity_features(grey, corners, patch_px, weight, *, std):
    """Compute four bytes from the mean and the standard deviation of each patch.

    Parameters
    ----------
    grey : array (height, width), grey levels from 0 to 255
    corners : int array (n_patches, 2), top left pixels (row, column)
    patch_px : int, side of a patch in pixels
    weight : float in (0, 1], length of each pair of cosine and sine as a fraction of 255; a SIFT descriptor
        has the length 512
    std : float array (n_patches,), standard deviation of the grey levels of each patch

    Returns
    -------
    features : uint8 array (n_patches, 4)
        Cosine and sine of a quarter turn times the darkness (1 - mean / 255).  Then cosine and sine of a
        quarter turn times the square root of the standard deviation over 127.5, its largest value.
    """
    darkness = 1 - patch_mean(grey, corners, patch_px) / WHITE
    deviation = np.sqrt(std / (WHITE / 2))
    angles = np.pi / 2 * np.clip(np.stack([darkness, deviation], axis=1), 0, 1)
    pairs = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(angles), 4)
    return np.rint(weight * WHITE * pairs).astype(np.uint8)
