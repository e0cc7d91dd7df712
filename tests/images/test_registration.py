"""Tests of registration: every embryo gets the same frame, and other things are refused."""

from collections import defaultdict
from contextlib import nullcontext

import numpy as np
import pytest
from PIL import Image

from flyannot.base.quality_warnings import format_warnings
from flyannot.dataset.folder import read_images
from flyannot.images import registration
from flyannot.images.embryo import Embryo, read_picture
from flyannot.images.geometry import STANDARD_PX, distance_transform
from flyannot.images.options import ExtractOptions
from flyannot.images.pattern import ellipse_mask, render_patterns
from flyannot.images.quality import EITHER_WAY
from tests.images.picture_files import view

AXIS = ExtractOptions(register="axis")
ORIENT = ExtractOptions(register="axis", orient=True)
FRAME = 160, 64, 160, 64  # centre and half sides of every registered embryo


def egg(x, y, taper=0.15, bulge=0.1):
    """Return whether places are in an egg of half axes 1: blunt on the right and flat at the top."""
    y = y - bulge * (1 - x**2) * 0.5
    return x**2 + (y / (1 + taper * x)) ** 2 <= 1


def scene(size, centre, half_axes, degrees, *, background=215.0, noise=0.0, flip=(1, 1), slope=0.0, rng=None):
    """Draw a dotted egg of given place, size and turn (clockwise) on a plain background."""
    width, height = size
    x, y = places_on_egg((height, width), centre, half_axes, degrees)
    x, y = flip[0] * x, flip[1] * y
    body = 150 + 40 * np.sin(9 * x) * np.cos(5 * y) - 90 * ((x + 0.5) ** 2 + (y - 0.2) ** 2 < 0.03)
    light = background + slope * ((np.arange(width) + 0.5) / width - 0.5)
    return Image.fromarray(grey_levels(np.where(egg(x, y), body, light), noise, rng))


def places_on_egg(shape, centre, half_axes, degrees):
    """Return the place of every pixel along and across an egg, in half axes from its centre."""
    row, column = np.indices(shape) + 0.5
    turn, across, down = np.radians(degrees), column - centre[0], row - centre[1]
    x = (np.cos(turn) * across + np.sin(turn) * down) / half_axes[0]
    return x, (-np.sin(turn) * across + np.cos(turn) * down) / half_axes[1]


def grey_levels(picture, noise, rng):
    """Return a picture as bytes, with noise."""
    picture = picture + (rng.normal(0, noise, picture.shape) if noise else 0)
    return np.rint(np.clip(picture, 0, 255)).astype(np.uint8)


def framed(picture):
    """Return a picture as the frame of its embryo."""
    picture = np.asarray(picture)
    return registration.crop_embryo(picture, STANDARD_PX, registration.find_pose(picture))


def pose_in(picture):
    """Return the pose of the embryo of a picture, without scaling."""
    return registration.pose_from_mask(registration.embryo_mask(np.asarray(picture, float)))


def degrees_of(pose):
    """Return the angle of a pose in degrees."""
    return np.degrees(np.arctan2(pose.direction[1], pose.direction[0]))


def grey_and_words(address, options):
    """Return the grey levels of a view of the picture at an address, and its warnings as text."""
    made = view(address, options)
    return made.grey, format_warnings(made.warnings)


STANDARD = scene((900, 400), (450, 200), (390, 150), 0)


@pytest.mark.parametrize("degrees", [-85, -40, -3, 20, 60, 88])
@pytest.mark.parametrize("scale", [0.8, 1.0, 2.3])
def test_turned_moved_and_scaled_it_comes_to_the_same_frame(degrees, scale, rng):
    half_axes = scale * np.array([160, 62])
    side = int(400 * scale)
    centre = side / 2 + rng.uniform(-0.05, 0.05, 2) * side
    picture = scene((side, side), centre, half_axes, degrees, background=215, noise=1.5, rng=rng)
    found = pose_in(framed(picture))
    np.testing.assert_allclose([*found.centre, *found.half_sides], FRAME, atol=1)
    assert abs(degrees_of(found)) < 0.5
    inside = np.s_[8:-8, 12:-12]
    expected, levels = framed(STANDARD)[inside], framed(picture)[inside]
    assert np.corrcoef(expected.ravel(), levels.ravel())[0, 1] > 0.97


