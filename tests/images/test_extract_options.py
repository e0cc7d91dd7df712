"""Tests of the stain, of small and registered images, and of photographs of embryos, in every step."""

import json
from typing import NamedTuple

import h5py
import numpy as np
import pytest
from PIL import Image

from flyannot.base.errors import DataError, InputError
from flyannot.base.quality_warnings import format_warnings
from flyannot.dataset.folder import Image as ImageRow
from flyannot.dataset.folder import read_images
from flyannot.dataset.synthetic import SynthesizeOptions
from flyannot.dataset.synthetic.generate import synthesize
from flyannot.files.hdf5.header import content_digest
from flyannot.files.hdf5.reading import open_stored_file, verify_stored_file
from flyannot.images.embryo import read_grey
from flyannot.images.geometry import STANDARD_PX
from flyannot.images.options import ExtractOptions
from flyannot.images.shown import encode_jpeg
from flyannot.pipeline.engine.fates import list_stored_fates
from flyannot.pipeline.engine.inputs import read_options
from flyannot.pipeline.engine.step import StepRequest
from flyannot.pipeline.options import Selection
from flyannot.pipeline.steps.extract import build_task
from flyannot.pipeline.steps.pool import pool_images_task, pool_task
from flyannot.results.explain import explain
from tests.images.picture_files import luma, view
from tests.small_embryos import POOL, Chain, list_faults, make, make_files, rows_of_csv

AXIS = ExtractOptions(register="axis", stride_px=16)
LINES = {
    "stain": "--channel stain",
    "pattern": "--channel pattern",
    "half": "--scale 1/2",
    "axis": "--register axis",
    "photographs": "--register axis --multiple-embryos",
}
OPTIONS = {
    "stain": ExtractOptions(channel="stain", stride_px=16),
    "pattern": ExtractOptions(channel="pattern", stride_px=16),
    "half": ExtractOptions(scale="1/2", stride_px=16),
    "axis": AXIS,
    "photographs": ExtractOptions(register="axis", multiple_embryos=True, stride_px=16),
}


class Made(NamedTuple):
    """A data set and the files made from it; `counts` are the numbers of images of every gene."""

    name: str
    chain: Chain
    images: list
    summary: str
    counts: dict

    @property
    def gene_of_two(self):
        """Return a gene with two images."""
        return next(gene for gene, n in self.counts.items() if n == 2)


def turn(folder, images):
    """Turn the embryos, on larger pictures; the last picture becomes blank."""
    rng = np.random.default_rng(2)
    for image in images:
        canvas = Image.new("RGB", (400, 400), "white")
        with Image.open(image.path) as picture:
            canvas.paste(picture.convert("RGB"), (40, 136))
        canvas.rotate(rng.uniform(-80, 80), Image.Resampling.BICUBIC, fillcolor="white").save(image.path)
    Image.new("RGB", (400, 400), "white").save(images[-1].path)


def put_on_photographs(folder, images):
    """Put all images of a gene on one photograph, upright or turned a little; annotations do not change."""
    rng, lines = np.random.default_rng(3), ["image,gene,stage_range"]
    for gene in dict.fromkeys(image.gene for image in images):
        of_gene = [image for image in images if image.gene == gene]
        canvas = Image.new("RGB", (420, 40 + 260 * len(of_gene)), "white")
        for k, image in enumerate(of_gene):
            framed = Image.new("RGB", (380, 240), "white")
            with Image.open(image.path) as picture:
                framed.paste(picture.convert("RGB"), (30, 56))
            turned = framed.rotate(rng.uniform(-12, 12), Image.Resampling.BICUBIC, fillcolor="white")
            canvas.paste(turned, (20, 20 + 260 * k))
        canvas.save(folder / f"{gene}.png")
        lines.append(f"{gene}.png,{gene},4-6")
    (folder / "images.csv").write_text("\n".join(lines) + "\n")


REFUSED = {"stain": "channel", "pattern": "channel", "half": "scale"}
CHANGES = {"axis": turn, "photographs": put_on_photographs}


