"""`--shard I/N`: shards are files, and all of them together make what one run makes."""

import numpy as np
import pytest

from flyannot.dataset.folder import read_images
from flyannot.errors import DataError, InputError
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.steps.annotate import annotate
from flyannot.steps.engine.parts import share_of
from flyannot.steps.engine.task import Execution
from flyannot.steps.extract import extract
from flyannot.steps.join import join_files
from flyannot.steps.learn_dict import learn_dict
from flyannot.steps.options import AnnotateOptions
from flyannot.steps.pool import pool
from flyannot.steps.train import train
from flyannot.store.reading import open_stored
from flyannot.store.schema import SCHEMAS
from tests.cli.test_cli import faulty
from tests.small_embryos import CLASSIFY, EXTRACT, LEARN, POOL

ONCE = Execution()
N = 3


@pytest.fixture(scope="module")
def shards(chain, tmp_path_factory):
    """Descriptors in three shards, the features pooled from them in three others, and predictions."""
    folder = tmp_path_factory.mktemp("shards")
    images = read_images(chain.embryos)
    descriptors = [folder / f"descriptors.{i}.h5" for i in range(1, N + 1)]
    features = [folder / f"features.{i}.h5" for i in range(1, N + 1)]
    for i in range(N):
        extract(images, descriptors[i], EXTRACT, ONCE, shard=(i + 1, N))
    for i in range(N):
        pool(descriptors, chain.dictionary, features[i], POOL, ONCE, shard=(i + 1, N))
    predictions = [folder / f"predictions.{i}.h5" for i in range(1, N + 1)]
    for i in range(N):
        annotate(chain.model, images, predictions[i], AnnotateOptions(), ONCE, shard=(i + 1, N))
    return {"descriptors": descriptors, "features": features, "predictions": predictions}


def arrays(path):
    """Every dataset of a file, by stage range and name."""
    with open_stored(path) as stored:
        names = [name for name in SCHEMAS[stored.kind] if not name.startswith("trace")]
        return {(s, n): stored.array(s, n) for s in stored.stage_ranges for n in names
                if n in stored.group(s)}  # fmt: skip


