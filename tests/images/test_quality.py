"""Tests of the warnings about pictures: each fault has its warning, and embryos have none."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import gaussian_filter

from flyannot.base.fates import CROP, SkippedImage
from flyannot.base.quality_warnings import QualityWarning, format_warnings
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.dataset.folder import read_images
from flyannot.dataset.synthetic.generate import draw_group, render_group_image
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.images.embryo import Embryo, read_grey, read_picture
from flyannot.images.geometry import STANDARD_PX
from flyannot.images.options import ExtractOptions
from flyannot.images.quality import NOT_REGISTERED, SMOOTH, find_refusal, picture_warnings, standard_warnings
from flyannot.terms.unlikeness import UNLIKE_WORDS
from tests.images.picture_files import embryo
from tests.small_embryos import rows_of_csv


def synthetic(number=0, stage_range="4-6"):
    """Return a synthetic embryo, uint8 (128, 320, 3)."""
    return render_group_image(draw_group(f"syn{number}", stage_range, 7, 1), 0, 7)[0]


def words_about(picture):
    """Return the warnings about a picture as text."""
    return format_warnings(picture_warnings(picture))


def photograph(embryos, places, size=(1500, 2000)):
    """Put embryos on one grey photograph, lit from the left."""
    light = np.linspace(215, 185, size[1])[None, :, None] / 255
    picture = np.full((*size, 3), 255.0)
    for one, (row, column) in zip(embryos, places):
        picture[row : row + one.shape[0], column : column + one.shape[1]] = one
    return np.rint(picture * light).astype(np.uint8)


def test_poor_pictures_get_a_warning_and_embryos_none(picture, rng, trials):
    trials(7, campaign=7)

    def warnings(pixels):
        grey = read_grey(picture(Image.fromarray(pixels.astype(np.uint8)), format="PNG"))
        assert np.isfinite(grey).all()
        return tuple(map(str, standard_warnings(grey)))

    y, x = np.mgrid[0:240, 0:360]
    assert warnings(embryo()) == ()
    assert warnings(np.full((50, 70), 255)) == ("blank",)
    assert warnings(np.full((50, 70), 90)) == ("uniform",)
    assert warnings(np.zeros((1, 1))) == ("uniform",)
    assert warnings(rng.integers(250, 254, STANDARD_PX)) == ("low contrast",)
    assert warnings(rng.integers(0, 256, STANDARD_PX)) == ("no plain background",)
    scene = 100 + 80 * np.sin(x / 40) * np.cos(y / 60) + rng.normal(0, 20, x.shape)
    assert warnings(scene) == ("no plain background",)


WRONG = {
    "dark background": 255 - synthetic(1),
    "portrait": np.rot90(synthetic(1)),
    "small: 60 x 24 px": np.asarray(Image.fromarray(synthetic(1)).resize((60, 24), Image.Resampling.BOX)),
    "several embryos": photograph([synthetic(i) for i in range(3)], [(100, 150), (450, 1250), (1100, 400)]),
}


@pytest.mark.parametrize("word", WRONG)
def test_a_wrong_picture_gets_its_word(word):
    for pixels in (WRONG[word], np.asarray(Image.fromarray(WRONG[word]).convert("L"))):
        assert words_about(pixels) == word == words_about(pixels.astype(np.float32))


@pytest.mark.parametrize("bits", [8, 12, 14, 16])
def test_the_bits_of_a_camera_are_named(rng, bits):
    levels = (rng.integers(0, 2**bits, STANDARD_PX) * (255 / (2**bits - 1))).astype(np.float32)
    named = [warning for warning in picture_warnings(levels) if warning.kind == "fewer than 16 bits"]
    assert named == [QualityWarning("fewer than 16 bits", str(bits))] * (8 < bits < 16)


def test_embryos_that_touch_are_several_and_one_in_a_wide_photograph_is_one():
    pair = np.hstack([synthetic(1)[:, :-8], synthetic(2)[:, 8:]])
    assert "several embryos" in words_about(pair)
    assert picture_warnings(photograph([synthetic(1)], [(650, 750)])) == ()


def test_pictures_of_any_size_and_content_get_words_not_faults(rng, trials):
    trials(6, campaign=6)
    for shape in [(1, 1), (1, 5000), (5000, 1), (3, 2), (161, 2), STANDARD_PX]:
        for pixels in (rng.integers(0, 256, shape, np.uint8), np.zeros(shape, np.float32)):
            assert all(map(str, picture_warnings(pixels)))


def test_the_pictures_of_the_documentation_get_the_words_that_stand_above_them():
    pictures = Path(__file__).resolve().parents[2] / "docs" / "pictures"
    sheets = runpy.run_path(str(pictures / "make_sheets.py"))
    told = {"portrait", "dark background", "several embryos"}  # of every embryo; others not, or not of all
    for good, _, words, spoiled in sheets["PAIRS"]:
        assert picture_warnings(np.asarray(good)) == ()
        assert words not in told or words_about(np.asarray(spoiled(good))) == words
    assert told < {words for _, _, words, _ in sheets["PAIRS"]}
    for name in ("stage-ranges", "good-and-bad"):
        assert (pictures / f"{name}.png").stat().st_size < 200_000


@pytest.mark.parametrize("stage_range", STAGE_RANGES)
def test_no_synthetic_embryo_gets_a_warning(stage_range):
    assert [picture_warnings(synthetic(number, stage_range)) for number in range(8)] == [()] * 8


def test_no_real_embryo_gets_a_warning_and_half_of_them_tell_where_the_posterior_is(shared_data, rng):
    paths = sorted((shared_data / "flyexpress" / "images").iterdir())
    assert len(paths) > 100
    found = 0
    for path in paths:
        real = read_picture(path)
        assert standard_warnings(read_grey(path)) == picture_warnings(real) == ()
        found += words_about(real[:, ::-1]) == "posterior left?"
        pale = 245 - 0.15 * (255.0 - real) + rng.normal(0, 2, real.shape[:2])[..., None]
        assert "several embryos" not in words_about(pale.astype(np.uint8))
    assert found > len(paths) / 2


def is_smooth(picture):
    """Return whether a picture gets the warning of an embryo without texture; None if no embryo is found."""
    kinds = {w.kind for w in Embryo(picture).view(ExtractOptions(register="axis")).warnings}
    return None if NOT_REGISTERED in kinds else SMOOTH.kind in kinds


def drawn_ellipse(rng):
    """Return an ellipse of one colour, perhaps with a blurred edge, a shadow or noise, uint8 (h, w, 3)."""
    length, height = rng.uniform(100, 200), rng.uniform(45, 60)
    background, colour = rng.integers(170, 255), rng.integers(20, 150, 3)
    y, x = np.mgrid[-150:150, -250:250]
    inside = gaussian_filter(((x / length) ** 2 + (y / height) ** 2 < 1) * 1.0, rng.uniform(0.5, 5))
    shaded = colour * (1 - rng.uniform(0, 0.0008) * (x[..., None] + 250))
    drawn = background + inside[..., None] * (shaded - background)
    return np.clip(drawn + rng.normal(0, rng.uniform(0, 5), drawn.shape), 0, 255).astype(np.uint8)


def test_the_advice_on_a_refused_embryo_works_when_it_is_followed(shared_data):
    axis = ExtractOptions(register="axis")
    for image in read_images(shared_data / "flyexpress")[::20]:
        whole = read_picture(image.path).astype(np.float32)
        pale = 200 + (whole - 200) / 60
        followed = {
            "use a picture of the whole embryo": (whole[:, :220], whole),
            "raise its contrast": (pale, (pale - 200) * 60 + 200),
            CROP: (np.concatenate([whole, whole]), whole),
        }
        for advice, (refused, mended) in followed.items():
            why_not = find_refusal(Embryo(refused).view(axis).warnings, True)
            assert why_not and SkippedImage(why_not).fix == advice
            assert not find_refusal(Embryo(mended).view(axis).warnings, True)


def test_what_is_smooth_inside_is_no_embryo(shared_data, rng):
    ellipses = [is_smooth(drawn_ellipse(rng)) for _ in range(40)]
    assert False not in ellipses and ellipses.count(True) > 20
    assert not any(is_smooth(synthetic(number)) for number in range(8))
    paths = sorted((shared_data / "flyexpress" / "images").iterdir())
    assert sum(is_smooth(read_picture(path)) for path in paths) <= 1


def test_every_kind_of_warning_has_one_line_and_goes_into_every_file(flyannot, own_chain, monkeypatch):
    images = [i for i in read_images(own_chain.embryos) if i.stage_range == "4-6"]
    kinds = dict(zip(images, [*WRONG.items(), *WRONG.items()][:7]))
    for image, (_, pixels) in kinds.items():
        Image.fromarray(pixels).save(image.path)
    names = [image.name for image in kinds]
    monkeypatch.chdir(own_chain.folder)
    lines = {
        "descriptors": "extract embryos -o descriptors.h5 --stride-px 16 --force",
        "features": "pool descriptors.h5 dictionary.h5 -o features.h5 --force",
        "predictions": "annotate model.h5 embryos -o predictions.h5 --force",
    }
    for kind, line in lines.items():
        said = flyannot(line, code=0)
        if kind != "features":
            reasons = {row["image"]: row["reason"] for row in rows_of_csv(f"{kind}-pictures.csv")}
            assert all("dark background" in reasons[name] for name in (names[0], names[4]))
            assert all("small: 60 x 24 px" in reasons[name] for name in (names[2], names[6]))
            assert "several embryos" in reasons[names[3]]
            assert "dark background (2)" in said.err and "small (2)" in said.err
        stored = open_stored_file(own_chain.kinds[kind])
        columns = (stored.read_array("4-6", column) for column in ("image", "quality_warnings"))
        warned = {name: warning for name, warning in zip(*columns) if warning}
        if kind == "predictions":  # the model says of most of these that it does not know such pictures
            assert sum(UNLIKE_WORDS in warned[name] for name in names) >= 5
            warned = {name: warned[name].partition(f", {UNLIKE_WORDS}")[0] for name in names}
        assert {image.name: word for image, (word, _) in kinds.items()} == warned
