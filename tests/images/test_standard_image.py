"""Tests of reading pictures: grey levels at the standard size."""

import numpy as np
import pytest
from PIL import Image

from flyannot.images.embryo import read_grey
from flyannot.images.geometry import STANDARD_PX
from flyannot.images.unreadable import UnusableImage
from tests.images.picture_files import ENCODINGS, embryo, encoded, luma


@pytest.mark.parametrize("encoding", ["png", "bmp", "tiff", "tiff lzw", "tiff deflate"])
def test_a_picture_of_standard_size_is_its_luma_whatever_the_format_or_the_suffix(encoding, picture):
    grey = read_grey(picture(encoded(embryo(), **ENCODINGS[encoding])))
    assert grey.shape == STANDARD_PX and grey.dtype == np.float32
    assert np.abs(grey - luma(embryo())).max() <= 0.51  # rounded to 8 bits, as by Pillow


def test_other_sizes_fit_inside_undistorted_and_centred(picture):
    for height, width in [(256, 640), (64, 160), (1280, 3200)]:  # the same proportions
        grey = read_grey(picture(Image.fromarray(embryo(height, width)), format="PNG"))
        assert grey.shape == STANDARD_PX
        inside = np.abs(grey - luma(embryo())) < 12
        assert inside.mean() > 0.95  # all but the rim of the body
    square = np.full((400, 400), 255, np.uint8)
    square[100:300, 100:300] = 0
    rows, columns = np.nonzero(read_grey(picture(Image.fromarray(square), format="PNG")) < 128)
    assert np.ptp(rows) == np.ptp(columns) == 63
    assert rows.mean() == 63.5 and columns.mean() == 159.5


def test_mirror_images_are_read_as_mirror_images(picture, rng):
    for size in [(128, 320), (300, 700), (64, 64)]:
        pixels = rng.integers(0, 256, size, dtype=np.uint8)
        there = read_grey(picture(Image.fromarray(pixels), format="PNG"))
        mirrored = read_grey(picture(Image.fromarray(pixels[:, ::-1]), format="PNG"))
        assert np.abs(there - mirrored[:, ::-1]).max() < 1e-3


def test_a_picture_is_turned_as_its_address_says(picture, rng):
    pixels = rng.integers(0, 256, (128, 320), dtype=np.uint8)
    path = picture(Image.fromarray(pixels), format="PNG")
    expected = {"left-right": pixels[:, ::-1], "top-bottom": pixels[::-1], "both": pixels[::-1, ::-1]}
    expected |= {"180": expected["both"]}
    for turned, there in expected.items():
        np.testing.assert_array_equal(read_grey(f"{path}#turned={turned}"), there)
    with pytest.raises(UnusableImage, match='Did you mean "left-right"'):
        read_grey(f"{path}#turned=leftright")


def test_extreme_shapes_are_read(picture, trials):
    trials(4, campaign=4)
    for shape in [(1, 1), (1, 5000), (5000, 1), (3, 2)]:
        grey = read_grey(picture(Image.fromarray(np.full(shape, 7, np.uint8)), format="PNG"))
        assert grey.shape == STANDARD_PX and (grey == 7).all()
