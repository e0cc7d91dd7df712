"""Tests that a picture file is opened once, an embryo is searched for once, and its picture is stored."""

import builtins
import gc
import hashlib
import itertools
import weakref
from collections import Counter

import numpy as np
import pytest
import tifffile
from PIL import Image

from flyannot.images import embryo
from flyannot.images.embryo import Embryo, open_picture, read_picture
from flyannot.images.grey_levels import to_luma
from flyannot.images.options import ExtractOptions
from flyannot.images.registration import find_outline
from flyannot.images.shown import decode_jpeg, draw_shown
from tests.images.test_photograph import EGGS, photograph
from tests.images.test_quality import synthetic

REGISTERED = {"register": "axis"}
OPTIONS = [
    ExtractOptions(channel=channel, **more)
    for channel, more in itertools.product(
        ("grey", "stain", "pattern", "blue"), ({}, REGISTERED, REGISTERED | {"orient": True})
    )
]


@pytest.fixture
def calls(monkeypatch):
    """Count the openings of files, the decoded planes, and the searches for embryos, by name."""
    counts = Counter()

    def count(name, place):
        function = getattr(builtins if name == "open" else embryo, place)

        def counted(*arguments, **options):
            counts[name] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(builtins if name == "open" else embryo, place, counted)

    count("open", "open")
    count("decode", "decode_plane")
    count("search", "find_embryos")
    count("pose", "find_pose")
    return counts


def test_a_file_is_opened_once_and_each_plane_decoded_once_for_all_its_embryos(tmp_path, calls):
    path = tmp_path / "stack.tif"
    stack = np.stack([photograph(EGGS), photograph(EGGS[:1])])
    tifffile.imwrite(path, stack, metadata={"axes": "ZYX"})
    content = path.read_bytes()
    calls.clear()
    addresses = [f"{path}#z=1#{number}" for number in range(1, 5)]
    with open_picture(path) as opened:
        digest = opened.digest
        assert len(opened.find_embryos(f"{path}#z=1")) == len(EGGS)
        pictures = [opened.read_picture(address) for address in addresses]
        second = opened.read_picture(path, ("z=2",))
    assert calls == {"open": 1, "decode": 2, "search": 1}
    assert digest == hashlib.sha256(content).hexdigest()
    np.testing.assert_array_equal(second, stack[1])
    for address, picture in zip(addresses, pictures):
        np.testing.assert_array_equal(picture, read_picture(address))


def test_what_was_decoded_goes_with_the_file(tmp_path):
    Image.fromarray(photograph(EGGS)).save(tmp_path / "a.png")
    gc.disable()
    try:
        with open_picture(tmp_path / "a.png") as opened:
            opened.find_embryos(tmp_path / "a.png")
        file = weakref.ref(opened)
        del opened
        assert file() is None, "pictures are too large to wait for the collector"
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "picture",
    [synthetic(1), synthetic(1)[:, ::-1], synthetic(2)[..., 0], np.full((60, 90, 3), 255, np.uint8)],
    ids=["colours", "mirrored", "grey", "blank"],
)
def test_one_search_for_an_embryo_gives_every_view_what_it_gets_alone(picture, calls):
    together = Embryo(picture)
    together.view(OPTIONS[0])
    assert calls["pose"] == 0, "the whole picture is scaled"
    views = [together.view(options) for options in OPTIONS]
    assert np.isnan(together.unevenness) == (picture.ndim == 2 or picture.min() == 255)
    assert calls["pose"] == 1
    for options, view in zip(OPTIONS, views):
        np.testing.assert_equal(view, Embryo(picture).view(options))


@pytest.mark.parametrize("picture", [synthetic(1), synthetic(1)[..., 0]], ids=["colours", "grey"])
def test_the_stored_picture_is_the_one_that_was_seen(picture):
    view = Embryo(picture).view(ExtractOptions(register="axis"))
    stored = draw_shown(view)
    shown = decode_jpeg(stored.jpeg)
    assert shown.shape == view.shown.shape
    assert np.abs(shown.astype(float) - view.shown).mean() < 3
    levels = to_luma(view.shown) if picture.ndim == 3 else view.shown
    assert (stored.outline == find_outline(levels)).mean() > 0.999, "shrunk before or after it is grey"
    assert 0.1 < stored.outline.mean() < 0.9
    assert not stored.maps