@pytest.mark.parametrize("background", [255.0, 190.0, 40.0])
@pytest.mark.parametrize("slope", [0.0, 24.0])
def test_any_plain_background_will_do(background, slope, rng):
    turned = {"background": background, "slope": slope, "noise": 2.0, "rng": rng}
    found = pose_in(scene((440, 360), (230, 190), (160, 62), 30, **turned))
    straight = pose_in(scene((440, 360), (220, 180), (160, 62), 0))
    np.testing.assert_allclose(found.half_sides, straight.half_sides, rtol=0.02)
    assert degrees_of(found) - degrees_of(straight) == pytest.approx(30, abs=0.7)


@pytest.mark.parametrize(("half_axes", "is_found"), [((66, 26), True), ((59, 23), False)])
def test_an_embryo_covers_at_least_two_hundredths_of_the_picture(half_axes, is_found):
    picture = scene((500, 500), (250, 250), half_axes, 20)  # 2.2 % and 1.7 %
    with nullcontext() if is_found else pytest.raises(registration.NoEmbryo, match="nothing stands out"):
        pose_in(picture)


def test_along_the_axis_left_stays_left_and_up_stays_up():
    for flip in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
        found = framed(scene((640, 480), (320, 240), (200, 78), 25, flip=flip))
        expected = framed(STANDARD)[:: flip[1], :: flip[0]]
        assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.97


def test_the_lean_of_an_embryo_changes_its_sign_in_a_mirror_and_not_upside_down():
    levels = np.asarray(scene((440, 360), (220, 180), (160, 62), 30))
    lean = registration.find_pose(levels).axis_asymmetry
    assert 0.02 < lean < 0.06, "the pointed end is left"
    assert registration.find_pose(levels[:, ::-1]).axis_asymmetry == pytest.approx(-lean, rel=1e-6)
    assert registration.find_pose(levels[::-1]).axis_asymmetry == pytest.approx(lean, rel=1e-6)


def test_the_edge_that_bulges_more_changes_its_sign_upside_down_and_not_in_a_mirror():
    levels = np.asarray(scene((440, 360), (220, 180), (160, 62), 8), float)
    levels[240:, :] = np.minimum(levels[240:, :], levels[232:-8, :])  # the belly hangs down
    bulge = registration.find_pose(levels).lower_bulge
    assert bulge > 0.02
    assert registration.find_pose(levels[:, ::-1]).lower_bulge == pytest.approx(bulge, rel=1e-6)
    assert registration.find_pose(levels[::-1]).lower_bulge == pytest.approx(-bulge, rel=1e-6)
    assert np.isnan(registration.find_pose(levels.T).lower_bulge)


def test_most_lateral_views_upside_down_get_a_warning_and_few_others(shared_data):
    warned = defaultdict(list)
    for image in read_images(shared_data / "flyexpress"):
        side, picture = image.view, read_picture(image.path)
        for lies, rows in (("upright", slice(None)), ("down", slice(None, None, -1))):
            embryo = Embryo(picture[rows])
            warned[side, lies].append(bool(embryo.side_warnings(AXIS, side, image.stage_range)))
            warned["unknown", lies].append(bool(embryo.side_warnings(AXIS, "", image.stage_range)))
            if side in ("dorsal", "ventral"):
                warned["above"].append(warned["unknown", lies][-1])
            assert not embryo.side_warnings(ExtractOptions(), side, image.stage_range)
    share = {key: np.mean(values) for key, values in warned.items()}
    assert share["lateral", "down"] >= 0.7 and share["lateral", "upright"] <= 0.05
    assert share["unknown", "down"] >= 0.2 and share["above"] <= 0.05
    assert not any(share[side, lies] for side in ("dorsal", "ventral") for lies in ("upright", "down"))


