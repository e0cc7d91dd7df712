"""Tests of outputs in parts, and of files of one kind that count as one input."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from flyannot.base.errors import DataError
from flyannot.dataset.folder import Image, read_images
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.schema import SCHEMAS
from flyannot.pipeline.engine import parts
from flyannot.pipeline.engine.images import cluster_images, describe_image_changes
from flyannot.pipeline.engine.parts import parts_folder, select_share
from flyannot.pipeline.engine.task import Execution, run_task_share
from flyannot.pipeline.steps.learn_dict import DictionaryTask
from flyannot.pipeline.steps.pool import pool_images_task, pool_task
from flyannot.pipeline.steps.train import ModelTask
from tests.small_embryos import CLASSIFY, LEARN, POOL, make

ONCE = Execution()
N = 3  # jobs


def arrays(path):
    """Return every dataset of a file, by stage range and name."""
    stored = open_stored_file(path)
    names = [name for name in SCHEMAS[stored.kind] if not name.startswith("trace")]
    return {
        (s, name): stored.read_array(s, name)
        for s in stored.stage_ranges
        for name in names
        if name in stored.datasets(s)
    }


def assert_same(path, expected_path):
    found, expected = arrays(path), arrays(expected_path)
    np.testing.assert_equal({key: found[key] for key in expected}, expected)  # nan equals nan here


def task_of(chain, name, out, images=None):
    """Return the task of a kind, or of features that are pooled from images without descriptors."""
    if name == "features of images":
        return pool_images_task(images or read_images(chain.embryos), chain.dictionary, out, POOL)
    return chain.task(name, out, images=images)


@pytest.mark.parametrize("name", ["descriptors", "features", "features of images", "predictions"])
def test_parts_that_several_jobs_make_are_joined_to_what_one_makes(chain, tmp_path, name):
    """Check that joining makes no part again, and removes all parts."""
    whole, out = tmp_path / "whole.h5", tmp_path / "out.h5"
    make(task_of(chain, name, whole))
    for number in (2, 3, 1):
        assert run_task_share(task_of(chain, name, out), (number, N), ONCE)
    made = {path: path.stat().st_mtime_ns for path in parts_folder(out).glob("*.part.h5")}
    assert len(made) == 2 and not out.exists()
    assert run_task_share(task_of(chain, name, out), (1, N), ONCE)
    assert made == {path: path.stat().st_mtime_ns for path in parts_folder(out).glob("*.part.h5")}
    assert make(task_of(chain, name, out)).made
    assert out.read_bytes() == whole.read_bytes() and not parts_folder(out).exists()
    assert not run_task_share(task_of(chain, name, out), (1, N), ONCE), "it is up to date"


@pytest.mark.parametrize("name", ["descriptors", "features of images", "predictions"])
def test_the_part_of_an_image_that_has_changed_since_is_made_anew_and_no_other(
    own_chain, tmp_path, name, monkeypatch
):
    monkeypatch.setattr(parts, "IMAGES_PER_PART", 7)
    out, fresh, states = tmp_path / "out.h5", tmp_path / "fresh.h5", []
    images = read_images(own_chain.embryos)[::3]
    for _ in range(2):
        run_task_share(task_of(own_chain, name, out, images), (1, 1), ONCE)
        states.append({(path, path.stat().st_mtime_ns) for path in parts_folder(out).glob("*.part.h5")})
        Path(images[0].path).write_bytes(Path(images[-1].path).read_bytes())
    assert len(states[0] - states[1]) == 1 < len(states[0])
    make(task_of(own_chain, name, out, images))
    make(task_of(own_chain, name, fresh, images))
    assert out.read_bytes() == fresh.read_bytes()


@pytest.mark.parametrize("n_parts", [0, 1, 2, 7, 20])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_parts_divided_among_jobs_are_disjoint_complete_and_even(n_parts, count):
    parts = list(range(n_parts))
    shares = [select_share(parts, (number, count)) for number in range(1, count + 1)]
    assert [part for share in shares for part in share] == parts == select_share(parts, None)
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1


@pytest.fixture(scope="module", params=["gene", "stage_range"])
def halves(chain, tmp_path_factory, request):
    """Return descriptors of each half of the genes or stage ranges, and the features pooled from them."""
    folder, images = tmp_path_factory.mktemp("halves"), read_images(chain.embryos)
    every = sorted({getattr(image, request.param) for image in images})
    descriptors, features = [], []
    for number, half in enumerate((every[: len(every) // 2], every[len(every) // 2 :])):
        descriptors.append(folder / f"descriptors-{number}.h5")
        features.append(folder / f"features-{number}.h5")
        of_half = [image for image in images if getattr(image, request.param) in half]
        make(chain.task("descriptors", descriptors[-1], images=of_half))
        stage_ranges = sorted({image.stage_range for image in of_half})
        make(pool_task([descriptors[-1]], chain.dictionary, features[-1], POOL, stage_ranges=stage_ranges))
    return descriptors, features


def test_files_of_one_kind_count_as_one(chain, halves, tmp_path):
    """Learn from halves that follow each other like the genes of the whole, for the same bits."""
    descriptors, features = halves
    make(DictionaryTask(descriptors, tmp_path / "dictionary.h5", LEARN))
    assert_same(tmp_path / "dictionary.h5", chain.dictionary)
    make(pool_task(descriptors, chain.dictionary, tmp_path / "f.h5", POOL))
    assert_same(tmp_path / "f.h5", chain.features)
    make(ModelTask(features, chain.curated, tmp_path / "m.h5", CLASSIFY))
    assert_same(tmp_path / "m.h5", chain.model)


@pytest.mark.parametrize("halves", ["gene"], indirect=True)
def test_features_pooled_with_different_dictionaries_are_refused(chain, halves, tmp_path):
    descriptors, features = halves
    make(DictionaryTask(descriptors[:1], tmp_path / "d.h5", LEARN))
    make(pool_task(descriptors[:1], tmp_path / "d.h5", tmp_path / "f.h5", POOL))
    with pytest.raises(DataError, match="different dictionaries of 4-6"):
        make(ModelTask([tmp_path / "f.h5", features[1]], chain.curated, tmp_path / "m.h5", CLASSIFY))


def test_images_of_one_file_or_group_stay_together_and_if_a_stage_is_open_of_one_gene():
    def image(file, gene, stage_range):
        return Image(file, file, gene, stage_range, group=gene)

    known = [image("a", "x", "4-6"), image("b", "x", "7-8"), image("c", "y", "4-6"), image("c", "z", "4-6")]
    assert [len(some) for some in cluster_images(known)] == [1, 2, 1]
    assert [len(some) for some in cluster_images([*known, image("d", "y", "")])] == [3, 2]


def test_embryos_of_one_photograph_are_counted_as_the_photograph_of_the_table():
    found = ["a.tif#1", "a.tif#2", "b.tif#2"]  # the last is a photograph of that name
    stored = SimpleNamespace(stage_ranges=["4-6"], failures=[], read_array=lambda s, name: found)
    images = [Image(name, name, "x", "4-6") for name in ("a.tif", "b.tif#2", "c.tif")]
    assert describe_image_changes(images, stored) == "it lacks 1 image, c.tif"
    assert describe_image_changes(images[1:2], stored) == "it has 1 image, a.tif, not asked for"


def test_removing_parts_removes_locks_that_killed_jobs_left(tmp_path):
    left = tmp_path / ".out.h5.1-of-2.lock"
    left.touch()
    (tmp_path / ".other.h5.1-of-2.lock").touch()
    parts.remove_parts(tmp_path / "out.h5")
    assert [path.name for path in tmp_path.iterdir()] == [".other.h5.1-of-2.lock"]
