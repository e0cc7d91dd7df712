"""Tests of the description of patches: at a smaller scale, and with intensity, their mean and deviation."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from flyannot.base.errors import InputError
from flyannot.images.extract import describe_patches, intensity_features
from flyannot.images.geometry import STANDARD_PX
from flyannot.images.options import ExtractOptions
from flyannot.images.patches import patch_corners, patch_mean, patch_std
from flyannot.images.sift import mirror_descriptors

SIZE = (48, 96)


def features_of(grey, corners, patch_px, weight):
    return intensity_features(grey, corners, patch_px, weight, std=patch_std(grey, corners, patch_px))


@pytest.fixture
def grey(rng):
    return rng.integers(0, 256, SIZE).astype(np.float32)


def test_intensity_features_are_the_angles_of_darkness_and_deviation(grey):
    corners = patch_corners(SIZE, 16, 8)
    found = features_of(grey, corners, 16, 0.5).astype(float)
    darkness = 1 - patch_mean(grey, corners, 16) / 255
    deviation = np.sqrt(patch_std(grey, corners, 16) / 127.5)
    for pair, amount in ((found[:, :2], darkness), (found[:, 2:], deviation)):
        assert np.abs(np.hypot(*pair.T) - 127.5).max() < 1, "of one length"
        assert np.abs(np.arctan2(pair[:, 1], pair[:, 0]) - np.pi / 2 * amount).max() < 0.01
    for level, expected in ((255, [255, 0, 255, 0]), (0, [0, 255, 255, 0])):  # white, and black
        even = np.full(SIZE, level, np.float32)
        assert features_of(even, np.array([[0, 0]]), 16, 1.0).tolist() == [expected]


def test_a_descriptor_is_sift_and_then_intensity_for_patches_of_every_size(grey):
    options = ExtractOptions(patch_px=(8, 16), stride_px=8, min_std=0)
    plain, both = describe_patches(grey, options), describe_patches(grey, replace(options, intensity=1.0))
    np.testing.assert_array_equal(both.descriptors[:, :128], plain.descriptors)
    corners = (both.centres_px - both.patch_px[:, None] / 2).astype(int)
    for side in (8, 16):
        mine = both.patch_px == side
        expected = features_of(grey, corners[mine], side, 1.0)
        np.testing.assert_array_equal(both.descriptors[mine, 128:], expected)


def test_upside_down_intensity_stays_and_sift_turns(grey):
    described = describe_patches(grey, ExtractOptions(stride_px=16, min_std=0, intensity=1.0)).descriptors
    turned = mirror_descriptors(described)
    np.testing.assert_array_equal(turned[:, :128], mirror_descriptors(described[:, :128]))
    np.testing.assert_array_equal(turned[:, 128:], described[:, 128:])


@pytest.mark.parametrize("shrinking", [2, 4])
def test_a_scale_describes_the_shrunk_picture_by_smaller_patches_at_the_same_places(rng, shrinking):
    grey = 255 * rng.random(STANDARD_PX, np.float32)
    grey[:, 160:] /= 8  # patches of little contrast, which are left out
    usual = ExtractOptions(patch_px=(16, 48), stride_px=8, intensity=1)
    found = describe_patches(grey, replace(usual, scale=f"1/{shrinking}"))
    small = cv2.resize(grey, (320 // shrinking, 128 // shrinking), interpolation=cv2.INTER_AREA)
    sides, stride = [side // shrinking for side in usual.patch_px], usual.stride_px // shrinking
    expected = describe_patches(small, replace(usual, patch_px=sides, stride_px=stride))
    assert 0 < len(found.patch_px) < found.n_candidates == expected.n_candidates
    np.testing.assert_array_equal(found.descriptors, expected.descriptors)
    np.testing.assert_array_equal(found.centres_px, shrinking * expected.centres_px)
    np.testing.assert_array_equal(found.patch_px, shrinking * expected.patch_px)
    scaled = (replace(usual, scale=scale, min_std=0) for scale in ("1", f"1/{shrinking}"))
    whole, shrunk = (describe_patches(grey, options) for options in scaled)
    np.testing.assert_array_equal(shrunk.centres_px, whole.centres_px)


@pytest.mark.parametrize(
    "options, why",
    [
        ({"patch_px": (16, 24)}, "--patch-px must be a multiple of 16"),
        ({"stride_px": 6}, "--stride-px must be a multiple of 4"),
    ],
)
def test_patches_that_cannot_be_shrunk_are_refused(options, why):
    with pytest.raises(InputError, match=f"{why} with --scale 1/4"):
        ExtractOptions(**options, scale="1/4")
