"""Tests of dense SIFT against a slow twin and OpenCV."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from benchmarks.references.usual_way import compute, keypoints
from flyannot.base.errors import DataError
from flyannot.images.patches import patch_corners
from flyannot.images.sift import dense_sift, mirror_descriptors, normalise_descriptors


def slow_sift(image, corners, patch_px, smooth_px):
    """Return descriptors before rounding, float64 (n, 128), in the order of `dense_sift`."""
    smoothed = gaussian_filter(np.asarray(image, float), smooth_px, mode="mirror", truncate=4)
    return np.array([_slow_descriptor(smoothed, top, left, patch_px) for top, left in corners])


def _slow_descriptor(image, top, left, patch_px):
    height, width = image.shape
    bin_px, middle = patch_px / 4, (patch_px - 1) / 2
    histogram = np.zeros((4, 4, 8))
    for i in range(max(top - patch_px, 1), min(top + 2 * patch_px, height - 1)):
        for j in range(max(left - patch_px, 1), min(left + 2 * patch_px, width - 1)):
            dx, dy = image[i, j + 1] - image[i, j - 1], image[i - 1, j] - image[i + 1, j]
            v, u = (i - top - middle) / bin_px, (j - left - middle) / bin_px
            if max(abs(v), abs(u)) < 2.5:
                weight = math.hypot(dx, dy) * math.exp(-(v * v + u * u) / 8)
                _add(histogram, weight, v + 1.5, u + 1.5, math.atan2(dy, dx) / (math.pi / 4) % 8)
    return _normalised(histogram.ravel())


def _add(histogram, weight, v, u, angle):
    """Share a weight among the neighbouring bins, in proportion to their nearness."""
    turn = np.abs(angle - np.arange(8))
    apart = np.abs(v - np.arange(4)), np.abs(u - np.arange(4)), np.minimum(turn, 8 - turn)
    histogram += weight * np.einsum("i,j,k", *(np.maximum(0, 1 - one) for one in apart))


def _normalised(histogram):
    norm = np.linalg.norm(histogram)
    if norm == 0:
        return histogram
    clipped = np.minimum(histogram, 0.2 * norm)
    return np.minimum(512 * clipped / np.linalg.norm(clipped), 255)


# Where a spatial bin goes, and where an orientation goes, when the image is mirrored from left to right.
LEFT_RIGHT = np.arange(128).reshape(4, 4, 8)[:, ::-1][..., (4 - np.arange(8)) % 8].ravel()


@pytest.fixture(scope="module")
def photograph():
    from skimage.data import camera

    return camera()[100:260, 150:400]


def smooth_noise(rng, shape):
    """Return grey levels with slopes at every scale, so that gradients do not depend on single pixels."""
    coarse = np.kron(rng.uniform(0, 200, (shape[0] // 8 + 1, shape[1] // 8 + 1)), np.ones((8, 8)))
    return (coarse[: shape[0], : shape[1]] + rng.uniform(0, 55, shape)).astype(np.uint8)


def steps_apart(a, b):
    return np.abs(a.astype(int) - b.astype(int)).max()


GRIDS = [((24, 30), 16, 7), ((21, 26), 16, 5), ((30, 27), 12, 9), ((9, 12), 4, 3), ((33, 40), 32, 4)]


@pytest.mark.parametrize("shape, patch_px, stride_px", GRIDS)
def test_dense_sift_equals_the_slow_twin_smoothed_by_a_tenth_of_the_patch(shape, patch_px, stride_px, rng):
    image = smooth_noise(rng, shape)
    corners = patch_corners(shape, patch_px, stride_px)
    sharpness_px = {4: 0.5, 12: 1.2, 16: 1.6, 32: 3.2}[patch_px]
    expected = slow_sift(image, corners, patch_px, np.sqrt(sharpness_px**2 - 0.5**2))
    descriptors = dense_sift(image, corners, patch_px)
    assert np.abs(descriptors - expected).max() <= 0.51  # half a step is the rounding itself


def median_cosine(ours, theirs):
    ours, theirs = ours.astype(float), theirs.astype(float)
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return np.median((ours * theirs).sum(axis=1)[norms > 0] / norms[norms > 0])


def test_the_mean_of_four_neighbouring_patches_is_opencvs_descriptor_between_them(photograph):
    """Use that OpenCV's centre is the pixel in the middle of the four centres."""
    corners = patch_corners((140, 230), 16, 9)
    neighbours = [corners + shift for shift in ([0, 0], [1, 0], [0, 1], [1, 1])]
    between = sum(dense_sift(photograph, patches).astype(float) for patches in neighbours)
    assert median_cosine(between, compute(photograph, keypoints(corners))) >= 0.995


