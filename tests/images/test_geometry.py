"""Sizes, frames and levels of pictures beside slow twins: block means, SciPy's filters and tables by hand."""

import numpy as np
import pytest
from scipy import ndimage

from flyannot.images import geometry
from flyannot.images.grey_levels import guess_white_level, stated_white_level


@pytest.fixture
def grey(rng):
    return rng.uniform(20, 230, (24, 36)).astype(np.float32)


@pytest.mark.parametrize("colours", [(), (3,)])
@pytest.mark.parametrize("factor", [1, 2, 3, 6, 12])  # from 8 on, in two steps
def test_shrinking_by_a_whole_number_is_the_mean_of_blocks(rng, factor, colours):
    picture = rng.uniform(0, 255, (24, 36, *colours)).astype(np.float32)
    twin = picture.reshape(24 // factor, factor, 36 // factor, factor, *colours).mean(axis=(1, 3))
    found = geometry.resize_image(picture, (36 // factor, 24 // factor))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, twin, rtol=1e-5)


def test_shrinking_in_one_direction_averages_and_enlarging_in_both_is_linear(grey):
    for size, blocks, axis in (((36, 12), (12, 2, 36), 1), ((18, 24), (24, 18, 2), 2)):
        means = grey.reshape(blocks).mean(axis=axis)
        np.testing.assert_allclose(geometry.resize_image(grey, size), means, rtol=1e-5)
    ramp = np.tile(np.arange(8, dtype=np.float32), (4, 1))
    larger = geometry.resize_image(ramp, (16, 8))
    assert np.diff(larger[3, 1:-1]) == pytest.approx(0.5)


@pytest.mark.parametrize("factor", [2, 5])
def test_of_an_enlarged_picture_every_nth_pixel_is_as_it_was_and_lines_lie_between(grey, factor):
    larger = geometry.enlarge_image(grey, factor)
    assert larger.shape == (24 * factor, 36 * factor)
    np.testing.assert_allclose(larger[::factor, ::factor], grey, rtol=1e-5)
    between = (grey[:, :-1] * (factor - 1) + grey[:, 1:]) / factor
    np.testing.assert_allclose(larger[::factor, 1 : 1 - factor : factor], between, atol=0.5)
    assert (larger[:, -1] == larger[:, -factor]).all(), "the border is repeated"


def test_a_frame_shows_the_point_that_its_matrix_names_and_beyond_the_picture_the_fill(grey):
    moved = geometry.warp_image(grey, np.array([[1.0, 0, 3], [0, 1, -2]]), (36, 24), fill=7.0)
    np.testing.assert_allclose(moved[2:, :-3], grey[:-2, 3:], atol=1e-3)
    assert (moved[:2] == 7).all() and (moved[:, -3:] == 7).all()
    mirrored = geometry.warp_image(grey, np.array([[-1.0, 0, 36], [0, 1, 0]]), (36, 24))  # about its middle
    np.testing.assert_allclose(mirrored, grey[:, ::-1], atol=1e-3)
    colours = np.dstack([grey, grey + 1, grey + 2])
    far = np.array([[1.0, 0, 99], [0, 1, 0]])
    away = geometry.warp_image(colours, far, (4, 5), fill=np.array([1.0, 2, 3]))
    assert away.shape == (5, 4, 3) and (away == [1, 2, 3]).all()


@pytest.mark.parametrize(("sigma_px", "truncate"), [(1.3, 4.0), ((0.6, 2.2), 4.0), (2.0, 1.4)])
def test_a_blur_is_the_gaussian_of_scipy(grey, sigma_px, truncate):
    twin = ndimage.gaussian_filter(grey, sigma_px, mode="reflect", truncate=truncate)
    np.testing.assert_allclose(geometry.blur_image(grey, sigma_px, truncate=truncate), twin, rtol=1e-4)


def test_a_picture_is_fitted_with_equal_margins_that_have_the_median_of_its_border(grey):
    assert (geometry.resize_to_fit(grey, (24, 36)) == grey).all()
    border = [*grey[0], *grey[-1], *grey[1:-1, 0], *grey[1:-1, -1]]
    assert sorted(geometry.border_values(grey)) == sorted(border)
    for size_px, inner in (((24, 50), np.s_[:, 7:-7]), ((30, 36), np.s_[3:-3])):
        framed = geometry.resize_to_fit(grey, size_px)
        np.testing.assert_array_equal(framed[inner], grey)
        outside = np.ones(size_px, bool)
        outside[inner] = False
        assert (framed[outside] == np.float32(np.median(border))).all()
    beyond = np.array([[-9.0, 300.0], [12, 13]], np.float32)
    assert geometry.resize_to_fit(beyond, (2, 2)).tolist() == [[0, 255], [12, 13]]


def test_a_length_leaves_equal_margins_and_is_the_nearest_that_does():
    for outer in (7, 8):
        fitting = [n for n in range(1, outer + 1) if (outer - n) % 2 == 0]
        for length in np.arange(0.1, outer, 0.3):
            found = geometry._centred_length(length, outer)
            assert found in fitting and abs(found - length) == min(abs(n - length) for n in fitting)


@pytest.mark.parametrize(
    ("highest", "type_bits", "white"),
    [(0, 16, 255), (255, 16, 255), (256, 16, 1023), (1023, 16, 1023), (1024, 16, 4095), (4096, 16, 16383)]
    + [(16384, 16, 65535), (65535, 32, 65535), (65536, 32, 2**32 - 1), (40000, 15, 2**15 - 1), (7, 8, 255)],
)
def test_white_is_the_largest_number_of_the_smallest_camera_that_holds_the_picture(highest, type_bits, white):
    assert guess_white_level(highest, type_bits) == white


@pytest.mark.parametrize(
    ("maximum", "white"), [(255, 255), (256, 1023), (511, 511), (2047, 2047), (2048, 4095), (60000, 65535)]
)
def test_a_stated_maximum_that_fills_its_bits_is_white_and_another_one_a_cameras(maximum, white):
    assert stated_white_level(maximum) == white