@pytest.mark.parametrize("degrees", [0, -35])
def test_oriented_an_embryo_and_its_mirror_image_are_alike_and_the_pointed_end_is_left(picture, degrees):
    right_way = scene((440, 360), (220, 180), (160, 62), degrees)
    mirrored = right_way.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    grey, warnings = grey_and_words(picture(right_way, format="PNG"), ORIENT)
    plain, _ = grey_and_words(picture(right_way, format="PNG"), AXIS)
    np.testing.assert_array_equal(grey, plain)
    of_mirrored, said = grey_and_words(picture(mirrored, format="PNG"), ORIENT)
    assert np.quantile(abs(of_mirrored - grey), 0.998) <= 0.5  # OpenCV 4 interpolates in 32 steps
    assert (warnings, said) == ("", "")
    as_it_lies, said = grey_and_words(picture(mirrored, format="PNG"), AXIS)
    np.testing.assert_array_equal(as_it_lies[:, ::-1], of_mirrored)
    assert said == "posterior left?"


def test_a_drawn_pattern_is_never_mirrored(tmp_path, rng):
    (drawn,) = render_patterns(rng.random((1, ellipse_mask().sum())), ellipse_mask())
    Image.fromarray(drawn).save(tmp_path / "drawn.png")
    grey, warnings = grey_and_words(tmp_path / "drawn.png", ORIENT)
    plain, said = grey_and_words(tmp_path / "drawn.png", AXIS)
    assert (warnings, said) == (EITHER_WAY, "")
    np.testing.assert_array_equal(grey, plain)


def test_which_end_is_anterior_is_asked_of_registered_embryos(flyannot, tmp_path):
    for option, words in (("orient", "which end is anterior"), ("multiple-embryos", "multiple embryos")):
        said = flyannot(f"extract E -o X --{option}", E=tmp_path, X=tmp_path / "x.h5", code=2)
        assert said.err.startswith(f"Error: {words}") and "Fix: add --register axis" in said.err
    for options in (AXIS, ORIENT):
        assert options.to_header()["orient"] == options.orient
        assert ExtractOptions.from_header(options.to_header()) == options


def test_of_the_photographs_of_flyexpress_nearly_all_that_are_told_are_told_right(shared_data, picture):
    is_right = []
    for path in sorted((shared_data / "flyexpress" / "images").iterdir())[::2]:
        with Image.open(path) as published:
            mirrored = published.convert("RGB").transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        grey, warnings = grey_and_words(picture(mirrored, format="BMP"), ORIENT)
        if EITHER_WAY not in warnings:
            wanted = grey_and_words(path, AXIS)[0]
            away, mirrored_away = (np.abs(one - wanted).mean() for one in (grey, grey[:, ::-1]))
            is_right.append(away < mirrored_away)
    assert len(is_right) > 70 and np.mean(is_right) >= 0.95


def no_embryos():
    """Return pictures without an embryo by name."""
    rng = np.random.default_rng(5)
    blank = np.full((300, 400), 230, np.uint8)
    noise = rng.integers(0, 256, blank.shape).astype(np.uint8)
    names = ("round", "two that touch", "two apart", "bar", "halves", "dot", "box", "moon", "cut")
    drawn = {name: blank.copy() for name in names}
    rows, columns = np.indices(blank.shape)

    def draw(name, row, column, half_length, flatness=(9, 1)):
        down, across = flatness[0] * (rows - row) ** 2, flatness[1] * (columns - column) ** 2
        drawn[name][down + across < half_length**2] = 100

    draw("round", 150, 200, 90, flatness=(1, 1))
    draw("two that touch", 100, 130, 110)
    draw("two that touch", 160, 240, 110, flatness=(1, 9))
    draw("two apart", 80, 200, 150)
    draw("two apart", 220, 200, 150)
    drawn["bar"][140:160, 20:380] = 100
    drawn["box"][90:210, 50:350] = 100
    draw("moon", 150, 200, 170, flatness=(5, 1))
    drawn["moon"][:150] = 230
    draw("cut", 0, 0, 380, flatness=(6, 1))
    drawn["halves"][:, :200] = 0
    drawn["dot"][3, 3] = 0
    narrow = {"pixel": blank[:1, :1], "line": noise[:1], "thin": noise[:, :2]}
    return drawn | narrow | {"blank": blank, "black": 0 * blank, "noise": noise}


@pytest.mark.parametrize("name", no_embryos())
def test_what_is_no_embryo_is_refused(name):
    with pytest.raises(registration.NoEmbryo, match="no embryo found: "):
        framed(Image.fromarray(no_embryos()[name]))