@pytest.mark.parametrize("contrast, brightness", [(0.25, 0.0), (0.5, 100.0), (2.0, -60.0), (-1.0, 255.0)])
def test_descriptors_ignore_contrast_and_brightness(contrast, brightness, photograph):
    corners = patch_corners(photograph.shape, 16, 8)
    grey = photograph.astype(np.float32)
    changed = np.float32(contrast) * grey + np.float32(brightness)
    expected = dense_sift(grey, corners)
    if contrast < 0:  # every orientation is turned round
        expected = expected[:, np.arange(128).reshape(16, 8)[:, (np.arange(8) + 4) % 8].ravel()]
    assert steps_apart(expected, dense_sift(changed, corners)) <= 1


@pytest.mark.parametrize("axis, back", [(1, lambda found: found[:, LEFT_RIGHT]), (0, mirror_descriptors)])
@pytest.mark.parametrize("patch_px", [8, 12, 16])
def test_a_mirror_image_permutes_bins_and_orientations(axis, back, patch_px, photograph):
    corners = patch_corners(photograph.shape, patch_px, 5)
    mirrored = corners.copy()
    mirrored[:, axis] = photograph.shape[axis] - patch_px - corners[:, axis]
    there = dense_sift(photograph, corners, patch_px)
    turned = dense_sift(np.flip(photograph, axis), mirrored, patch_px)
    assert steps_apart(there, back(turned)) <= 1
    np.testing.assert_array_equal(back(back(turned)), turned)
    assert (there != back(turned)).mean() < 1e-5  # sums of mirrored order: a tie of the rounding at times


@pytest.mark.parametrize("degrees", range(0, 360, 15))
def test_a_ramp_puts_its_energy_into_the_two_orientations_beside_its_slope(degrees):
    """Check that direction k points k * 45 degrees from +x towards the top of the image."""
    i, j = np.mgrid[:32, :32]
    ramp = np.float32(128 + 2 * (np.cos(np.radians(degrees)) * j - np.sin(np.radians(degrees)) * i))
    energy = dense_sift(ramp, [[8, 8]], 4).reshape(16, 8).sum(axis=0)  # so small a patch is not smoothed
    beside = {degrees // 45 % 8} if degrees % 45 == 0 else {degrees // 45, (degrees // 45 + 1) % 8}
    assert set(np.flatnonzero(energy)) == beside


@pytest.mark.parametrize("grey", [0.0, 0.1, 77.7, 255.0])
@pytest.mark.parametrize("width", [16, 61, 320])
def test_a_constant_image_gives_zero_descriptors(grey, width):
    image = np.full((35, width), grey, np.float32)
    descriptors = dense_sift(image, patch_corners(image.shape, 16, 3))
    assert not descriptors.any()
    assert not normalise_descriptors(descriptors).any()


def test_a_patch_has_the_same_descriptor_in_every_grid_and_order(photograph, rng):
    corners = patch_corners(photograph.shape, 16, 2)
    descriptors = dense_sift(photograph, corners)
    for some in (corners[::13], rng.permutation(corners)[:500], corners[[7, 7, 3]], corners[:0]):
        rows = [np.flatnonzero((corners == corner).all(axis=1))[0] for corner in some]
        assert np.array_equal(dense_sift(photograph, some), descriptors[rows])


def test_threads_give_the_same_bits(photograph):
    corners = patch_corners(photograph.shape, 16, 4)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: dense_sift(photograph, corners), range(8)))
    assert all(np.array_equal(results[0], result) for result in results)


def test_normalise_centres_and_scales_as_float64_does(rng):
    descriptors = rng.integers(0, 256, (300, 128), dtype=np.uint8)
    descriptors[5], descriptors[6] = 17, 255  # constant: nothing is left of them
    descriptors[7], descriptors[8, 1:] = 0, 0
    centred = descriptors - descriptors.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(centred, axis=1, keepdims=True)
    expected = np.divide(centred, norms, out=np.zeros_like(centred), where=norms > 0)
    X = normalise_descriptors(descriptors)
    assert X.dtype == np.float32 and not X[5:8].any()
    np.testing.assert_allclose(X, expected, rtol=3e-7, atol=3e-8)
    with pytest.raises(DataError, match="float64"):  # which dense_sift never makes
        normalise_descriptors(np.zeros((3, 128)))
