"""Tests of photographs with several embryos: each is described as if it had been alone."""

import cv2
import numpy as np
import pytest
from PIL import Image

from flyannot.files.hdf5.reading import open_stored_file
from flyannot.images.embryo import read_picture
from flyannot.images.geometry import border_values
from flyannot.images.grey_levels import LUMA
from flyannot.images.photograph import cut_out_embryo, find_embryos
from flyannot.images.registration import embryo_mask
from tests.images.test_registration import egg, grey_levels, places_on_egg
from tests.small_embryos import rows_of_csv

PHOTO_PX = 1200, 1600  # height, width
_GAP_PX, _PAPER = 13, np.array([225.0, 222.0, 215.0])


def cut_embryo(path):
    """Return the colours of a picture with 20 px of background around it, and the mask of its embryo."""
    colours = read_picture(path)
    paper = np.median(border_values(colours), axis=0).tolist()
    colours = cv2.copyMakeBorder(colours, 20, 20, 20, 20, cv2.BORDER_CONSTANT, value=paper).astype(np.float32)
    return colours, embryo_mask(colours @ LUMA)


def photograph_of(embryos, n, rng):
    """Return a photograph with n of the embryos, apart and whole, and the mask of each.

    They are turned by any angle up to 90 degrees, and scaled by 1 to 1.6, alike to 8%.  Background, noise and
    a slope of light are added.
    """
    slope = 12 * (np.arange(PHOTO_PX[1])[None, :, None] / PHOTO_PX[1] - 0.5)
    photo = _PAPER + rng.normal(0, 3, 3) + rng.normal(0, 3, (*PHOTO_PX, 1)) + slope
    masks, taken, zoom = [], np.zeros(PHOTO_PX, np.uint8), rng.uniform(1, 1.6)
    while len(masks) < n:
        colours, mask = embryos[rng.integers(len(embryos))]
        middle, scale = np.array(colours.shape[1::-1]) / 2, zoom * rng.uniform(0.92, 1.08)
        matrix = cv2.getRotationMatrix2D(tuple(middle - 0.5), rng.uniform(-90, 90), scale)
        matrix[:, 2] += rng.uniform(0, PHOTO_PX[::-1]) - middle
        soft = cv2.warpAffine(mask.astype(np.float32), matrix, PHOTO_PX[::-1])
        where = (soft > 0.5).astype(np.uint8)
        near = cv2.dilate(where, np.ones((2 * _GAP_PX, 2 * _GAP_PX), np.uint8))
        if where.sum() < 0.995 * mask.sum() * scale**2 or border_values(near).any() or (near & taken).any():
            continue
        alpha = cv2.GaussianBlur(soft, (0, 0), 1.0)[..., None]
        turned = cv2.warpAffine(colours, matrix, PHOTO_PX[::-1], flags=cv2.INTER_CUBIC)
        photo, taken = photo * (1 - alpha) + alpha * turned, taken | where
        masks.append(where > 0)
    return np.clip(np.rint(photo), 0, 255).astype(np.uint8), masks


SIZE = 700, 900  # height, width
EGGS = (  # centre (x, y), half axes, degrees clockwise, in the order in which one reads
    ((220, 180), (130, 54), 20),
    ((600, 200), (140, 56), -70),
    ((250, 520), (125, 52), -35),
    ((690, 530), (135, 55), 4),
)


def photograph(eggs, noise=0.0, seed=1):
    """Draw dotted eggs on a plain background, each with dots of its own."""
    rng = np.random.default_rng(seed)
    picture = np.full(SIZE, 215.0)
    for number, place in enumerate(eggs):
        u, v = places_on_egg(SIZE, *place)
        body = 140 + 40 * np.sin((7 + number) * u) * np.cos(5 * v)
        picture = np.where(egg(u, v), body, picture)
    return grey_levels(picture, noise, rng)


def data_set(folder, pictures):
    """Write a data set of pictures by their names, all of one gene."""
    folder.mkdir()
    for name, pixels in pictures.items():
        Image.fromarray(pixels).save(folder / name)
    lines = "".join(f"{name},eve,4-6\n" for name in pictures)
    (folder / "images.csv").write_text(f"image,gene,stage_range\n{lines}")
    return folder


@pytest.mark.parametrize("noise", [0.0, 3.0])
@pytest.mark.parametrize("times", [1, 2])
def test_every_embryo_is_found_where_it_lies(noise, times):
    picture = photograph(EGGS, noise).repeat(times, 0).repeat(times, 1)
    found = find_embryos(picture)
    assert [one.why_not for one in found] == [""] * len(EGGS)
    for one, (centre, half_axes, degrees) in zip(found, EGGS):
        assert np.hypot(*(np.array(one.place[4:6]) - np.array(centre) * times)) < 4 * times
        np.testing.assert_allclose(one.place[6:8], 2 * times * np.array(half_axes), rtol=0.05)
        assert abs(one.place.angle - degrees) < 2
        box = [one.place.left, one.place.top, *one.place[:2]]
        assert min(box) >= 0 and one.place.left + one.place.width <= SIZE[1] * times


