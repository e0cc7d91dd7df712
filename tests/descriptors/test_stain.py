"""The stain apart from the embryo: what is kept, what is not, and that every step sees the same."""

import numpy as np
import pytest
from PIL import Image

from flyannot.descriptors.images.geometry import STANDARD_PX
from flyannot.descriptors.images.grey_levels import STAIN, TISSUE, stain_as_grey
from flyannot.descriptors.images.picture import read_embryo, read_grey
from flyannot.descriptors.options import ExtractOptions
from tests.descriptors.picture_files import luma

BLUE, BROWN = (60, 80, 190), (128, 75, 40)
LEFT, RIGHT = np.s_[40:90, 40:90], np.s_[40:90, 200:250]
STAINED = ExtractOptions(stride_px=16, channel="stain")


def read_stain(path):
    return read_embryo(path, STAINED)[0]


def two_patches():
    pixels = np.full((*STANDARD_PX, 3), 255, np.uint8)
    pixels[LEFT], pixels[RIGHT] = BLUE, BROWN
    return pixels


def test_blue_stays_and_brown_of_the_same_luma_goes(picture):
    path = picture(Image.fromarray(two_patches()), format="PNG")
    grey, stain = read_grey(path), read_stain(path)
    assert abs(grey[LEFT].mean() - grey[RIGHT].mean()) <= 1
    assert stain[LEFT].max() < 110 and stain[RIGHT].min() > 254
    assert stain[0, 0] == 255 and stain.dtype == np.float32


def test_what_is_mixed_in_the_two_colours_comes_apart_again(rng):
    """Densities add up: the stain's share does not depend on how much tissue lies over it."""
    stain, tissue = (np.array(one) / np.linalg.norm(one) for one in (STAIN, TISSUE))
    amount = np.linspace(0, 1.2, 40)[:, None]
    over = rng.uniform(0, 0.8, (40, 7))
    rgb = 255 * 10.0 ** -(amount[..., None] * stain + over[..., None] * tissue)
    alone = luma(255 * 10.0 ** -(amount * stain))
    assert np.abs(stain_as_grey(rgb) - alone[:, None]).max() < 0.05


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


def test_every_kind_of_colour_file_gives_the_same_stain(picture, tiff):
    pixels = two_patches()
    expected = read_stain(picture(Image.fromarray(pixels), format="PNG"))
    opaque = np.dstack([pixels, np.full(STANDARD_PX, 255, np.uint8)])
    for write, content, options in (
        (picture, Image.fromarray(opaque), {"format": "PNG"}),
        (picture, Image.fromarray(pixels).quantize(8), {"format": "GIF"}),
        (tiff, pixels.astype(np.uint16) * 257, {"photometric": "rgb"}),
        (tiff, pixels / 255, {"photometric": "rgb"}),
    ):
        path = write(content, **options)
        assert np.abs(read_stain(path) - expected).max() < 0.01
