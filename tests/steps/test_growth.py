"""What a step does for every task does not grow with the number of images."""

import pytest

from flyannot.dataset.folder import read_images
from flyannot.features.options import PoolOptions
from flyannot.steps import shards
from flyannot.steps.pool import pool
from flyannot.steps.pooled_images import PooledImages
from flyannot.steps.tasks import Execution
from flyannot.store import kept_open
from flyannot.store.reading import open_stored


@pytest.fixture
def opened(monkeypatch):
    """The files that were looked over, each as often as that was done, by those who keep files open."""
    found = []

    def counted(path, *more, **given):
        found.append(path)
        return open_stored(path, *more, **given)

    monkeypatch.setattr(kept_open, "open_stored", counted)
    return found


def test_pool_looks_the_descriptors_over_once_however_many_tasks_there_are(
    chain, opened, tmp_path, monkeypatch
):
    written = []
    for per_part in (64, 3):
        monkeypatch.setattr(shards, "IMAGES_PER_PART", per_part)
        opened.clear()
        out = tmp_path / f"{per_part}.h5"
        pool([chain.descriptors], chain.dictionary, out, PoolOptions(), Execution())
        assert opened == [chain.descriptors]
        written.append(out.read_bytes())
    assert written[0] == written[1]


def test_a_task_of_annotate_takes_the_places_of_its_own_images_alone(chain, opened):
    images = read_images(chain.embryos)
    with open_stored(chain.features) as stored:
        rows = {
            (s, *what): i
            for s in stored.stage_ranges
            for i, what in enumerate(zip(stored.array(s, "image"), stored.array(s, "view")))
        }
        digest = stored.digest
    everything = PooledImages(chain.features, digest, rows)
    first, second = (everything.narrowed(some) for some in (images[:2], images[2:4]))
    assert len(first.rows) == len(second.rows) == 2
    known = {image.name: features for image, features, _ in everything.of(images)}
    for one, some in ((first, images[:2]), (second, images[2:4])):
        assert all((features == known[image.name]).all() for image, features, _ in one.of(some))
    assert opened == [chain.features]
    kept_open.close_kept()