@pytest.fixture(scope="module", params=OPTIONS)
def made(request, tmp_path_factory):
    """Make a data set of such images, and every file of the chain."""
    name, chain = request.param, Chain(tmp_path_factory.mktemp(request.param))
    synthesize(chain.embryos, SynthesizeOptions(n_genes=12, max_images=2, stage_range=["4-6"]))
    images = read_images(chain.embryos)
    counts = {gene: [image.gene for image in images].count(gene) for gene in {i.gene for i in images}}
    if name in CHANGES:
        CHANGES[name](chain.embryos, images)
    images = read_images(chain.embryos)
    summary = make_files(chain, images, descriptors=OPTIONS[name]).summary
    return Made(name, chain, images, summary, counts)


only = {name: pytest.mark.parametrize("made", [name], indirect=True) for name in OPTIONS}


def test_every_file_is_whole_and_knows_what_was_described(made):
    for path in made.chain.kinds.values():
        verify_stored_file(path)
        stored = open_stored_file(path)
        assert stored.options["extract"] == OPTIONS[made.name].to_header()


def test_the_summary_counts_images_photographs_and_patches(made):
    stored = open_stored_file(made.chain.descriptors)
    n, n_kept = len(stored.read_array("4-6", "image")), len(stored.read_array("4-6", "descriptors"))
    images = f"{n} embryos on {len(made.images)} photographs" if made.name == "photographs" else f"{n} images"
    share = f"{n_kept:,} of {160 * n:,} patches kept ({n_kept / (160 * n):.0%})"
    assert made.summary.startswith(f"  4-6: {images}, {share}")


def test_features_straight_from_images_are_the_same(made, tmp_path):
    make(pool_images_task(made.images, made.chain.dictionary, tmp_path / "f.h5", POOL))
    straight = open_stored_file(tmp_path / "f.h5")
    stored = open_stored_file(made.chain.features)
    for name in ("features", "place"):
        np.testing.assert_array_equal(straight.read_array("4-6", name), stored.read_array("4-6", name))


def test_an_explanation_draws_what_was_described(made):
    gene = made.gene_of_two
    of_gene = [image for image in made.images if image.gene == gene]
    explanation = next(iter(explain(made.chain.model, of_gene)))
    names = [image.name for image in explanation.images]
    if made.name == "photographs":
        assert names == [f"{gene}.png#1", f"{gene}.png#2"]
    for name, image in zip(names, explanation.images):
        described = view(f"{made.chain.embryos}/{name}", OPTIONS[made.name])
        np.testing.assert_array_equal(image.grey, described.grey)


def test_they_do_not_mix_with_other_images(made, chain, tmp_path):
    with pytest.raises(DataError, match="learned from other descriptors"):
        make(pool_task([made.chain.descriptors], chain.dictionary, tmp_path / "f.h5", POOL))
    with pytest.raises(InputError, match=REFUSED.get(made.name, "register")):
        make(made.chain.task("descriptors", images=made.images, options=ExtractOptions()))


def test_the_command_makes_the_same_bytes(made, flyannot, tmp_path):
    words = {"DATA": made.chain.embryos, "F": tmp_path / "d.h5"}
    said = flyannot(f"extract DATA -o F --stride-px 16 {LINES[made.name]}", **words)
    assert said.code == 0, said.err
    assert (tmp_path / "d.h5").read_bytes() == made.chain.descriptors.read_bytes()


def test_a_channel_that_nobody_knows_is_refused(own_chain):
    with h5py.File(own_chain.model, "r+") as file:
        options = json.loads(file.attrs["options"])
        options["extract"]["channel"] = "hue"
        file.attrs["options"] = json.dumps(options)
        file.attrs["digest"] = content_digest(file, "model")
    stored = open_stored_file(own_chain.model)
    with pytest.raises(DataError, match="channel is 'hue'"):
        read_options(stored, ExtractOptions)


@pytest.mark.parametrize("n, px", [({"4-6": 62, "7-8": 62}, 8), ({"4-6": 63}, 16), ({"": 23, "4-6": 40}, 16)])
def test_patches_are_close_only_if_no_stage_range_has_ten_thousand_of_them(n, px, tmp_path):
    """A picture has 160 patches at 16 px; one without a stage range may be of any."""
    images = [ImageRow(f"{i}.png", f"{i}.png", f"{i}", s) for s in n for i in range(n[s])]
    chosen = {"options": ExtractOptions(), "selection": Selection()}
    request = StepRequest(images=tuple(images), out=tmp_path / "d.h5", **chosen)
    assert build_task(request).use.extract.stride_px == px