@pytest.mark.parametrize("dark", [20, 80])
def test_an_embryo_is_found_where_the_corners_of_the_picture_are_dark(dark):
    even = np.asarray(scene((440, 360), (220, 180), (160, 62), 30), float)
    row, column = np.indices(even.shape)
    corners = ((row - 180) ** 2 + (column - 220) ** 2) / (180**2 + 220**2)
    found = pose_in(np.clip(even - dark * corners, 0, 255))
    np.testing.assert_allclose(found.centre, pose_in(even).centre, atol=1)
    np.testing.assert_allclose(found.half_sides, pose_in(even).half_sides, rtol=0.02)


def test_a_pale_middle_and_gaps_in_its_outline_do_not_change_where_an_embryo_lies():
    picture = scene((440, 360), (220, 180), (160, 62), 20)
    whole, levels = pose_in(picture), np.asarray(picture).copy()
    y, x = np.indices(levels.shape)
    levels[((x - 220) / 70) ** 2 + ((y - 180) / 25) ** 2 < 1] = 215  # as the background
    levels[:, 218:221] = 215
    found = pose_in(Image.fromarray(levels))
    np.testing.assert_allclose(found.centre, whole.centre, atol=1)
    np.testing.assert_allclose(found.half_sides, whole.half_sides, atol=1.5)


def test_an_embryo_that_reaches_over_a_border_does_not_bend_the_background():
    inside = pose_in(scene((440, 360), (220, 180), (160, 62), 0, slope=20))
    touching = pose_in(scene((440, 360), (162, 60), (160, 62), 0, slope=20))
    np.testing.assert_allclose(touching.half_sides, inside.half_sides, rtol=0.03)


@pytest.mark.parametrize("part, is_alone", [(0.4, True), (0.6, False)])
def test_another_thing_is_another_embryo_from_half_the_size_on(part, is_alone):
    levels = np.asarray(scene((500, 400), (250, 110), (160, 62), 0))
    alone = pose_in(levels)
    other = np.asarray(scene((500, 400), (250, 300), (160 * part**0.5, 62 * part**0.5), 0))
    levels = np.minimum(levels, other)
    if is_alone:
        levels[20:60, 440:490] = 90  # dirt, and a neighbour that looks in
        levels[350:, 10:60] = 150
        np.testing.assert_allclose(pose_in(levels).centre, alone.centre, atol=0.01)
    else:
        with pytest.raises(registration.NoEmbryo, match="several"):
            pose_in(levels)


@pytest.mark.parametrize("dot_px", [1, 2, 3])
def test_a_picture_much_larger_than_the_frame_is_averaged_not_sampled(dot_px):
    """Draw dots of a few pixels, black and white in turn: their average is grey."""
    size, centre, half_axes = (2400, 1200), (1200, 600), (1000, 390)
    levels = np.asarray(scene(size, centre, half_axes, 3, background=255)).copy()
    y, x = np.indices(levels.shape)
    levels[levels < 250] = (255 * ((x // dot_px + y // dot_px) % 2))[levels < 250]
    middle = framed(levels)[40:-40, 80:-80]
    assert np.abs(middle - 127.5).max() < 12


def test_what_the_frame_shows_beyond_the_picture_is_background():
    """Check the corners of the box around an embryo that lies across a square picture."""
    levels = framed(scene((300, 300), (150, 150), (190, 60), 45, background=207))
    for corner in (levels[:4, :4], levels[:4, -4:], levels[-4:, :4], levels[-4:, -4:]):
        np.testing.assert_allclose(corner, 207)


def test_depths_are_exact_wherever_a_mask_lies_in_memory(rng):
    """Compare with the roots of whole numbers, rounded once.

    With Intel's primitives the last bit of OpenCV's result would depend on the address.
    """
    row, column = np.indices((60, 90))
    mask = ((row - 30) / 28) ** 2 + ((column - 45) / 42) ** 2 + 0.05 * rng.normal(size=(60, 90)) < 1
    outside = np.argwhere(~mask)
    twin = [((outside - place) ** 2).sum(axis=1).min() for place in np.argwhere(np.ones_like(mask))]
    twin = np.sqrt(np.array(twin, np.float32)).reshape(mask.shape)
    in_the_way = []
    for n_bytes in range(1, 4000, 100):
        in_the_way.append(np.empty(n_bytes, np.uint8))
        np.testing.assert_array_equal(distance_transform(mask), twin)
