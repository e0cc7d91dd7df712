"""Tests of the stain channel and of patterns drawn from it."""

from functools import partial

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from flyannot.images.embryo import read_grey
from flyannot.images.geometry import STANDARD_PX
from flyannot.images.grey_levels import separate_stain
from flyannot.images.options import ExtractOptions
from flyannot.images.pattern import (
    ellipse_mask,
    extract_pattern,
    measure_unevenness,
    redraw_as_pattern,
    render_patterns,
    smooth_body_mask,
)
from tests.images.picture_files import luma, view

# Optical densities in red, green and blue, measured on the photographs of FlyExpress.
STAIN, TISSUE = (0.70, 0.67, 0.23), (0.57, 0.54, 0.61)
BLUE = (60, 80, 190)
LEFT, RIGHT = np.s_[40:90, 40:90], np.s_[40:90, 200:250]
STAINED = ExtractOptions(stride_px=16, channel="stain")
BLUE_LIGHT = ExtractOptions(stride_px=16, channel="blue")


def read_stain(path):
    return view(path, STAINED).grey


def test_what_is_mixed_in_the_two_colours_comes_apart_again(rng):
    """Add densities: the share of the stain does not depend on the amount of tissue over it."""
    stain, tissue = (np.array(one) / np.linalg.norm(one) for one in (STAIN, TISSUE))
    amount = np.linspace(0, 1.2, 40)[:, None]
    over = rng.uniform(0, 0.8, (40, 7))
    rgb = 255 * 10.0 ** -(amount[..., None] * stain + over[..., None] * tissue)
    alone = luma(255 * 10.0 ** -(amount * stain))
    assert np.abs(separate_stain(rgb) - alone[:, None]).max() < 0.05


def test_in_blue_light_the_tissue_shows_and_hardly_any_stain(picture, rng):
    stain, tissue = (np.array(one) / np.linalg.norm(one) for one in (STAIN, TISSUE))
    pixels = np.full((*STANDARD_PX, 3), 255, np.uint8)
    pixels[LEFT], pixels[RIGHT] = (np.rint(255 * 10.0 ** -(0.7 * one)) for one in (stain, tissue))
    path = picture(Image.fromarray(pixels), format="PNG")
    blue = view(path, BLUE_LIGHT).grey
    np.testing.assert_array_equal(blue, pixels[..., 2])
    grey = read_grey(path)
    assert 255 - blue[LEFT].mean() < 0.5 * (255 - grey[LEFT].mean())
    assert abs(blue[RIGHT].mean() - grey[RIGHT].mean()) < 20
    plain = picture(Image.fromarray(rng.integers(0, 256, (64, 200)).astype(np.uint8)), format="PNG")
    np.testing.assert_array_equal(view(plain, BLUE_LIGHT).grey, read_grey(plain))


@pytest.mark.parametrize("mode", ["L", "RGB", "1", "I;16", "P"])
def test_a_picture_without_colour_gives_its_grey_levels(picture, rng, mode):
    grey = rng.integers(0, 256, (64, 200)).astype(np.uint8)
    is_deep = mode == "I;16"
    image = Image.fromarray(grey.astype(np.uint16) * 257 if is_deep else grey).convert(mode)
    path = picture(image, format="PNG")
    np.testing.assert_array_equal(read_stain(path), read_grey(path))


def test_uniform_pictures_and_the_ends_of_the_range_stay_finite_and_the_same(picture):
    for colour in ((255, 255, 255), (0, 0, 0), (0, 0, 255), (255, 255, 0), BLUE):
        path = picture(Image.fromarray(np.full((*STANDARD_PX, 3), colour, np.uint8)), format="PNG")
        stain = read_stain(path)
        assert np.isfinite(stain).all() and np.ptp(stain) == 0 and 0 <= stain[0, 0] <= 255
        np.testing.assert_array_equal(read_stain(path), stain)


# --- drawn as a pattern ---


def smooth_patterns(rng, n):
    """Return patterns of three spots each, from 0 to 1."""
    y, x = np.mgrid[:16, :32]
    places, widths = rng.uniform((3, 4), (13, 28), (n, 3, 2)), rng.uniform(2, 6, (n, 3))
    grids = np.zeros((n, 16, 32))
    for k in range(3):
        (down, across), wide = places[:, k].T[..., None, None], widths[:, k, None, None]
        grids += np.exp(-((y - down) ** 2 + (x - across) ** 2) / (2 * wide**2))
    return np.array([(grid / grid.max()).T[ellipse_mask().T] for grid in grids])


def in_colour(pattern, stained=0.8, body=0.2, light=1.0, noise=0.0, rng=None):
    """Return a photograph of a pattern: stain over a body of some tissue, in some light."""
    stain, tissue = (np.array(one) / np.linalg.norm(one) for one in (STAIN, TISSUE))
    grid, whole = np.zeros((16, 32)), smooth_body_mask(ellipse_mask())
    grid.T[ellipse_mask().T] = pattern
    amount = stained * whole * ndimage.zoom(grid, (8, 10), order=1, mode="nearest", grid_mode=True)
    rgb = 255 * light * 10.0 ** -(amount[..., None] * stain + body * whole[..., None] * tissue)
    rgb = rgb + rng.normal(0, noise, rgb.shape) if noise else rgb
    return Image.fromarray(np.rint(np.clip(rgb, 0, 255)).astype(np.uint8))


