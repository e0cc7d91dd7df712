"""What the benchmarks measure on: read as it was written, and no sample on both sides."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.findings import Source
from benchmarks.inputs import patches as inputs
from benchmarks.inputs import pictures
from benchmarks.inputs.patches import patches_of
from benchmarks.inputs.pictures import embryo_images
from benchmarks.inputs.ratings import ratings_or_synthetic, read_ratings
from flyannot.base.errors import DataError


def test_no_patch_is_both_learned_from_and_evaluated(setup, monkeypatch, rng):
    monkeypatch.setattr(inputs, "N_HELD", 50)
    greys = [rng.integers(0, 256, (64, 64), dtype=np.uint8) for _ in range(2)]
    monkeypatch.setattr(inputs, "embryo_pictures", lambda *a, **k: (greys, Source("noise")))
    made = patches_of(setup, 400)
    held, patches = (set(map(bytes, np.load(made.path(name)))) for name in ("held", "patches"))
    assert len(held) == 50 and len(patches) == 400 and not held & patches
    assert patches_of(setup, 400) is made


def test_without_images_there_are_synthetic_embryos_that_say_so_and_end(setup, monkeypatch):
    monkeypatch.setattr(pictures, "_N_GENES", 3)
    images, source = embryo_images(setup)
    assert source.kind == "synthetic" and "SYNTHETIC" in source.text and len(images) > 20
    given = patches_of(setup, 500, "4-6")
    patches, held = np.load(given.path("patches")), np.load(given.path("held"))
    assert patches.shape == (500, 128) and held.dtype == np.uint8 and given.source.kind == "synthetic"
    with pytest.raises(DataError, match="are needed"):
        patches_of(setup, 10_000_000)


@pytest.mark.parametrize(
    "name, text",
    [
        ("u.data", "10\t5\t3\t881250949\n2\t5\t4\t1\n2\t7\t1\t1\n"),
        ("ratings.dat", "10::5::3::881250949\n2::5::4::1\n2::7::1::1\n"),
        ("combined_data_1.txt", "5:\n10,3,2005-09-06\n2,4,2005-05-13\n7:\n2,1,2005-10-19\n"),
        ("ratings.csv", "userId,movieId,rating,timestamp\n10,5,3.0,881250949\n2,5,4.0,1\n2,7,1.0,1\n"),
    ],
)
def test_every_layout_of_movielens_and_netflix_gives_the_same_ratings(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    found = read_ratings(tmp_path / name)
    assert found.shape == (2, 2)
    assert list(zip(found.rows, found.columns, found.values)) == [(1, 0, 3.0), (0, 0, 4.0), (0, 1, 1.0)]


def test_without_a_file_ratings_are_synthetic_and_say_so(setup, tmp_path):
    found, source = ratings_or_synthetic(setup, 3000)
    assert source.kind == "synthetic" and "SYNTHETIC" in source.text and 2500 < len(found) <= 3000
    assert set(found.values) == {1.0, 2.0, 3.0, 4.0, 5.0} and 3 < found.values.mean() < 4
    (tmp_path / "u.data").write_text("1\t2\t3\t0\n1\t3\t4\t0\n")
    found, source = ratings_or_synthetic(replace(setup, ratings=tmp_path / "u.data"), 3000)
    assert source.kind == "real" and source.text == "2 ratings of 2 items by 1 users, u.data"


@pytest.mark.parametrize(
    "text, message",
    [("1,2\n", "line 1"), ("1,2,3\n1,x,3\n", "line 2"), ("1,2,3\n1,2,4\n", "twice"), ("", "no r")],
)
def test_faulty_ratings_are_refused(tmp_path, text, message):
    (tmp_path / "ratings.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        read_ratings(tmp_path / "ratings.csv")
