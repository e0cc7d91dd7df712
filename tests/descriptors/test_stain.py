"""The stain apart from the embryo: what is kept, what is not, and that every step sees the same."""

import json

import h5py
import numpy as np
import pytest
import tifffile
from PIL import Image

from flyannot.dataset.folder import read_images
from flyannot.dataset.synthetic import SynthesizeOptions
from flyannot.dataset.synthetic.generate import synthesize
from flyannot.descriptors.images.geometry import STANDARD_PX
from flyannot.descriptors.images.grey_levels import STAIN, TISSUE, stain_as_grey
from flyannot.descriptors.images.picture import read_embryo, read_grey
from flyannot.descriptors.options import ExtractOptions
from flyannot.errors import DataError, InputError
from flyannot.steps.annotate import _features_of_embryos, annotate
from flyannot.steps.engine.file_options import extract_options
from flyannot.steps.engine.task import Execution
from flyannot.steps.explain import explain
from flyannot.steps.extract import extract
from flyannot.steps.learn_dict import learn_dict
from flyannot.steps.loaded_model import load_model
from flyannot.steps.options import AnnotateOptions
from flyannot.steps.pool import pool
from flyannot.steps.train import train
from flyannot.store.header import content_digest
from flyannot.store.reading import open_stored, verify_stored
from tests.descriptors.picture_files import luma
from tests.small_embryos import CLASSIFY, LEARN, POOL, STAGE_RANGES

BLUE, BROWN = (60, 80, 190), (128, 75, 40)
LEFT, RIGHT = np.s_[40:90, 40:90], np.s_[40:90, 200:250]
STAINED = ExtractOptions(stride_px=16, channel="stain")


def read_stain(path):
    return read_embryo(path, STAINED)[0]


@pytest.fixture
def picture(tmp_path):
    def write(pixels, name="picture.png", **options):
        image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
        image.save(tmp_path / name, **options)
        return tmp_path / name

    return write


def two_patches():
    pixels = np.full((*STANDARD_PX, 3), 255, np.uint8)
    pixels[LEFT], pixels[RIGHT] = BLUE, BROWN
    return pixels


def test_blue_stays_and_brown_of_the_same_luma_goes(picture):
    path = picture(two_patches())
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
    image = (
        Image.fromarray(grey.astype(np.uint16) * 257)
        if mode == "I;16"
        else Image.fromarray(grey).convert(mode)
    )
    path = picture(image)
    np.testing.assert_array_equal(read_stain(path), read_grey(path))


def test_uniform_pictures_and_the_ends_of_the_range_stay_finite_and_the_same(picture):
    for colour in ((255, 255, 255), (0, 0, 0), (0, 0, 255), (255, 255, 0), BLUE):
        path = picture(np.full((*STANDARD_PX, 3), colour, np.uint8))
        stain = read_stain(path)
        assert np.isfinite(stain).all() and np.ptp(stain) == 0 and 0 <= stain[0, 0] <= 255
        np.testing.assert_array_equal(read_stain(path), stain)


def test_every_kind_of_colour_file_gives_the_same_stain(picture, tmp_path):
    pixels = two_patches()
    expected = read_stain(picture(pixels))
    half = np.dstack([pixels, np.full(STANDARD_PX, 255, np.uint8)])
    paths = [picture(half, "a.png"), picture(Image.fromarray(pixels).quantize(8), "p.gif")]
    for name, deep in {
        "16.tif": pixels.astype(np.uint16) * 257, "f.tif": (pixels / 255).astype(np.float64)
    }.items():  # fmt: skip
        tifffile.imwrite(tmp_path / name, deep, photometric="rgb")
        paths.append(tmp_path / name)
    for path in paths:
        assert np.abs(read_stain(path) - expected).max() < 0.01, path.name


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The whole chain on the stain."""
    folder, execution = tmp_path_factory.mktemp("stain"), Execution()
    synthesize(folder / "embryos", SynthesizeOptions(n_genes=12, max_images=2, stage_range=STAGE_RANGES[:1]))
    images = read_images(folder / "embryos")
    paths = {k: folder / f"{k}.h5" for k in ("descriptors", "dictionary", "features", "model", "predictions")}
    extract(images, paths["descriptors"], STAINED, execution)
    learn_dict([paths["descriptors"]], paths["dictionary"], LEARN, execution)
    pool([paths["descriptors"]], paths["dictionary"], paths["features"], POOL, execution)
    train([paths["features"]], folder / "embryos" / "annotations.csv", paths["model"], CLASSIFY, execution)
    annotate(paths["model"], images, paths["predictions"], AnnotateOptions(), execution)
    return paths | {"images": images}


def test_new_images_are_annotated_by_the_channel_that_the_model_learned_from(made):
    stage_range = STAGE_RANGES[0]
    for kind in ("descriptors", "features", "model", "predictions"):
        verify_stored(made[kind])
    with open_stored(made["model"]) as stored:
        assert stored.options["extract"]["channel"] == "stain"
        model = load_model(made["model"], stored.digest, stage_range)
    with open_stored(made["features"]) as stored:
        names, learned = stored.array(stage_range, "image"), stored.array(stage_range, "features")
    by_name = {image.name: image for image in made["images"]}
    for name, features in zip(names, learned):
        ((_, pooled, _),) = _features_of_embryos(model, by_name[name], [])
        np.testing.assert_array_equal(pooled, features)


def test_an_explanation_adds_up_to_the_prediction_and_draws_the_stain(made):
    group = made["images"][0].group
    mine = [image for image in made["images"] if image.group == group]
    one = next(iter(explain(made["model"], mine)))
    np.testing.assert_array_equal(one.greys[0], read_stain(one.images[0].path))
    with open_stored(made["predictions"]) as stored:
        g = stored.array(STAGE_RANGES[0], "group_name").index(one.group)
        j = stored.array(STAGE_RANGES[0], "term").index(one.term)
        assert stored.array(STAGE_RANGES[0], "decision_value")[g, j] == pytest.approx(
            one.split.value, abs=1e-9
        )


def test_the_two_channels_do_not_mix(made, chain, tmp_path):
    with pytest.raises(DataError, match="learned from other descriptors"):
        pool([made["descriptors"]], chain.dictionary, tmp_path / "f.h5", POOL, Execution())
    with pytest.raises(InputError, match="channel"):
        extract(made["images"], made["descriptors"], ExtractOptions(stride_px=16), Execution())


def test_a_channel_that_nobody_knows_is_refused(made, tmp_path):
    path = tmp_path / "model.h5"
    path.write_bytes(made["model"].read_bytes())
    with h5py.File(path, "r+") as file:
        options = json.loads(file.attrs["options"])
        options["extract"]["channel"] = "hue"
        file.attrs["options"] = json.dumps(options)
        file.attrs["digest"] = content_digest(file, "model")
    with open_stored(path) as stored, pytest.raises(DataError, match="extract: channel is 'hue'"):
        extract_options(stored)


def test_the_command_takes_a_channel(flyannot, made, tmp_path):
    folder = made["descriptors"].parent / "embryos"
    assert flyannot("extract DATA -o F --channel stain", DATA=folder, F=tmp_path / "d.h5").code == 0
    assert (tmp_path / "d.h5").read_bytes() == made["descriptors"].read_bytes()
    assert flyannot("extract DATA -o F --channel hue", DATA=folder, F=tmp_path / "e.h5").code == 2