def test_a_drawn_pattern_read_back_is_the_pattern_but_for_its_stretch(rng):
    patterns = smooth_patterns(rng, 20)
    for stretch, offset in ((1, 0), (0.5, 0.3)):
        for pattern, drawn in zip(patterns, render_patterns(stretch * patterns + offset, ellipse_mask())):
            found = extract_pattern(drawn)
            assert found.shape == (405,) and (found.min(), found.max()) == (0, 1)
            assert np.corrcoef(found, pattern)[0, 1] > (0.98 if not offset else 0.9)
            assert np.corrcoef(found, extract_pattern(redraw_as_pattern(drawn)))[0, 1] > 0.98


def test_a_pattern_is_the_darkness_of_blocks_from_a_pale_one_to_a_dark_one(rng):
    mask = ellipse_mask()
    assert mask.sum(axis=1).tolist() == [12, 20, 24, 27, 29, 30, 32, 32, 32, 32, 30, 28, 26, 23, 18, 10]
    for grey in (rng.uniform(0, 255, STANDARD_PX), np.kron(rng.uniform(0, 255, (16, 32)), np.ones((8, 10)))):
        darkness = 1 - grey.reshape(16, 8, 32, 10).mean(axis=(1, 3)) / 255
        blocks = np.array([darkness[i, j] for j in range(32) for i in range(16) if mask[i, j]])
        pale, dark = np.percentile(blocks, [5, 98])
        expected = np.clip((blocks - pale) / max(dark - pale, 0.15), 0, 1)
        np.testing.assert_allclose(extract_pattern(grey), expected, atol=1e-12)


def test_patterns_are_drawn_as_ndimage_draws_them(rng):
    grid, mask = np.zeros((16, 32)), ellipse_mask()
    outside = ndimage.distance_transform_edt(~mask, return_distances=False, return_indices=True)
    enlarged = partial(ndimage.zoom, zoom=(8, 10), mode="nearest", grid_mode=True)
    body = ndimage.gaussian_filter(enlarged(np.pad(mask.astype(float), 2)), (5.0, 6.25))[16:-16, 20:-20]
    body = np.clip((body - 0.36) / 0.2, 0, 1)
    patterns = np.concatenate([smooth_patterns(rng, 5), rng.random((20, 405)), rng.random((20, 405)) > 0.5])
    for pattern, drawn in zip(patterns, render_patterns(patterns, mask)):
        grid.T[mask.T] = pattern
        continued = np.where(mask, grid, ndimage.uniform_filter(grid[tuple(outside)], 3, mode="nearest"))
        light = 1 - np.clip(enlarged(continued), 0, 1)
        assert (drawn == np.rint(255 + body * (180 * light - 255))).all()


def slow_unevenness(picture):
    """Return the unevenness block by block, in loops."""
    found = []
    for colour in range(3):
        grid = np.zeros((16, 32))
        grid.T[ellipse_mask().T] = extract_pattern(picture[..., colour])
        down = [abs(grid[i + 1, j] - grid[i, j]) for i in range(4, 11) for j in range(6, 26)]
        across = [abs(grid[i, j + 1] - grid[i, j]) for i in range(4, 12) for j in range(6, 25)]
        found.append(np.mean(down) + np.mean(across))
    return min(found)


def test_unevenness_is_that_of_a_slow_twin_and_unknown_without_colour(rng):
    picture = rng.integers(0, 256, (*STANDARD_PX, 3)).astype(np.uint8)
    assert measure_unevenness(picture) == pytest.approx(slow_unevenness(picture), rel=1e-12)
    grey = np.repeat(picture[..., :1], 3, axis=2)
    nearly_grey = np.clip(grey + rng.integers(0, 9, grey.shape), 0, 255)
    assert np.isnan(measure_unevenness(grey)) and np.isnan(measure_unevenness(nearly_grey))
    assert measure_unevenness(np.stack([picture[..., 0], *2 * [np.full(STANDARD_PX, 9)]], axis=2)) == 0


def test_folds_make_an_embryo_uneven_and_stripes_of_stain_hardly_do():
    columns = np.nonzero(ellipse_mask().T)[0]
    stripes = (columns // 2 % 2).astype(float)
    stained = np.asarray(in_colour(stripes, stained=0.3), float)
    folded = np.repeat(stained[..., :1], 3, axis=2) - (0, 0, 20)  # as dark in all colours; a yellow embryo
    uneven = measure_unevenness(folded)
    assert uneven > 0.3 and measure_unevenness(stained) < 0.6 * uneven
    assert measure_unevenness(0.8 * folded) == pytest.approx(uneven, rel=0.2), "light"


LOOKS = {"paler": {"stained": 0.4}, "darker": {"stained": 1.2}, "dense": {"body": 0.5}}
LOOKS |= {"clear": {"body": 0.0}, "dim": {"light": 0.85}}


@pytest.mark.parametrize("look", LOOKS)
def test_body_light_and_strength_of_the_stain_hardly_change_what_is_drawn(picture, rng, look):
    options = ExtractOptions(channel="pattern")
    for pattern in smooth_patterns(rng, 4):
        drawn = (in_colour(pattern, **how) for how in ({}, LOOKS[look]))
        usual, other = (view(picture(pixels, format="PNG"), options).grey for pixels in drawn)
        assert usual.shape == STANDARD_PX and usual.dtype == np.float32
        assert np.corrcoef(usual.ravel(), other.ravel())[0, 1] > 0.98
        assert np.abs(usual - other).mean() < 9


@pytest.mark.parametrize("body", [0, 0.2, 0.5])
def test_where_nothing_is_stained_noise_is_not_stretched_to_a_pattern(picture, rng, body):
    path = picture(in_colour(np.zeros(405), body=body, noise=8, rng=rng), format="PNG")
    assert extract_pattern(read_stain(path)).max() < 0.25
