"""Tests of a step between `extract` and `learn-dict`, as CONTRIBUTING.md shows it, in every encoder."""

import sys
from dataclasses import replace

import h5py
import numpy as np
import pytest
from PIL import Image

from flyannot.base.errors import FlyannotError
from flyannot.dataset.folder import read_images
from flyannot.encode.encoder import PatchTransform
from flyannot.files.hdf5.reading import open_stored_file, read_image_metadata
from flyannot.images.extract import describe_patches
from flyannot.images.options import ExtractOptions
from flyannot.jobs.executor import Executor
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.task import Execution
from flyannot.pipeline.models.encoding import load_encoder
from flyannot.pipeline.models.loaded_model import load_model
from flyannot.pipeline.options import ReportOptions
from flyannot.pipeline.pictures.stored_pictures import open_pictures
from flyannot.pipeline.runs.configuration import read_configuration
from flyannot.pipeline.runs.plan import plan_run
from flyannot.pipeline.runs.run import run_steps
from flyannot.report.drawing import pack_map
from flyannot.report.groups import ImageEntry
from flyannot.report.maps import ContributionMapper
from flyannot.report.run_folder import open_run
from flyannot.results.explain import explain
from flyannot.terms.answers import read_group_predictions
from tests.conftest import ROOT
from tests.page_blocks import blocks_of
from tests.small_embryos import write_configuration

_, DENOISE = blocks_of(ROOT / "CONTRIBUTING.md", "python")
DROPS = """    kept = described.descriptors.max(axis=1) % 2 == 0
    columns = ("descriptors", "centres_px", "patch_px")
    return replace(described, **{name: getattr(described, name)[kept] for name in columns})
"""
MOVES = """    from numpy import clip, float32
    moved = clip(described.centres_px + (40, 9), 0, (127, 319)).astype(float32)
    return replace(described, centres_px=moved)
"""
VARIANTS = {  # of the step: the body of its function, and what it says that it changes
    "values": (None, "values"),
    "patches": (DROPS, "patches"),  # their numbers differ from `extract`
    "positions": (MOVES, "positions"),  # near the border, a whole patch lies beyond it
}
PLAIN = dict(STEPS.import_paths)
CHANGED = (
    "dictionary",
    "features",
    "model",
    "predictions",
)  # files that change if a step is added before them


def forget():
    """Forget what this process has loaded, like a new process."""
    load_encoder.cache_clear()
    load_model.cache_clear()


def run(configuration):
    plan = plan_run(read_configuration(configuration))
    with Executor(1) as workers:
        return list(run_steps(plan, Execution(workers=workers)))