def test_each_is_described_as_the_picture_that_was_cut_there(flyannot, tmp_path):
    photo, out = photograph(EGGS, 2.0), tmp_path / "many.h5"
    many = data_set(tmp_path / "many", {"photo.png": photo})
    said = flyannot("extract D -o O --register axis --multiple-embryos --stride-px 16", D=many, O=out)
    assert said.code == 0 and "4-6: 4 embryos on 1 photograph" in said.err, said.err
    rows = rows_of_csv(tmp_path / "many-embryos.csv")
    assert [row["image"] for row in rows] == [f"photo.png#{k}" for k in (1, 2, 3, 4)]
    cut = {}
    for k, row in enumerate(rows, 1):
        left, top, width, height = (int(row[name]) for name in ("left", "top", "width", "height"))
        cut[f"{k}.png"] = photo[top : top + height, left : left + width]
    single, alone = data_set(tmp_path / "single", cut), tmp_path / "single.h5"
    assert flyannot("extract D -o O --register axis --stride-px 16", D=single, O=alone).code == 0
    one = open_stored_file(out)
    other = open_stored_file(alone)
    assert one.read_array("4-6", "group") == ["eve"] * 4
    for name in ("descriptors", "centres_px", "first", "content"):
        np.testing.assert_array_equal(one.read_array("4-6", name), other.read_array("4-6", name))


def test_a_neighbour_in_the_box_is_painted_over():
    near = (EGGS[0], ((330, 330), (130, 54), 20))
    (beside, *_), (alone,) = find_embryos(photograph(near)), find_embryos(photograph(near[:1]))
    found = find_embryos(photograph(near))
    np.testing.assert_allclose(beside.place, alone.place, atol=1)
    assert photograph(near)[beside.place.top :][: beside.place.height].min() < 200
    cut = cut_out_embryo(photograph(near), found[0], found).astype(float)
    expected = cut_out_embryo(photograph(near[:1]), alone, [alone]).astype(float)
    height, width = np.minimum(cut.shape, expected.shape)
    assert np.abs(cut[:height, :width] - expected[:height, :width]).max() < 3


CUT = ((890, 350), (130, 54), 10)
TOUCHING = (((220, 560), (130, 54), 0), ((240, 455), (130, 54), 8))


def test_what_is_cut_by_the_border_or_touches_another_or_is_not_there_is_named(flyannot, tmp_path):
    photos = {"photo.png": photograph([*EGGS[:2], CUT, *TOUCHING]), "blank.png": photograph([])}
    folder = data_set(tmp_path / "photos", photos)
    said = flyannot("extract D -o O --register axis --multiple-embryos", D=folder, O=tmp_path / "d.h5")
    assert said.code == 3, said.err
    stored = open_stored_file(tmp_path / "d.h5")
    assert stored.read_array("4-6", "image") == ["photo.png#1", "photo.png#2"]
    rows = rows_of_csv(tmp_path / "d-pictures.csv")
    blank, cut, touching = (row for row in rows if row["fate"] == "refused")
    assert [row["image"] for row in (blank, cut, touching)] == ["blank.png", "photo.png#3", "photo.png#4"]
    assert "nothing stands out from the background" in blank["reason"]
    assert "cut by the border of the photograph, around x=8" in cut["reason"]
    assert "touch each other" in touching["reason"]
    assert {row["gene"] for row in (cut, touching)} == {"eve"}


def test_real_embryos_are_found_and_cut_out_whole(shared_data, trials, rng, record_property):
    """Find at least 95%; the others are named, and none is lost or merged with another."""
    files = sorted((shared_data / "flyexpress" / "images").glob("*.bmp"))
    embryos = [cut_embryo(files[k]) for k in rng.choice(len(files), 40, replace=False)]
    n_all, n_whole, off_px = 0, 0, []
    for k in range(trials(5, campaign=40)):
        picture, masks = photograph_of(embryos, 2 + k % 5, rng)
        found = find_embryos(picture)
        for mask in masks:
            (top, left), (bottom, right) = (f(np.argwhere(mask), axis=0) for f in (np.min, np.max))
            boxes = [one for one in found if _holds(one.place, left, top, right, bottom)]
            assert boxes, "an embryo was lost"
            whole = [one for one in boxes if not one.why_not]
            middle = (np.array([left + right, top + bottom]) + 1) / 2
            off_px += [np.hypot(*(np.array(one.place[4:6]) - middle)) for one in whole]
            n_all, n_whole = n_all + 1, n_whole + bool(whole)
        assert len(found) <= len(masks)
    record_property("found", f"{n_whole} of {n_all}, at most {max(off_px):.1f} px off")
    assert n_whole >= 0.95 * n_all and max(off_px) < 25


def _holds(place, left, top, right, bottom):
    """Return whether a place contains the box of a mask."""
    inside = place.left <= left and place.top <= top
    return inside and right < place.left + place.width and bottom < place.top + place.height


def test_an_embryo_has_an_address(tmp_path):
    Image.fromarray(photograph(EGGS)).save(tmp_path / "photo.png")
    found = find_embryos(photograph(EGGS))
    second = read_picture(f"{tmp_path / 'photo.png'}#2")
    np.testing.assert_array_equal(second, cut_out_embryo(photograph(EGGS), found[1], found))
    turned = read_picture(f"{tmp_path / 'photo.png'}#turned=left-right#2")
    np.testing.assert_array_equal(turned, second[:, ::-1])
    with pytest.raises(Exception, match="4 things stand out"):
        read_picture(f"{tmp_path / 'photo.png'}#5")
