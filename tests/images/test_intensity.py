"""Tests of the intensity features that follow SIFT: mean and standard deviation of a patch."""

from dataclasses import replace

import numpy as np
import pytest

from flyannot.images.extract import describe_patches, intensity_features
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
