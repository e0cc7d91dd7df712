import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyannot.base.errors import InputError
from flyannot.images.patches import patch_centres, patch_corners, patch_mean, patch_std
from flyannot.images.sift import dense_sift

LENGTH, STRIDE = st.integers(16, 90), st.integers(1, 20)


def starts_by_hand(length, patch_px, stride_px):
    n_patches = (length - patch_px) // stride_px + 1
    left_over = length - patch_px - (n_patches - 1) * stride_px
    return [left_over // 2 + i * stride_px for i in range(n_patches)]


@given(LENGTH, LENGTH, st.sampled_from([4, 8, 12, 16]), STRIDE)
def test_the_grid_is_every_patch_that_fits_in_row_major_order(height, width, patch_px, stride_px):
    rows, columns = (starts_by_hand(n, patch_px, stride_px) for n in (height, width))
    corners = patch_corners((height, width), patch_px, stride_px)
    assert corners.tolist() == [[i, j] for i in rows for j in columns]
    centres = patch_centres(corners, patch_px)
    assert centres.dtype == np.float32 and (centres - corners == patch_px / 2).all()


@pytest.mark.parametrize("patch_px, n_bits", [(4, 16), (16, 16), (64, 12), (256, 8)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_std_and_mean_are_those_of_the_pixels_of_each_patch(patch_px, n_bits, dtype, rng):
    """Float levels are rounded to n_bits below one grey level, which moves the std by half a step at most."""
    image = rng.uniform(0, 255, (patch_px + 9, patch_px + 30)).astype(dtype)
    corners = patch_corners(image.shape, patch_px, 3)
    patches = np.lib.stride_tricks.sliding_window_view(image.astype(float), (patch_px, patch_px))
    expected = patches[corners[:, 0], corners[:, 1]].std(axis=(1, 2))
    half_step = 0 if dtype is np.uint8 else 2.0 ** -(n_bits + 1)
    np.testing.assert_allclose(patch_std(image, corners, patch_px), expected, rtol=1e-12, atol=half_step)
    means = patches[corners[:, 0], corners[:, 1]].mean(axis=(1, 2))
    np.testing.assert_allclose(patch_mean(image, corners, patch_px), means, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_a_constant_patch_beside_a_busy_one_has_std_exactly_zero(dtype, rng):
    image = rng.uniform(0, 255, (16, 48)).astype(dtype)
    image[:, 16:32] = 200.3
    std = patch_std(image, patch_corners(image.shape, 16, 16), 16)
    assert std[1] == 0 and (std[[0, 2]] > 50).all()


def test_std_of_a_huge_flat_image_with_one_dark_pixel_does_not_cancel_away():
    image = np.full((1200, 1200), 255, np.uint8)
    image[1195, 1195] = 254
    std = patch_std(image, np.array([[1184, 1184], [0, 0]]), 16)
    np.testing.assert_allclose(std, [np.sqrt(1 / 256 - 1 / 256**2), 0], rtol=1e-15)
    image = np.repeat(np.float32([[0, 255]]), 128, axis=1).repeat(256, axis=0)
    assert patch_std(image, [[0, 0]], 256)[0] == 127.5, "the largest scatter does not overflow"


@pytest.mark.parametrize(
    "size, patch_px, stride_px, why",
    [
        ((20, 15), 16, 4, "does not fit"),
        ((20, 20), 10, 4, "4 equal bins"),
        ((20, 20), 0, 4, "4 equal bins"),
        ((20, 20), 16, 0, "stride"),
        ((20, 20, 3), 16, 4, "not a matrix of grey levels"),
    ],
)
def test_a_grid_that_cannot_be_is_refused_with_a_remedy(size, patch_px, stride_px, why):
    with pytest.raises(InputError, match=why) as refusal:
        patch_corners(size, patch_px, stride_px)
    assert refusal.value.fix
    for measure in (patch_std, patch_mean, dense_sift):
        for outside in ([0, 5], [5, 0], [-1, 0]):
            with pytest.raises(InputError, match=re.escape(f"the patch at {tuple(outside)} leaves")):
                measure(np.zeros((20, 20), np.uint8), np.array([[0, 0], outside]), 16)