@pytest.mark.parametrize("kind", ["descriptors", "features"])
def test_shards_end_to_end_are_the_whole(chain, shards, kind):
    whole, parts = arrays(chain.kinds[kind]), [arrays(path) for path in shards[kind]]
    for key, found in whole.items():
        if key[1] == "D" or key[1] == "first":
            continue
        values = [one for part in parts for one in part[key]]
        assert len(values) == len(found) and all(np.array_equal(a, b) for a, b in zip(values, found)), key
    sizes = [len(part["4-6", "image"]) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("kind", ["descriptors", "features", "predictions"])
def test_joined_shards_are_what_one_run_makes(chain, shards, kind, tmp_path):
    """In whatever order they are named; a second run has nothing to do."""
    out, (a, b, c) = tmp_path / "joined.h5", shards[kind]
    assert join_files([c, a, b], out, ONCE).made and not join_files([a, b, c], out, ONCE).made
    found, expected = arrays(out), arrays(chain.kinds[kind])
    assert found.keys() == expected.keys()
    np.testing.assert_equal(found, expected)  # nan-safe
    with open_stored(out) as joined, open_stored(chain.kinds[kind]) as whole:
        assert joined.options == whole.options and "shard" not in joined.inputs
    if kind == "predictions":
        table = out.with_suffix(".csv")
        assert table.read_bytes() == chain.predictions.with_suffix(".csv").read_bytes()
        table.unlink()
        join_files([a, b, c], out, ONCE)
        assert table.exists()


def test_a_group_is_never_cut(shards):
    """All images of a gene in a stage range are annotated together, so one shard has them all."""
    groups = [set(zip([s] * 999, stored[s, "group"])) for stored in map(arrays, shards["predictions"])
              for s in STAGE_RANGES if (s, "group") in stored]  # fmt: skip
    assert sum(map(len, groups)) == len(set().union(*groups))


def test_join_refuses_what_would_not_be_whole(chain, shards, tmp_path):
    a, b, c = shards["features"]
    out = tmp_path / "out.h5"
    with pytest.raises(InputError, match="shard 2/3 is missing"):
        join_files([a, c], out, ONCE)
    with pytest.raises(InputError, match="both hold the image"):
        join_files([a, b, c, chain.features], out, ONCE)
    with pytest.raises(InputError, match="never cut"):
        join_files([chain.dictionary], out, ONCE)
    with pytest.raises(DataError, match="features"):
        join_files([shards["descriptors"][0], a], out, ONCE)
    assert not out.exists()


def test_what_is_learned_from_shards_has_the_same_bits(chain, shards, tmp_path):
    """In whatever order they are named."""
    learn_dict(shards["descriptors"][::-1], tmp_path / "dictionary.h5", LEARN, ONCE)
    train(
        shards["features"][1:] + shards["features"][:1], chain.annotations, tmp_path / "m.h5", CLASSIFY, ONCE
    )
    for ours, theirs in (("dictionary.h5", chain.dictionary), ("m.h5", chain.model)):
        found, expected = arrays(tmp_path / ours), arrays(theirs)
        assert found.keys() == expected.keys()
        np.testing.assert_equal({key: found[key] for key in expected}, expected)


def test_stage_ranges_apart_are_files_of_one_kind_too(chain, tmp_path):
    for s in ("4-6", "11-12"):
        pool([chain.descriptors], chain.dictionary, tmp_path / f"{s}.h5", POOL, ONCE, stage_ranges=[s])
    train([tmp_path / "11-12.h5", tmp_path / "4-6.h5"], chain.annotations, tmp_path / "m.h5", CLASSIFY, ONCE)
    found, expected = arrays(tmp_path / "m.h5"), arrays(chain.model)
    np.testing.assert_equal({key: found[key] for key in expected}, expected)


def test_the_features_of_a_shard_are_that_shard_of_the_features(chain, shards, tmp_path):
    for i, path in enumerate(shards["descriptors"]):
        pool([path], chain.dictionary, tmp_path / f"f.{i}.h5", POOL, ONCE)
        found, expected = arrays(tmp_path / f"f.{i}.h5"), arrays(shards["features"][i])
        np.testing.assert_equal({key: found[key] for key in expected}, expected)
        with open_stored(tmp_path / f"f.{i}.h5") as stored:
            assert stored.inputs["shard"] == [f"{i + 1}/{N}"]


def test_a_missing_shard_is_noted_and_one_named_twice_refused(chain, shards, tmp_path, caplog):
    parts = shards["features"]
    train(parts[:2], chain.annotations, tmp_path / "m.h5", CLASSIFY, ONCE)
    assert "without shard 3/3" in caplog.text
    with pytest.raises(InputError, match="hold the same"):
        train([*parts, parts[0]], chain.annotations, tmp_path / "n.h5", CLASSIFY, ONCE)


def test_shards_pooled_with_different_dictionaries_are_refused(chain, shards, tmp_path):
    learn_dict(shards["descriptors"][:2], tmp_path / "d.h5", LEARN, ONCE)
    pool(shards["descriptors"], tmp_path / "d.h5", tmp_path / "f.h5", POOL, ONCE, shard=(1, N))
    parts = [tmp_path / "f.h5", *shards["features"][1:]]
    with pytest.raises(DataError, match="different dictionaries of 4-6"):
        train(parts, chain.annotations, tmp_path / "m.h5", CLASSIFY, ONCE)


@pytest.mark.parametrize("count", [1, 2, 5, 7])
def test_shares_are_disjoint_complete_and_even(count):
    images = {s: list(range(n)) for s, n in zip(STAGE_RANGES, (0, 1, 5, 7, 20))}
    shares = []
    for number in range(1, count + 1):
        mine, entry = share_of(images, (number, count))
        assert entry == {"shard": [f"{number}/{count}"]}
        shares.append(mine)
    for s, whole in images.items():
        assert [one for mine in shares for one in mine.get(s, [])] == whole
        sizes = [len(mine.get(s, [])) for mine in shares]
        assert max(sizes) - min(sizes) <= 1
    assert share_of(images, None) == (images, {})
    with pytest.raises(InputError, match="shard 1/21 holds no image"):
        share_of(images, (1, 21))


def test_the_command_line_takes_shards(flyannot, chain, tmp_path):
    names = {"E": chain.embryos, "D": tmp_path / "d.h5", "L": chain.dictionary, "F": tmp_path / "f.h5"}
    assert flyannot("extract E -o D --shard 2/40 --jobs 1", **names).code == 0
    said = flyannot("extract E -o D --shard 3/40 --jobs 1", **names)
    assert said.code == 2 and "shard" in said.err
    assert "from     shard 2/40" in flyannot("show D", **names).out
    assert flyannot("pool D L -o F --grid 1x2 --shard 1/1 --jobs 1", **names).code == 0
    for wrong in ("0/3", "4/3", "2", "a/b", "-1/2"):
        faulty(flyannot(f"extract E -o D --shard={wrong}", **names), 2, "2/8")
    faulty(flyannot("extract E -o F --shard 1/999", **names), 2, "holds no image")
