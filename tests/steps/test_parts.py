"""Outputs in parts, whoever makes them; and files of one kind that count as one input."""

from collections import Counter

import numpy as np
import pytest

from flyannot.dataset.folder import read_images
from flyannot.errors import DataError, InputError
from flyannot.runtime.digest import digest_of_file
from flyannot.steps.annotate import annotate_task
from flyannot.steps.engine import images as engine_images
from flyannot.steps.engine import parts
from flyannot.steps.engine.parts import folder_of_parts, share_of_parts
from flyannot.steps.engine.task import Execution, make_part_of_task, run_task
from flyannot.steps.extract import extract_task
from flyannot.steps.learn_dict import learn_task
from flyannot.steps.options import AnnotateOptions
from flyannot.steps.pool import pool_images_task, pool_task
from flyannot.steps.train import train_task
from flyannot.store.reading import open_stored
from flyannot.store.schema import SCHEMAS
from tests.small_embryos import CLASSIFY, EXTRACT, LEARN, POOL

ONCE = Execution()
N = 3


def arrays(path):
    """Every dataset of a file, by stage range and name."""
    with open_stored(path) as stored:
        names = [name for name in SCHEMAS[stored.kind] if not name.startswith("trace")]
        return {
            (s, name): stored.array(s, name)
            for s in stored.stage_ranges
            for name in names
            if name in stored.group(s)
        }


def assert_same(path, expected_path):
    found, expected = arrays(path), arrays(expected_path)
    np.testing.assert_equal({key: found[key] for key in expected}, expected)  # nan-safe


TASKS = {
    "extract": lambda c, images, out: extract_task(images, out, EXTRACT),
    "pool": lambda c, images, out: pool_task([c.descriptors], c.dictionary, out, POOL),
    "pool images": lambda c, images, out: pool_images_task(images, c.dictionary, out, POOL),
    "annotate": lambda c, images, out: annotate_task(c.model, images, out, AnnotateOptions()),
}


@pytest.mark.parametrize("name", TASKS)
def test_parts_that_several_jobs_make_are_joined_to_what_one_makes(chain, tmp_path, name):
    """The joining step makes none of them again, and leaves none."""
    images = read_images(chain.embryos)
    whole, out = tmp_path / "whole.h5", tmp_path / "out.h5"
    run_task(TASKS[name](chain, images, whole), ONCE)
    for number in (2, 3, 1):
        assert make_part_of_task(TASKS[name](chain, images, out), (number, N), ONCE)
    made = {path: path.stat().st_mtime_ns for path in folder_of_parts(out).glob("*.h5")}
    assert len(made) == (1 if name == "annotate" else 2) and not out.exists()  # groups, or images
    assert make_part_of_task(TASKS[name](chain, images, out), (1, N), ONCE)
    assert made == {path: path.stat().st_mtime_ns for path in folder_of_parts(out).glob("*.h5")}
    assert run_task(TASKS[name](chain, images, out), ONCE).made
    assert out.read_bytes() == whole.read_bytes() and not folder_of_parts(out).exists()
    assert not make_part_of_task(TASKS[name](chain, images, out), (1, N), ONCE), "it is up to date"


@pytest.mark.parametrize("name", ["extract", "pool images", "annotate"])
def test_a_command_reads_each_image_once_for_its_digest_and_a_job_only_its_own(
    chain, tmp_path, name, monkeypatch
):
    """Although the header of the output has that of all images, and each part that of its own."""
    read = Counter()

    def counted(path):
        read[path.name] += 1
        return digest_of_file(path)

    monkeypatch.setattr(engine_images, "digest_of_file", counted)
    monkeypatch.setattr(parts, "IMAGES_PER_PART", 7)
    images = read_images(chain.embryos)
    run_task(TASKS[name](chain, images, tmp_path / "out.h5"), ONCE)
    assert read == Counter(image.path.name for image in images)
    n_of_jobs = []
    for number in range(1, N + 1):
        read.clear()
        make_part_of_task(TASKS[name](chain, images, tmp_path / "parts.h5"), (number, N), ONCE)
        n_of_jobs.append(read.total())
    assert sum(n_of_jobs) == len(images) and 0 < max(n_of_jobs) < len(images)


def test_what_is_made_in_one_piece_has_no_parts(chain, tmp_path):
    task = learn_task([chain.descriptors], tmp_path / "d.h5", LEARN)
    with pytest.raises(InputError, match="made in one piece"):
        make_part_of_task(task, (1, 2), ONCE)


@pytest.mark.parametrize("n_parts", [0, 1, 2, 7, 20])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_parts_divided_among_jobs_are_disjoint_complete_and_even(n_parts, count):
    parts = list(range(n_parts))
    shares = [share_of_parts(parts, (number, count)) for number in range(1, count + 1)]
    assert [part for share in shares for part in share] == parts == share_of_parts(parts, None)
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1


@pytest.fixture(scope="module")
def halves(chain, tmp_path_factory):
    """Descriptors of the genes of each half, and the features pooled from them."""
    folder, images = tmp_path_factory.mktemp("halves"), read_images(chain.embryos)
    genes = sorted({image.gene for image in images})
    descriptors, features = [], []
    for number, half in enumerate((genes[:12], genes[12:])):
        descriptors.append(folder / f"descriptors-{number}.h5")
        features.append(folder / f"features-{number}.h5")
        task = extract_task([image for image in images if image.gene in half], descriptors[-1], EXTRACT)
        run_task(task, ONCE)
        run_task(pool_task([descriptors[-1]], chain.dictionary, features[-1], POOL), ONCE)
    return descriptors, features


def test_files_of_one_kind_count_as_one(chain, halves, tmp_path):
    """The halves follow each other as their genes do in the whole: what is learned has the same bits."""
    descriptors, features = halves
    run_task(learn_task(descriptors, tmp_path / "dictionary.h5", LEARN), ONCE)
    assert_same(tmp_path / "dictionary.h5", chain.dictionary)
    run_task(train_task(features, chain.annotations, tmp_path / "m.h5", CLASSIFY), ONCE)
    assert_same(tmp_path / "m.h5", chain.model)
    with pytest.raises(InputError, match="hold the same"):
        task = train_task([*features, features[0]], chain.annotations, tmp_path / "n.h5", CLASSIFY)
        run_task(task, ONCE)


def test_stage_ranges_apart_are_files_of_one_kind_too(chain, tmp_path):
    for s in ("4-6", "11-12"):
        task = pool_task([chain.descriptors], chain.dictionary, tmp_path / f"{s}.h5", POOL, stage_ranges=[s])
        run_task(task, ONCE)
    paths = [tmp_path / "11-12.h5", tmp_path / "4-6.h5"]
    run_task(train_task(paths, chain.annotations, tmp_path / "m.h5", CLASSIFY), ONCE)
    assert_same(tmp_path / "m.h5", chain.model)


def test_features_pooled_with_different_dictionaries_are_refused(chain, halves, tmp_path):
    descriptors, features = halves
    run_task(learn_task(descriptors[:1], tmp_path / "d.h5", LEARN), ONCE)
    run_task(pool_task(descriptors[:1], tmp_path / "d.h5", tmp_path / "f.h5", POOL), ONCE)
    with pytest.raises(DataError, match="different dictionaries of 4-6"):
        task = train_task([tmp_path / "f.h5", features[1]], chain.annotations, tmp_path / "m.h5", CLASSIFY)
        run_task(task, ONCE)
