"""The stage model, unknown stage ranges, and pictures that look like another stage range."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Picture

from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.dataset.folder import read_images, write_images_csv
from flyannot.encode.options import PoolOptions
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.supplied import STAGE_MODEL, supplied_path
from flyannot.images.embryo import read_picture
from flyannot.images.options import ExtractOptions
from flyannot.pipeline.engine.inputs import read_options
from flyannot.pipeline.models.stage_model import (
    LOOKS_LIKE,
    UNEVEN,
    RatedEmbryo,
    contradicted,
    load_stage_model,
)
from flyannot.pipeline.options import LearnOptions
from flyannot.pipeline.pictures.opened_pictures import check_picture
from flyannot.terms.options import TrainOptions


def rated(image):
    """Return the RatedEmbryo of an Image, or of the path of a picture."""
    return RatedEmbryo(read_picture(getattr(image, "address", image)))


def write_table(folder, images, stage_range, known=()):
    """Write an images.csv that gives all images one text as their stage range, but those that are known."""
    folder.mkdir(exist_ok=True)
    rows = [{"image": i.file, "gene": i.gene, "stage_range": stage_range} for i in images]
    rows += [{"image": i.file, "gene": i.gene, "stage_range": i.stage_range} for i in known]
    write_images_csv(folder / "images.csv", rows)
    return folder


@pytest.fixture(scope="module")
def photographs(shared_data):
    """Return one photograph of each stage range, of which the stage model is sure."""
    chosen = {}
    for image in read_images(shared_data / "flyexpress"):
        if image.gene == "Dl":
            chosen.setdefault(image.stage_range, image)
    return list(chosen.values())


def test_the_stage_model_is_small_and_its_terms_are_the_stage_ranges():
    assert load_stage_model()[0].terms == list(STAGE_RANGES)
    assert os.path.getsize(STAGE_MODEL) < 1e6


@pytest.mark.parametrize("name", ["blastoderm", "stages"])
@pytest.mark.parametrize("kind", [ExtractOptions, LearnOptions, PoolOptions, TrainOptions])
def test_headers_of_supplied_models_have_the_options_that_exist(name, kind):
    """An option that is gone would be an error of `status` for runs that adapt the model."""
    stored = open_stored_file(supplied_path(name))
    assert read_options(stored, kind).to_header() == {
        option: value
        for option, value in stored.options[kind.table].items()
        if option not in ("seed", "stage_ranges")
    }


def test_a_stage_range_is_contradicted_if_another_has_a_hundred_times_its_odds():
    odds = np.log([[1.0, 99.0, 1.1, 101.0, 100.0, 0.5]])
    assert contradicted(odds).tolist() == [[True, False, False, False, False, True]]
    assert not contradicted(np.zeros((3, 6))).any()


def test_the_odds_of_stage_ranges_are_named_from_one_percent_on(monkeypatch):
    for odds, text in (([0.02, 0, 0.005, 0, 0.9, 0.075], "11-12 90%, 13-16 8%, 1-3 2%"), (None, "")):
        rating = None if odds is None else np.log(np.array(odds) + 1e-12) - 3
        monkeypatch.setattr(RatedEmbryo, "stage_odds", rating)
        assert RatedEmbryo.stage_odds_text.fget(RatedEmbryo) == text


def test_stage_ranges_are_guessed_only_if_asked_and_marked(photographs, tmp_path, flyannot):
    folder = write_table(tmp_path / "set", photographs[1:], "?", known=photographs[:1])
    out = tmp_path / "d.h5"
    assert "--guess-stages" in flyannot("extract F -o O", F=folder, O=tmp_path / "known.h5").err
    flyannot("extract F -o O --guess-stages", F=folder, O=out, code=0)
    stored = open_stored_file(out)
    guessed = {name: s for s in stored.stage_ranges for name in stored.read_array(s, "image")}
    said = [text for s in stored.stage_ranges for text in stored.read_array(s, "quality_warnings")]
    assert guessed == {i.file: rated(i).guess_stage_range() for i in photographs}
    del guessed[photographs[0].file]
    assert sorted(filter(None, said)) == sorted(f"stage range guessed: {s}" for s in guessed.values())
    assert "stage model" in stored.inputs, "the guesses depend on it"
    assert sum(guessed[i.file] == i.stage_range for i in photographs[1:]) >= 4  # it knows these pictures


def test_a_picture_without_a_guess_is_skipped_with_its_reason_and_named_on_the_page(
    photographs, tmp_path, flyannot
):
    """So are pictures that look like stage ranges for which the model has no terms."""
    for image in photographs:
        (tmp_path / f"{image.stage_range}.bmp").write_bytes(Path(image.file).read_bytes())
    Picture.new("L", (320, 128), 255).save(tmp_path / "blank.png")
    (tmp_path / "broken.bmp").write_bytes(b"BM")
    out = tmp_path / "out" / "t.h5"
    why = {"blank.png": "no embryo found", "broken.bmp": "not a picture"}
    looks = {i.stage_range: rated(i).guess_stage_range() for i in photographs}
    why |= {f"{s}.bmp": f"it looks like {looks[s]}, which is left out" for s in looks if looks[s] != "4-6"}
    for state in ("wrote", "up to date:"):
        said = flyannot("annotate blastoderm F -o O --guess-stages --page", F=tmp_path, O=out, code=3).err
        assert f"{state} {out}" in said
        with open(out.with_name("t-pictures.csv"), newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["fate"] not in ("used", "warned")]
        skipped = {row["image"]: row["reason"] for row in rows}
        assert skipped.keys() == why.keys() and all(why[name] in text for name, text in skipped.items())
    page = out.with_suffix(".html").read_text()
    assert all(name in page for name in why)


def test_a_run_guesses_too_and_its_page_shows_all_pictures(photographs, tmp_path, flyannot):
    folder = write_table(tmp_path / "set", photographs, "")
    out = tmp_path / "run"
    said = flyannot("run --data-set F -o O --set select.guess-stages=true", F=folder, O=out, code=0).err
    assert "wrote" in said.partition("[annotate]")[2].partition("4-6: 1 group")[0]
    assert "  left out: it is not of stage range 4-6 (" in said
    page = (out / "report.html").read_text()
    assert page.count("data:image/jpeg") >= len(photographs) and "missing" not in page.partition("<script")[0]
    stored = open_stored_file(out / "features.h5")
    texts = [text for s in stored.stage_ranges for text in stored.read_array(s, "quality_warnings")]
    assert len(texts) == len(photographs) and all("stage range guessed: " in text for text in texts)


def test_a_wrong_stage_range_is_named_by_check_and_by_annotate(photographs, tmp_path, flyannot):
    late = [i for i in photographs if i.stage_range in ("7-8", "13-16")]
    folder = write_table(tmp_path / "set", late, "4-6")
    out = tmp_path / "terms.h5"
    listed = flyannot("check F", F=folder, code=0).out
    assert f"{LOOKS_LIKE} (2)" in listed and f"{LOOKS_LIKE}: 13-16" in listed
    flyannot("annotate blastoderm F -o O --page", F=folder, O=out, code=0)
    assert "2 of 2 pictures look like another stage range" in out.with_suffix(".html").read_text()
    with open(out.with_suffix(".csv"), newline="") as file:
        warnings = {row["quality_warnings"] for row in csv.DictReader(file)}
    assert all(f"{LOOKS_LIKE}: 13-16" in text for text in warnings)
    assert "Looks like stage range 13-16 " in out.with_suffix(".html").read_text()
    with open(tmp_path / "terms-pictures.csv", newline="") as file:
        assert {row["stage_odds"].split()[0] for row in csv.DictReader(file)} == {"7-8", "13-16"}
    (later,) = (image.file for image in late if image.stage_range == "13-16")
    said = flyannot("explain blastoderm I --stage-range 4-6", I=later, code=0)
    assert f"warning: {later}: {LOOKS_LIKE}: 13-16" in said.err


def test_later_photographs_are_uneven_for_a_blastoderm_and_blastoderms_are_not(shared_data):
    images = read_images(shared_data / "flyexpress")
    uneven = {
        s: [UNEVEN in rated(i).stage_warnings("4-6") for i in images if i.stage_range == s]
        for s in STAGE_RANGES
    }
    assert len(uneven["4-6"]) == 30 and not any(uneven["4-6"])
    assert sum(map(sum, uneven.values())) == 90
    named = rated(next(i for i in images if i.stage_range == "13-16"))
    assert not any(UNEVEN in named.stage_warnings(s) for s in STAGE_RANGES if s != "4-6")


def test_what_is_no_embryo_or_has_no_colour_is_not_called_uneven(photographs, tmp_path, rng):
    noise = rng.integers(0, 256, (128, 320, 3), dtype=np.uint8)
    Picture.fromarray(noise).save(tmp_path / "noise.png")
    uneven = next(i for i in photographs if rated(i).unevenness > 0.12)
    Picture.open(uneven.path).convert("L").save(tmp_path / "grey.png")
    for name in ("noise.png", "grey.png"):
        assert np.isnan(rated(tmp_path / name).unevenness), name


@pytest.mark.parametrize("has_table", [False, True])
def test_check_says_what_pictures_without_a_stage_range_look_like(has_table, photographs, tmp_path, flyannot):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for image in photographs[:2]:
        (folder / f"{image.stage_range}.bmp").write_bytes(Path(image.file).read_bytes())
    (folder / "broken.bmp").write_bytes(b"BM")
    down = Path(photographs[0].file).with_name("insitu18867_s.bmp")
    (folder / "down.bmp").write_bytes(down.read_bytes())
    if has_table:
        rows = [{"image": path.name, "gene": "x", "stage_range": "?"} for path in sorted(folder.iterdir())]
        write_images_csv(folder / "images.csv", rows)
    listed = flyannot("check F", F=folder, code=3).out
    said = "refused: no stage range in its row; fill in the column stage_range (" if has_table else "used: "
    for image in photographs[:2]:
        assert f"{image.stage_range}.bmp: {said}looks like {image.stage_range}" in listed
    assert "broken.bmp: not read: " in listed and "another stage range" not in listed
    assert has_table or "  warned: dorsal side down? (1)\n" in listed, "a guess is no warning"


def test_synthetic_pictures_are_not_rated(chain, flyannot, monkeypatch, tmp_path):
    monkeypatch.setattr(RatedEmbryo, "stage_odds", property(pytest.fail))
    monkeypatch.setattr(RatedEmbryo, "unevenness", property(pytest.fail))
    fate, _ = check_picture(read_images(chain.embryos)[0], is_in_table=True)
    assert fate.fate == "used"
    flyannot("annotate M F -o O", M=chain.model, F=chain.embryos, O=tmp_path / "p.h5", code=0)