def digests(results):
    """Return the digest of every HDF5 file of a run, by name, except the digests of pictures."""
    found = {}
    for path in sorted({*results.glob("*.h5")} - {*results.glob("*-pictures.h5")}):
        with h5py.File(path) as file:
            found[path.stem] = file.attrs["digest"]
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Return the results of a run without the step."""
    folder = tmp_path_factory.mktemp("plain")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(STEPS, "import_paths", PLAIN)
        run(write_configuration(folder))
    return folder / "results"


@pytest.fixture(scope="module", params=VARIANTS)
def folder(request, tmp_path_factory):
    """Yield the folder of a run with the step: its data set, configuration and results."""
    folder = tmp_path_factory.mktemp("denoised")
    code = DENOISE.code.replace("flyannot.pipeline.denoise", "denoise")
    body, changes = VARIANTS[request.param]
    if body:
        before, _ = code.split("    descriptors = described.descriptors\n")
        code = before + body + code[code.index("\n\nDENOISE") :]
    code = code.replace('changes=("values",)', f'changes=("{changes}",)')
    (folder / "denoise.py").write_text(code)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setattr(STEPS, "import_paths", with_step())
        run(write_configuration(folder))
        with Image.open(image_of(folder).path) as picture:  # other bytes, so that it is a new picture
            picture.save(folder / "copy.png", compress_level=2)
        yield folder
    sys.modules.pop("denoise")
    forget()


def image_of(folder):
    """Return the first image of the data set."""
    return read_images(folder / "embryos")[0]


def with_step():
    """Return the places of the steps, with the line of CONTRIBUTING.md after `extract`."""
    places = {}
    for name, place in PLAIN.items():
        places[name] = place
        if name == "extract":
            places["denoise"] = "denoise:DENOISE"
    return places


@pytest.fixture
def results(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FLYANNOT_JOBS", "1")
    forget()
    return folder / "results"


def values(path):
    """Return the decision values of a predictions file by gene and term."""
    stored = open_stored_file(path, "predictions")
    genes, terms = stored.read_array("4-6", "group_gene"), stored.read_array("4-6", "term")
    order = np.argsort(genes)
    return [genes[i] for i in order], terms, stored.read_array("4-6", "decision_value")[order]


def features(path):
    stored = open_stored_file(path, "features")
    return [stored.read_array("4-6", name) for name in ("image", "features", "winner", "D")]


def test_files_after_the_step_name_the_chain_and_hold_something_else(results, plain):
    made, before = digests(results), digests(plain)
    assert set(made) == {*before, "denoised"}
    assert made["descriptors"] == before["descriptors"]
    assert not any(made[kind] == before[kind] for kind in CHANGED)
    for kind in made:
        stored = open_stored_file(results / f"{kind}.h5")
        pooled = ["pool"] if kind in ("features", "model", "predictions") else []
        expected = None if kind == "descriptors" else ["extract", "denoise", *pooled]
        assert stored.options.get("chain") == expected
        assert stored.kind == ("descriptors" if kind == "denoised" else kind)
        if stored.kind == "descriptors":
            assert stored.inputs["images"] == open_stored_file(plain / "descriptors.h5").inputs["images"]


def test_annotating_pictures_is_annotating_features(results, plain, flyannot):
    flyannot("annotate results/model.h5 embryos -o pictures.h5", code=0)
    flyannot("annotate results/model.h5 results/features.h5 -o features.h5", code=0)
    genes, terms, found = values("pictures.h5")
    assert (genes, terms) == values("features.h5")[:2]
    np.testing.assert_array_equal(found, values("features.h5")[2])
    np.testing.assert_array_equal(found, values(results / "predictions.h5")[2])
    if STEPS["denoise"].changes != ("positions",):  # which one cell for the whole picture does not see
        assert np.abs(found - values(plain / "predictions.h5")[2]).max() > 0.01


def test_pooling_pictures_is_pooling_descriptors(results, flyannot):
    flyannot("pool embryos results/dictionary.h5 -o p.h5", code=0)
    for one, other in zip(features("p.h5"), features(results / "features.h5")):
        np.testing.assert_array_equal(one, other)
    said = flyannot("pool results/descriptors.h5 results/dictionary.h5 -o q.h5", code=65)
    assert "learned from other descriptors" in said.err and 'chain was ["extract","denoise"]' in said.err


def test_an_explanation_sums_to_the_decision_value(results):
    genes, terms, found = values(results / "predictions.h5")
    explained = list(explain(results / "model.h5", read_images("embryos")))
    for one in explained:
        value = found[genes.index(one.gene), terms.index(one.term)]
        assert one.split.value == pytest.approx(value, rel=1e-6)
        assert one.split.total == pytest.approx(value, rel=1e-6)
    assert len(explained) == 3 * len(genes)


def test_a_picture_of_the_file_is_most_similar_to_itself(folder, results, flyannot):
    said = flyannot("similar results/features.h5 copy.png -o s.csv --top 1", code=0)
    assert f"{image_of(folder).gene} 1.00" in said.out


def test_maps_are_the_same_from_the_files_of_a_run_and_from_pictures(results, flyannot):
    flyannot("annotate results/model.h5 embryos -o pictures.h5", code=0)
    n_maps = 0
    run = open_run(results)
    mapper = ContributionMapper(run, "4-6")
    stored = open_stored_file("pictures.h5")
    pictures = open_pictures(stored)
    groups, predicted = read_group_predictions(stored, "4-6")
    columns = read_image_metadata(stored, "4-6")
    for g, rows in enumerate(groups.rows):
        images = [ImageEntry(columns["image"][i], shown=pictures.find("4-6", columns, i)) for i in rows]
        drawn = mapper.draw_maps(images, dict(zip(predicted.terms, predicted.decision_value[g])))
        for number, image in enumerate(images):
            for term, (numbers, cells) in image.shown.maps.items():
                assert drawn[term]["cells"][number] == pack_map(cells)
                assert drawn[term]["value"] == pytest.approx(numbers[0], abs=1e-6)
                n_maps += 1
    assert n_maps > 3


def test_report_status_and_run_know_the_step(results, flyannot):
    flyannot("report results -o page.html", code=0)
    page = (results.parent / "page.html").read_text()
    assert 'class="map"' in page and "denoised.h5" in page and "denoise.below" in page
    flyannot("run c.toml", code=0)
    assert "everything is up to date" in flyannot("run c.toml", code=0).err
    rows = flyannot("status results", code=0).out.splitlines()
    assert len(rows) == len(STEPS) and all(row.endswith("done") for row in rows), rows


def test_a_run_without_terms_gets_suggestions_from_extract(results, flyannot, tmp_path):
    config = write_configuration(tmp_path, images='[select]\nstage-range = "4-6"\n')
    (tmp_path / "embryos" / "annotations.csv").unlink()
    flyannot("run C --step extract", C=config, code=0)
    assert (tmp_path / "results" / "predictions.h5").exists()
    assert "would write" in flyannot("run C --dry-run", C=config, code=0).err


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("annotate results/model.h5 embryos -o x.h5", "model.h5"),
        ("annotate results/model.h5 results/features.h5 -o x.h5", "model.h5"),
        ("explain results/model.h5 embryos -o x", "model.h5"),
        ("pool embryos results/dictionary.h5 -o x.h5", "dictionary.h5"),
        ("pool results/denoised.h5 results/dictionary.h5 -o x.h5", "denoised.h5"),
        ("learn-dict results/denoised.h5 -o x.h5", "denoised.h5"),
        ("train results/features.h5 embryos/annotations.csv -o x.h5", "features.h5"),
        ("similar results/features.h5 copy.png -o x.csv", "features.h5"),
        ("report results -o x.html", "dictionary.h5"),
    ],
)
def test_a_reader_without_the_step_refuses_the_file(results, flyannot, monkeypatch, line, file):
    monkeypatch.setattr(STEPS, "import_paths", PLAIN)
    said = flyannot(line, code=65)
    assert f"{file} was made with the step denoise" in said.err and "without it" in said.err
    assert not list(results.parent.glob("x*"))


def test_a_run_without_the_step_makes_all_anew(results, plain, flyannot, monkeypatch):
    with monkeypatch.context() as without:
        without.setattr(STEPS, "import_paths", PLAIN)
        said = flyannot("run c.toml", code=0)
        assert 'chain was ["extract","denoise"]' in said.err
        assert digests(results) == digests(plain) | {"denoised": digests(results)["denoised"]}
        forget()
    before = digests(results)
    assert 'chain was not given and is now ["extract","denoise"]' in flyannot("run c.toml", code=0).err
    assert not any(digests(results)[kind] == before[kind] for kind in CHANGED)


def every_second(described, **changed):
    """Return every second patch."""
    columns = ("descriptors", "centres_px", "patch_px")
    return replace(described, **{name: getattr(described, name)[::2] for name in columns} | changed)


def moved(described, by_px):
    return replace(described, centres_px=described.centres_px + np.float32(by_px))


def reversed_patches(described):
    columns = ("descriptors", "centres_px", "patch_px")
    return replace(described, **{name: getattr(described, name)[::-1] for name in columns})


CHANGES = [  # a change, what it may be said to change, and the fault if it is said to change less
    (lambda d: replace(d, descriptors=d.descriptors // 2), ("values",), "other values"),
    (every_second, ("patches",), "patches of"),
    (lambda d: moved(d, 0.5), ("positions",), "at other places"),
    (lambda d: replace(d, patch_px=d.patch_px + 4), ("positions",), "at other places"),
    (lambda d: moved(every_second(d), 0.5), ("positions", "patches"), "patches"),
    (
        lambda d: every_second(d, descriptors=d.descriptors[1::2]),
        ("values", "patches"),
        "patches of|other values",
    ),
]
NEVER = [
    (lambda d: replace(d, descriptors=d.descriptors * 1.5), "descriptors of float64"),
    (lambda d: replace(d, descriptors=d.descriptors[:, ::2]), r"shape \(\d+, 64\)"),
    (lambda d: replace(d, descriptors=d.descriptors[::2]), "descriptors, "),
    (lambda d: replace(d, centres_px=d.centres_px + np.array([0.5])), "centres_px of float64"),
    (lambda d: replace(d, patch_px=d.patch_px.tolist()), "patch_px of int64"),
    (lambda d: moved(d, 200), "a centre outside the picture"),
    (lambda d: moved(d, np.nan), "a centre outside the picture"),
    (lambda d: None, "NoneType, not DescribedPatches"),
]


@pytest.fixture
def described(rng):
    return describe_patches(255 * rng.random((128, 320)), ExtractOptions(stride_px=16))


def transform(change, changes):
    return PatchTransform("denoise", lambda described, options: change(described), None, changes)


@pytest.mark.parametrize(("change", "may_change", "fault"), CHANGES)
def test_a_step_changes_what_it_says_and_nothing_else(described, change, may_change, fault):
    assert len(transform(change, may_change)(described).descriptors) > 0
    for less in (set(may_change) - {one} for one in may_change):
        with pytest.raises(FlyannotError, match=f"the step denoise returned .*({fault})") as caught:
            transform(change, tuple(less))(described)
        assert "correct its function" in caught.value.fix


@pytest.mark.parametrize(("change", "fault"), NEVER)
def test_what_cannot_be_pooled_is_refused_whatever_a_step_says(described, change, fault):
    with pytest.raises(FlyannotError, match=fault):
        transform(change, ("values", "positions", "patches"))(described)


def test_a_step_may_overwrite_its_patches_and_is_checked_all_the_same(described):
    def halve(described):
        described.descriptors[:] //= 2
        return replace(described, n_candidates=0)

    before = described.descriptors.copy()
    halved = transform(halve, ("values",))(described)
    np.testing.assert_array_equal(halved.descriptors, before // 2)
    assert halved.n_candidates == described.n_candidates > 0
    with pytest.raises(FlyannotError, match="other values"):
        transform(halve, ("patches",))(described)


def test_a_step_that_drops_patches_keeps_their_order(described):
    with pytest.raises(FlyannotError, match="in another order"):
        transform(reversed_patches, ("values", "patches"))(described)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"kind": ""}, "needs a kind"),
        ({"transform": ""}, "needs a transform"),
        ({"name": "clean"}, "in the table denoise"),
        ({"options": type("Hidden", (ReportOptions,), {"table": "denoise"})}, "must be in headers"),
        ({"changes": ()}, "must say what its transform changes"),
        ({"changes": ("colours",)}, "must say what its transform changes"),
    ],
)
def test_a_step_whose_parts_disagree_is_refused(results, changes, fault):
    with pytest.raises(ValueError, match=fault):
        replace(STEPS["denoise"], **changes)
