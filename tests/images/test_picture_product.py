"""Tests of the one decoder: a picture is the same picture in whatever file it lies, or is refused by name."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyannot.images.image_file import decode_image
from flyannot.images.unreadable import UnusableImage
from tests.images.picture_files import luma
from tests.images.picture_product import (
    COLOURS,
    CONTAINERS,
    UP_TO_BYTE,
    possible_cases,
    shown_picture,
    write_case,
)

PAIRS = [(container, colour) for container, kind in CONTAINERS.items() for colour in kind.colours]
MIXED = [colour for colour in COLOURS if "alpha" in colour or colour in ("rgba", "cmyk")]


def largest_difference(case):
    """Return how far from the shown picture a right one may be, in grey levels: whole numbers are rounded."""
    if CONTAINERS[case.container].is_lossy:
        return 1.01 if case.colour == "grey" else 3.01  # a JPEG's colours are rounded more than once
    if case.bits in UP_TO_BYTE and case.colour not in MIXED:
        return 0.51
    return 1.51 if case.bits == "5" else 1.01


def check_case(case, folder):
    """Compare the picture that is read with what a viewer shows; return why it is refused, or ""."""
    path = folder / "picture"
    planes = write_case(path, case)
    shown = shown_picture(case)
    for mode, expected in (("RGB", shown), ("L", luma(shown))):
        try:
            picture = decode_image(path, mode, planes)
        except UnusableImage as error:
            return error.reason
        if mode == "RGB" and picture.ndim == 2:
            picture = np.stack([picture] * 3, axis=2)
        assert picture.shape == expected.shape, case
        worst = np.abs(picture - expected).max()
        assert worst <= largest_difference(case), (case, mode, worst)
    return ""


def choose_cases(container, colour):
    """Return a Case for each number of bits, and at least eight: orientations and layouts take turns."""
    by_bits = {}
    for case in possible_cases(container, colour):
        by_bits.setdefault(case.bits, []).append(case)
    bits = list(by_bits)
    n_layouts = len(by_bits[bits[0]])
    turns = range(max(len(bits), min(8, n_layouts)))
    return [by_bits[bits[k % len(bits)]][11 * k % n_layouts] for k in turns]


@pytest.mark.parametrize(("container", "colour"), PAIRS)
def test_a_picture_is_the_same_in_every_file_that_can_hold_it(container, colour, tmp_path):
    for case in choose_cases(container, colour):
        assert not check_case(case, tmp_path), case


@given(st.data(), st.sampled_from(PAIRS), st.integers(1, 1_000))
@settings(max_examples=200)
def test_any_picture_in_any_layout_is_the_same(tmp_path_factory, data, pair, seed):
    case = data.draw(st.sampled_from(list(possible_cases(*pair))))._replace(seed=seed)
    assert not check_case(case, tmp_path_factory.mktemp("product")), case
