"""Tests of where the report finds pictures, and of what it says if it does not."""

import re
import shutil
from pathlib import Path

import pytest

from flyannot.dataset.folder import read_images
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.report.banners import describe_reliability
from flyannot.terms.answers import LearnedTerm, learned_terms
from tests.report.pages_read import groups_of, make_report
from tests.small_embryos import make


@pytest.fixture
def steps(chain, tmp_path):
    """Copy the chain to a folder as single commands leave it, without the record of a run."""
    return chain.copied_to(tmp_path / "work")


def sources_of(path):
    return [source for group in groups_of(path.read_text()) for _, source in group["images"]]


def n_images(chain):
    stored = open_stored_file(chain.predictions)
    return sum(len(stored.read_array(s, "image")) for s in stored.stage_ranges)


def test_after_the_steps_one_by_one_the_page_shows_all_pictures_without_the_data_set(steps, flyannot):
    n, page = n_images(steps), steps.folder / "report.html"
    shutil.rmtree(steps.embryos)
    assert flyannot("report R", R=steps.folder).code == 0
    assert None not in sources_of(page) and len(sources_of(page)) == n
    assert "missing" not in page.read_text().partition("<script")[0], "nothing to complain of"
    assert re.search(r'<img src="data:image/jpeg[^"]*" alt="\d patch', page.read_text()), "patches too"


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-9])])
def test_pictures_that_are_missing_or_damaged_are_counted(steps, flyannot, spoil):
    n, page = n_images(steps), steps.folder / "report.html"
    for path in steps.folder.glob("*-pictures.h5"):
        spoil(path)
    said = flyannot("report R", R=steps.folder)
    assert said.code == 0 and f"{n} pictures are missing, such as " in said.err
    assert f"{n} pictures are missing" in page.read_text() and set(sources_of(page)) == {None}


def test_a_picture_of_other_bytes_is_not_shown_for_an_image(steps, chain):
    """The file of pictures is of descriptors that were made again, after a picture was replaced."""
    images = read_images(steps.embryos)
    images[0].path.write_bytes(images[-1].path.read_bytes())
    make(steps.task("descriptors"), force=True)
    steps.folder.joinpath("predictions-pictures.h5").unlink()
    make_report(steps.folder, steps.folder / "r.html")
    assert sources_of(steps.folder / "r.html").count(None) == 1


def test_new_images_without_a_table_have_pictures_and_maps(chain, tmp_path, flyannot):
    folder, new = tmp_path / "work", tmp_path / "work" / "new-images"
    new.mkdir(parents=True)
    for image in [image for image in read_images(chain.embryos) if image.stage_range == "4-6"][:6]:
        shutil.copy(image.path, new / f"new-{image.path.name}")
    shutil.copy(chain.model, folder)
    out = folder / "predictions.h5"
    assert flyannot("annotate M I --stage-range 4-6 -o O", M=chain.model, I=new, O=out).code == 0
    shutil.rmtree(new)
    assert flyannot("report R", R=folder).code == 0
    shown = groups_of((folder / "report.html").read_text())
    assert all(one["images"][0][1].startswith("data:image/jpeg") for one in shown)
    terms = [term for one in shown for term in one["terms"]]
    assert {"predicted"} == {term["status"] for term in terms if term["map"]}
    alone = make_report(out, folder / "one.html").path
    assert groups_of(alone.read_text()) == shown, "its model lies beside it"
    (folder / chain.model.name).unlink()
    text = make_report(out, alone).path.read_text()
    assert "There are no maps" in text and 'class="map"' not in text


def test_what_cross_validation_said_of_other_images_is_not_said_of_new_ones(run, chain, tmp_path, flyannot):
    """New images of a gene that was evaluated get the answers of the final model."""
    copy = run.copied_to(tmp_path / "work")
    table = copy.embryos / "images.csv"
    table.write_text(table.read_text().replace("images/", "images/new-"))
    for picture in (copy.embryos / "images").iterdir():
        picture.rename(picture.with_name(f"new-{picture.name}"))
    for name in ("predictions.h5", "predictions.csv", "run.toml"):
        (copy.folder / name).unlink()
    assert flyannot("annotate M E -o P", **copy.words).code == 0
    shown = groups_of(make_report(copy.folder, copy.folder / "r.html").path.read_text())
    terms = [term for group in shown for term in group["terms"] if term["status"] != "unlearned"]
    assert terms and not any(term["held_out"] for term in terms)


# --- how far to trust a term ---


def test_how_far_to_trust_the_answers_stands_on_top(run, page):
    stored = open_stored_file(run.predictions)
    sentence = describe_reliability([term for s in stored.stage_ranges for term in learned_terms(stored, s)])
    assert all(part in page.read_text() for part in sentence.split(". ", 1))


GUESSES = (
    "2 of 2 terms learned from fewer than 20 genes; 2 untested, because fewer than 5 genes have the term "
    "or lack it; nothing was learned of 1: every gene gets the same probability. "
    "Take every answer as a guess."
)


@pytest.mark.parametrize(
    ("auc", "n_genes", "said"),
    [
        ([None] * 2, [2, 3], GUESSES),
        ([None, 0.8], [3, 30], "; 1 untested, because"),
        ([0.7, 0.8], [13, 30], "1 of 2 terms learned from fewer than 20 genes"),
        ([0.7, 0.8], [20, 30], ""),
    ],
)
def test_what_is_untested_or_learned_from_few_genes_is_said(auc, n_genes, said):
    both = zip(auc, n_genes, strict=True)
    learned = [LearnedTerm(f"t{n}", 0.3, n > 2, n, area, None, None, None) for area, n in both]
    sentence = describe_reliability(learned)
    assert said in sentence and bool(said) == bool(sentence)
