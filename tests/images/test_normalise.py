"""What stored samples mean, pixel by pixel and by hand, without any file."""

import numpy as np
import pytest

from flyannot.images import normalise as module
from flyannot.images.normalise import normalise
from flyannot.images.scene import StoredPlane
from flyannot.images.unreadable import UnusableImage

SHOWN = [[1, 2, 3], [4, 5, 6]]
# How the picture lies in the file, by EXIF's orientation: where row 0 and column 0 of the stored picture are.
STORED = {
    1: [[1, 2, 3], [4, 5, 6]],  # top, left
    2: [[3, 2, 1], [6, 5, 4]],  # top, right
    3: [[6, 5, 4], [3, 2, 1]],  # bottom, right
    4: [[4, 5, 6], [1, 2, 3]],  # bottom, left
    5: [[1, 4], [2, 5], [3, 6]],  # left, top
    6: [[3, 6], [2, 5], [1, 4]],  # right, top
    7: [[6, 3], [5, 2], [4, 1]],  # right, bottom
    8: [[4, 1], [5, 2], [6, 3]],  # left, bottom
}


def shown(samples, colours="grey", **about):
    """Return the picture of some samples."""
    return normalise("p.tif", StoredPlane(np.asarray(samples), colours, **about))


def bytes_of(samples):
    return np.array(samples, np.uint8)


def test_a_palette_is_looked_up_also_beside_samples_that_mean_nothing():
    palette = bytes_of([[1, 2, 3], [4, 5, 6]])
    beside = np.dstack([bytes_of([[1, 0]]), bytes_of([[9, 9]])])
    assert shown(beside, "palette", palette=palette).tolist() == [[[4, 5, 6], [1, 2, 3]]]


@pytest.mark.parametrize("strip_px", [2**20, 3])
@pytest.mark.parametrize("orientation", STORED)
def test_a_picture_is_turned_upright_also_in_strips(orientation, strip_px, monkeypatch):
    monkeypatch.setattr(module, "STRIP_PIXELS", strip_px)
    stored = bytes_of(STORED[orientation])
    assert shown(stored, orientation=orientation).tolist() == SHOWN
    colours = shown(np.stack([stored, 2 * stored, 3 * stored], axis=2), "rgb", orientation=orientation)
    assert colours[..., 0].tolist() == SHOWN and colours[..., 2].tolist() == (3 * np.array(SHOWN)).tolist()


@pytest.mark.parametrize(
    ("samples", "about", "white"),
    [
        (np.array([[True, False]]), {}, 1),
        (bytes_of([[7, 0]]), {}, 255),
        (bytes_of([[7, 0]]), {"used_bits": 4}, 15),
        (bytes_of([[7, 0]]), {"used_bits": 3}, 7),
        (np.array([[7, 0]], np.uint16), {}, 255),
        (np.array([[700, 0]], np.uint16), {}, 1023),
        (np.array([[700, 0]], np.uint16), {"used_bits": 12}, 4095),
        (np.array([[700, 0]], np.uint16), {"maximum": 2047}, 2047),
        (np.array([[700, 0]], np.uint16), {"used_bits": 9, "maximum": 5000}, 16383),  # above what is stated
        (np.array([[700, 0]], np.int16), {"used_bits": 9}, 1023),
        (np.array([[32767, 0]], np.int16), {}, 32767),
        (np.array([[70_000, 0]], np.uint32), {}, 2**32 - 1),
        (np.array([[1.0, 0.0]], np.float32), {}, 1),
        (np.array([[2.5, 0.0]], np.float64), {}, 255),
    ],
)
def test_white_is_stated_or_guessed(samples, about, white):
    level = float(samples[0, 0]) * 255 / white
    found = shown(samples, **about)
    assert found.tolist() == [[pytest.approx(level, rel=1e-6), 0]]
    assert found.dtype == (np.uint8 if samples.itemsize == 1 and 255 % white == 0 else np.float32)
    inverse = shown(samples, is_white_zero=True, **about)
    assert inverse.tolist() == [[pytest.approx(255 - level, abs=1e-4), 255]]
    assert inverse.dtype == found.dtype


def test_ink_absorbs_what_black_has_left():
    inks = bytes_of([[[255, 0, 100, 51], [0, 30, 0, 255]]])
    light = [[[0, 204, 204 - 80], [0, 0, 0]]]  # 100 * 204 / 255 = 80
    assert shown(inks, "cmyk").tolist() == light and shown(inks, "cmyk").dtype == np.uint8
    deep = shown(inks.astype(np.uint16) * 257, "cmyk")
    np.testing.assert_allclose(deep, light, atol=1e-3)
    assert deep.dtype == np.float32