@only["half"]
def test_annotating_pictures_is_annotating_the_features_of_the_chain(made, flyannot, tmp_path):
    flyannot("annotate M F -o O", **made.chain.words, O=tmp_path / "p.h5", code=0)
    straight = open_stored_file(tmp_path / "p.h5")
    stored = open_stored_file(made.chain.predictions)
    for name in ("group_gene", "term", "decision_value"):
        np.testing.assert_array_equal(straight.read_array("4-6", name), stored.read_array("4-6", name))


@only["axis"]
def test_a_picture_without_an_embryo_is_taken_as_it_is_and_named(made):
    blank = made.images[-1]
    found = view(blank.path, AXIS)
    np.testing.assert_array_equal(found.grey, read_grey(blank.path))
    assert format_warnings(found.warnings) == "blank, not registered: nothing stands out from the background"
    (fate,) = (fate for fate in list_stored_fates(made.chain.descriptors) if fate.image == blank.name)
    assert fate.reason == "blank, not registered: nothing stands out from the background"
    for path in (made.chain.descriptors, made.chain.features):
        stored = open_stored_file(path)
        said = dict(zip(stored.read_array("4-6", "image"), stored.read_array("4-6", "quality_warnings")))
        assert [name for name, warning in said.items() if "not registered" in warning] == [blank.name]
    stored = open_stored_file(made.chain.predictions)
    assert blank.name not in stored.read_array("4-6", "image")
    why = "no embryo found: nothing stands out from the background"
    assert list_faults(stored.failures) == {blank.name: why}


@only["axis"]
def test_the_report_shows_the_embryo_as_it_was_described(made, tmp_path):
    """Compare the luma of the registered colours with the registered luma."""
    grey, _, shown = view(made.images[0].path, AXIS)
    assert np.abs(luma(shown) - grey).mean() < 0.3
    (tmp_path / "e.jpg").write_bytes(encode_jpeg(shown))
    with Image.open(tmp_path / "e.jpg") as picture:
        assert picture.size == STANDARD_PX[::-1] and picture.mode == "RGB"
        assert np.abs(np.asarray(picture.convert("L"), float) - grey).mean() < 5
    assert encode_jpeg(view(made.images[-1].path, AXIS).shown)


@only["photographs"]
def test_every_step_has_a_row_for_every_embryo_and_a_group_for_every_gene(made):
    names = sorted(f"{gene}.png#{k}" for gene, n in made.counts.items() for k in range(1, n + 1))
    for path in (made.chain.descriptors, made.chain.features, made.chain.predictions):
        stored = open_stored_file(path)
        assert sorted(stored.read_array("4-6", "image")) == names
        assert all("left=" in place for place in stored.read_array("4-6", "place"))
    stored = open_stored_file(made.chain.predictions)
    assert sorted(stored.read_array("4-6", "group_name")) == sorted(made.counts)
    for kind in ("descriptors", "predictions"):
        assert len(rows_of_csv(made.chain.folder / f"{kind}-embryos.csv")) == len(names)


@only["photographs"]
def test_similar_and_annotate_take_the_embryos_of_a_new_photograph(made, flyannot, tmp_path):
    photo, out = tmp_path / "new.png", tmp_path / "s.csv"
    known = made.chain.embryos / f"{made.gene_of_two}.png"
    Image.open(known).save(photo, compress_level=1)
    assert photo.read_bytes() != known.read_bytes()
    for path in (photo, known):
        said = flyannot("similar F Q -o O", F=made.chain.features, Q=str(path), O=out)
        assert said.code == 2 and "shows 2 embryos" in said.err and f"name one: {path}#1" in said.err
    said = flyannot("similar F Q -o O", F=made.chain.features, Q=f"{photo}#2", O=out, code=0)
    best = max(rows_of_csv(out), key=lambda row: float(row["similarity"]))
    assert best["gene"] == made.gene_of_two
    line = "annotate M I --stage-range 4-6 -o O"
    said = flyannot(line, M=made.chain.model, I=photo, O=tmp_path / "p.h5")
    assert said.code == 0 and "4-6: 2 groups" in said.err, said.err
    assert {row["group"] for row in rows_of_csv(tmp_path / "p.csv")} == {f"{photo}#1", f"{photo}#2"}
