"""Tests of a step between `extract` and `learn-dict`, as CONTRIBUTING.md shows it, in every encoder."""

import re
import shutil
import sys
from dataclasses import replace

import h5py
import numpy as np
import pytest

from flyannot.base.errors import FlyannotError
from flyannot.dataset.folder import read_images
from flyannot.encode.encoder import transform_patches
from flyannot.files.hdf5.file_cache import close_cached_files
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.images.extract import describe_patches
from flyannot.images.options import ExtractOptions
from flyannot.jobs.executor import Executor
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.encoding import load_encoder
from flyannot.pipeline.engine.task import Execution
from flyannot.pipeline.explain import explain
from flyannot.pipeline.loaded_model import load_model
from flyannot.pipeline.runs.configuration import read_configuration
from flyannot.pipeline.runs.plan import plan_run
from flyannot.pipeline.runs.run import run_steps
from tests.conftest import ROOT
from tests.page_blocks import blocks_of
from tests.small_embryos import write_configuration

_, DENOISE = blocks_of(ROOT / "CONTRIBUTING.md", "python")
# This variant of the step drops patches, so that their numbers differ from `extract`.
DROPS = """    kept = described.descriptors.max(axis=1) % 2 == 0
    columns = ("descriptors", "centres_px", "patch_px")
    return replace(described, **{name: getattr(described, name)[kept] for name in columns})
"""
PLAIN = dict(STEPS.import_paths)
CHANGED = (
    "dictionary",
    "features",
    "model",
    "predictions",
)  # files that change if a step is added before them


def forget():
    """Forget what this process has loaded, like a new process."""
    close_cached_files()
    load_encoder.cache_clear()
    load_model.cache_clear()


def run(configuration):
    plan = plan_run(read_configuration(configuration))
    with Executor(1) as workers:
        return list(run_steps(plan, Execution(workers=workers)))


def digests(results):
    """Return the digest of every HDF5 file of a run, by name."""
    found = {}
    for path in sorted(results.glob("*.h5")):
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


@pytest.fixture(scope="module", params=["as it is shown", "drops patches"])
def folder(request, tmp_path_factory):
    """Yield the folder of a run with the step: its data set, configuration and results."""
    folder = tmp_path_factory.mktemp("denoised")
    code = DENOISE.code.replace("flyannot.pipeline.denoise", "denoise")
    if request.param == "drops patches":
        before, _ = code.split("    descriptors = described.descriptors\n")
        code = before + DROPS + code[code.index("\n\nDENOISE") :]
    (folder / "denoise.py").write_text(code)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setattr(STEPS, "import_paths", with_step())
        run(write_configuration(folder))
        (folder / "copy.png").write_bytes(image_of(folder).path.read_bytes())
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
    monkeypatch.setenv("FLYANNOT_RUN_JOBS", "1")
    forget()
    return folder / "results"


def values(path):
    """Return the decision values of a predictions file by gene and term."""
    with open_stored_file(path, "predictions") as stored:
        genes, terms = stored.read_array("4-6", "group_gene"), stored.read_array("4-6", "term")
        order = np.argsort(genes)
        return [genes[i] for i in order], terms, stored.read_array("4-6", "decision_value")[order]


def features(path):
    with open_stored_file(path, "features") as stored:
        return [stored.read_array("4-6", name) for name in ("image", "features", "winner", "D")]


def test_files_after_the_step_name_the_chain_and_hold_something_else(results, plain):
    made, before = digests(results), digests(plain)
    assert set(made) == {*before, "denoised"}
    assert made["descriptors"] == before["descriptors"]
    assert not any(made[kind] == before[kind] for kind in CHANGED)
    for kind in made:
        with open_stored_file(results / f"{kind}.h5") as stored:
            pooled = ["pool"] if kind in ("features", "model", "predictions") else []
            expected = None if kind == "descriptors" else ["extract", "denoise", *pooled]
            assert stored.options.get("chain") == expected
            assert stored.kind == ("descriptors" if kind == "denoised" else kind)


def test_annotating_pictures_is_annotating_features(results, plain, flyannot):
    flyannot("annotate results/model.h5 embryos -o pictures.h5", code=0)
    flyannot("annotate results/model.h5 results/features.h5 -o features.h5", code=0)
    genes, terms, found = values("pictures.h5")
    assert (genes, terms) == values("features.h5")[:2]
    np.testing.assert_array_equal(found, values("features.h5")[2])
    np.testing.assert_array_equal(found, values(results / "predictions.h5")[2])
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


def test_maps_of_the_report_are_the_same_from_files_and_from_pictures(results, flyannot, tmp_path):
    pages = tmp_path / "files.html", tmp_path / "pictures.html"
    for kind in ("model", "predictions"):
        shutil.copy(results / f"{kind}.h5", tmp_path)
    flyannot("report results -o P", P=pages[0], code=0)
    flyannot("report T --data-set embryos -o P", T=tmp_path, P=pages[1], code=0)
    maps, again = (re.findall('class="map"[^>]*', page.read_text()) for page in pages)
    assert len(maps) > 12 and maps == again


def test_report_status_and_run_know_the_step(results, flyannot):
    flyannot("report results -o page.html", code=0)
    page = (results.parent / "page.html").read_text()
    assert 'class="map"' in page and "denoised.h5" in page and "denoise.below" in page
    flyannot("run c.toml", code=0)
    assert "everything is up to date" in flyannot("run c.toml", code=0).err
    rows = flyannot("status results", code=0).out.splitlines()
    assert len(rows) == len(STEPS) and all(row.endswith("done") for row in rows), rows


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


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda d: replace(d, descriptors=d.descriptors * 1.5), "descriptors of float64"),
        (lambda d: replace(d, descriptors=d.descriptors[:, ::2]), r"shape \(\d+, 64\)"),
        (lambda d: replace(d, descriptors=d.descriptors[::2]), "descriptors with"),
        (lambda d: None, "returned NoneType"),
    ],
)
def test_a_transform_that_returns_something_else_is_refused(change, fault):
    described = describe_patches(
        255 * np.random.default_rng(0).random((128, 320)), ExtractOptions(stride_px=16)
    )
    with pytest.raises(FlyannotError, match=fault) as caught:
        transform_patches(change, described)
    assert "correct this function" in caught.value.fix


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"kind": ""}, "needs a kind"),
        ({"transform": ""}, "needs a transform"),
        ({"name": "clean"}, "in the table denoise"),
    ],
)
def test_a_step_whose_parts_disagree_is_refused(results, changes, fault):
    with pytest.raises(ValueError, match=fault):
        replace(STEPS["denoise"], **changes)