def test_luma_and_differences_of_colour_are_those_of_jfif():
    pixels = bytes_of([[[76, 85, 255], [29, 255, 107], [90, 128, 128]]])
    expected = [[254, 0, 0], [0, 0, 254], [90, 90, 90]]
    np.testing.assert_allclose(shown(pixels, "ycbcr")[0], expected, atol=1.01)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_what_is_transparent_lies_on_white(dtype):
    scale = np.iinfo(dtype).max // 255
    pixels = np.array([[[100, 0], [100, 51], [100, 255]]], dtype) * dtype(scale)
    for alpha, expected in (("straight", [255, 224, 100]), ("premultiplied", [255, 255, 100])):
        np.testing.assert_allclose(shown(pixels, alpha=alpha)[0], expected, atol=0.01)
    colours = np.array([[[20, 40, 60, 51], [9, 9, 255, 255]]], dtype) * dtype(scale)
    laid = shown(colours, "rgb", alpha="premultiplied")
    np.testing.assert_allclose(laid[0], [[224, 244, 255], [9, 9, 255]], atol=0.01)  # no lighter than white
    nowhere = colours * np.array([1, 1, 1, 0], dtype)  # an alpha of 0 everywhere is none
    np.testing.assert_allclose(shown(nowhere, "rgb", alpha="straight")[0, 0], [20, 40, 60], atol=0.01)


def test_one_colour_may_be_transparent_and_a_number_beyond_the_palette_is_its_last():
    assert shown(bytes_of([[7, 8]]), transparent=(7,)).tolist() == [[255, 8]]
    colours = bytes_of([[[1, 2, 3], [1, 2, 4]]])
    assert shown(colours, "rgb", transparent=(1, 2, 3)).tolist() == [[[255] * 3, [1, 2, 4]]]
    palette = bytes_of([[10, 20, 30], [100, 100, 100]])
    found = shown(bytes_of([[0, 1, 9]]), "palette", palette=palette)
    assert found.tolist() == [[[10, 20, 30], [100] * 3, [100] * 3]]


def test_samples_beyond_those_that_are_needed_are_left_out():
    pixels = bytes_of([[[5, 6, 7, 8, 9]]])
    assert shown(pixels, "rgb").tolist() == [[[5, 6, 7]]] and shown(pixels).tolist() == [[5]]
    assert shown(pixels[..., :4], "rgb", alpha="straight").tolist() != [[[5, 6, 7]]]


def test_a_deep_picture_of_very_many_pixels_is_rounded(monkeypatch):
    deep = np.full((4, 3), 300, np.uint16)
    monkeypatch.setattr(module, "STRIP_PIXELS", 5)
    for most, dtype, level in ((12, np.float32, 300 * 255 / 1023), (11, np.uint8, 75)):
        monkeypatch.setattr(module, "MAX_FLOAT_PIXELS", most)
        found = shown(deep)
        assert found.dtype == dtype and found.shape == (4, 3)
        np.testing.assert_allclose(found, level, rtol=1e-6)


@pytest.mark.parametrize(
    ("samples", "about", "why"),
    [
        (np.array([[-1, 5]], np.int16), {}, "run from -1 to 5, outside 0 to 255"),
        (np.array([[0.0, 256.0]]), {}, "run from 0 to 256, outside 0 to 255"),
        (np.array([[-0.01, 1.0]]), {}, "outside 0 to 1"),
        (np.array([[1.0, 1.5]]), {}, "run from 1 to 1.5, outside 0 to 1"),
        (np.array([[np.nan, 1.0]]), {}, "NaN or infinite"),
        (np.array([[np.inf, 1.0]]), {}, "NaN or infinite"),
        (np.array([[5]], np.int8), {}, "signed numbers of 8 bits of shape 1 x 1, grey"),
        (np.array([[5j]]), {}, "complex128 of shape 1 x 1"),
        (np.zeros((2, 2, 2), np.uint8), {"colours": "rgb"}, "uint8 of shape 2 x 2 x 2, rgb"),
        (np.zeros((2, 2), np.uint8), {"alpha": "straight"}, "uint8 of shape 2 x 2, grey"),
        (np.zeros((2, 2, 1, 1), np.uint8), {}, "uint8 of shape 2 x 2 x 1 x 1"),
        (np.zeros((2, 2, 3), np.uint16), {"colours": "ycbcr"}, "uint16 of shape 2 x 2 x 3, ycbcr"),
    ],
)
def test_samples_that_mean_nothing_are_refused(samples, about, why):
    with pytest.raises(UnusableImage) as caught:
        shown(samples, **about)
    assert why in str(caught.value) and "p.tif" in str(caught.value)
