"""Tests of the one decoder: a picture is the same picture in whatever file it lies, or is refused by name."""

import io
from contextlib import suppress

import imagecodecs
import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from flyannot.images import normalise
from flyannot.images.embryo import read_picture
from flyannot.images.unreadable import UnusableImage
from tests.images import picture_product as product
from tests.images.picture_files import embryo, encoded

PAIRS = [(container, colour) for container, kind in product.CONTAINERS.items() for colour in kind.colours]
MIXED = [colour for colour in product.COLOURS if "alpha" in colour or colour in ("rgba", "cmyk")]


def largest_difference(case):
    """Return how far from the shown picture a right one may be, in grey levels: whole numbers are rounded."""
    is_exact = case.bits in product.UP_TO_BYTE and case.colour not in MIXED
    if is_exact and not product.CONTAINERS[case.container].is_lossy:
        return 0.51
    return 1.01


def read_difference(path, case, planes):
    """Return the largest difference between what is read and what a viewer shows, in grey levels.

    Raises
    ------
    UnusableImage
        If the picture is refused.
    """
    expected = product.shown_picture(case)
    picture = read_picture("#".join([str(path), *planes]))
    if picture.ndim < expected.ndim:
        picture = np.stack([picture] * 3, axis=2)
    assert picture.shape == expected.shape, case
    return np.abs(picture - expected).max()


def check_case(case, folder):
    """Check that the picture of a Case is read as a viewer shows it."""
    path = folder / "picture"
    planes = product.write_case(path, case)
    difference = read_difference(path, case, planes)
    assert difference <= largest_difference(case), (case, difference)


def choose_cases(container, colour):
    """Return a Case for each number of bits, and at least eight: orientations and layouts take turns."""
    by_bits = {}
    for case in product.possible_cases(container, colour):
        by_bits.setdefault(case.bits, []).append(case)
    bits = list(by_bits)
    n_layouts = len(by_bits[bits[0]])
    turns = range(max(len(bits), min(8, n_layouts)))
    return [by_bits[bits[k % len(bits)]][11 * k % n_layouts] for k in turns]


@pytest.mark.parametrize(("container", "colour"), PAIRS)
def test_a_picture_is_the_same_in_every_file_that_can_hold_it(container, colour, tmp_path, monkeypatch):
    """Every second one is taken in strips, as a large one is."""
    for number, case in enumerate(choose_cases(container, colour)):
        monkeypatch.setattr(normalise, "STRIP_PIXELS", (2**20, 100)[number % 2])
        check_case(case, tmp_path)


@given(st.data(), st.sampled_from(PAIRS), st.integers(1, 1_000))
@settings(max_examples=200)
def test_any_picture_in_any_layout_is_the_same(tmp_path_factory, data, pair, seed):
    case = data.draw(st.sampled_from(list(product.possible_cases(*pair))))._replace(seed=seed)
    check_case(case, tmp_path_factory.mktemp("product"))


@pytest.mark.parametrize(("container", "colour"), PAIRS)
def test_a_file_is_read_if_it_is_whole_and_refused_at_each_tenth(container, colour, tmp_path):
    case = choose_cases(container, colour)[0]
    path = tmp_path / "picture"
    planes = product.write_case(path, case)
    whole = path.read_bytes()
    for tail in (0, 1, 3, 4096):
        path.write_bytes(whole + bytes(tail))
        assert read_difference(path, case, planes) <= largest_difference(case), (
            "a tail is no part of a picture"
        )
    for tenth in range(10):
        path.write_bytes(whole[: tenth * len(whole) // 10])
        # An MPO may lack its preview.
        with suppress(UnusableImage) if container == "mpo" else pytest.raises(UnusableImage):
            assert read_difference(path, case, planes) <= largest_difference(case), tenth


GREY, COLOUR = embryo()[..., 0], embryo()
LAID_ON_WHITE = 255 - (255 - COLOUR) * (GREY[..., None] / 255)


def tiff_bytes(*pages, **options):
    """Return the bytes of a TIFF of pages that differ, each (pixels, more options)."""
    buffer = io.BytesIO()
    with tifffile.TiffWriter(buffer) as writer:
        for pixels, more in pages:
            writer.write(pixels, metadata=None, **options, **more)
    return buffer.getvalue()


def palette_png(alpha):
    """Return the bytes of a PNG whose entry k of the palette is the grey level k, each with one alpha."""
    image = Image.fromarray(GREY)
    image.putpalette(np.repeat(np.arange(256, dtype=np.uint8), 3).tobytes())
    return encoded(image, "PNG", transparency=bytes([alpha] * 256))


BLACK_INK = Image.fromarray(np.dstack([np.zeros((*GREY.shape, 3), np.uint8), 255 - GREY]), "CMYK")
SMALL = GREY[::4, ::4].copy()
RARE_FILES = {
    "a thumbnail before the picture": (tiff_bytes((SMALL, {"subfiletype": 1}), (GREY, {})), GREY, 0.01),
    "a palette of bytes": (
        tiff_bytes((255 - GREY, {}), photometric="palette", colormap=np.tile(np.arange(256)[::-1], (3, 1))),
        GREY,
        0.01,
    ),
    **{
        f"orientation {number}": (tiff_bytes((GREY, {}), extratags=[(274, "H", 1, number, True)]), GREY, 0.01)
        for number in (0, 9, 65535)
    },
    "a jpeg of red, green and blue": (encoded(COLOUR, "JPEG", quality=100, keep_rgb=True), COLOUR, 3),
    "a palette with half an alpha": (palette_png(128), 255 - (255 - GREY) * (128 / 255), 1.01),
    "no opaque pixel": (encoded(np.dstack([COLOUR, 0 * GREY]), "PNG"), COLOUR, 0.01),
    "an unknown sample before alpha": (
        tiff_bytes(
            (np.dstack([COLOUR, 255 - GREY, GREY]), {}),
            photometric="rgb",
            planarconfig="contig",
            extrasamples=["unspecified", "unassalpha"],
        ),
        LAID_ON_WHITE,
        1.01,
    ),
    "black ink as Adobe stores it": (encoded(BLACK_INK, "JPEG", quality=100), GREY, 3),
    "black ink without Adobe's mark": (
        imagecodecs.jpeg8_encode(
            np.asarray(BLACK_INK), level=100, colorspace="cmyk", outcolorspace="cmyk"
        ).replace(b"\xff\xee\0\x0eAdobe", b"\xff\xef\0\x0eOther"),
        GREY,
        3,
    ),
    **{
        name: (
            tiff_bytes(((GREY.astype(float) * scale).astype(dtype), {}), photometric="minisblack"),
            GREY,
            1.01,
        )
        for name, dtype, scale in (
            ("float16", np.float16, 1 / 255),
            ("uint32", np.uint32, (2**32 - 1) / 255),
            ("int32 of 16 bits", np.int32, 257),
            ("int16 of 12 bits", np.int16, 4095 / 255),
        )
    },
}


@pytest.mark.parametrize("kind", RARE_FILES)
def test_rare_files_are_read_as_viewers_show_them(kind, picture):
    content, expected, tolerance = RARE_FILES[kind]
    shown = read_picture(picture(content))
    assert np.abs(np.atleast_3d(shown).astype(float) - np.atleast_3d(expected)).max() <= tolerance
