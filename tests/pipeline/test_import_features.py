"""Tests that features of another program can be used like our own."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from flyannot.files.hdf5.features import read_features
from flyannot.files.hdf5.reading import open_stored_file

TERMS = "embryos/annotations.csv"
_OPTIONS = "--min-groups 6 --method ridge"


@pytest.fixture(scope="module")
def vectors(chain):
    """Return a table as a network would give it: the features of the chain in random order."""
    columns, rows, ranges = {}, [], []
    stored = open_stored_file(chain.features)
    for s in stored.stage_ranges:
        found, X = read_features([stored], s)
        for name, values in found.items():
            columns.setdefault(name, []).extend(values)
        rows.append(X)
        ranges += [s] * len(X)
    order = np.random.default_rng(0).permutation(len(ranges))
    table = {name: np.array(columns[name])[order] for name in ("image", "gene", "fbgn", "view")}
    return table | {"stage_range": np.array(ranges)[order], "vector": np.concatenate(rows)[order]}


@pytest.fixture
def imported(flyannot, vectors, desk):
    """Import the table into the working folder, and return the path of the features."""
    np.savez("network.npz", **vectors)
    flyannot("import features network.npz -o network.h5", code=0)
    return desk / "network.h5"


def test_vectors_are_those_of_the_table_in_the_order_of_images(imported, chain):
    stored = open_stored_file(imported)
    expected = open_stored_file(chain.features)
    for s in expected.stage_ranges:
        (columns, X), (expected_columns, Y) = (read_features([one], s) for one in (stored, expected))
        assert all(columns[name] == expected_columns[name] for name in ("image", "gene", "fbgn", "view"))
        assert np.array_equal(X, Y)


def test_they_are_evaluated_searched_and_compared_as_ours_and_score_the_same(flyannot, imported):
    stored = open_stored_file(imported)
    image = stored.read_array("4-6", "image")[0]
    scores, alike = [], []
    for name in ("network", "features"):
        line = f"evaluate {name}.h5 {TERMS} --folds 2 {_OPTIONS} --json {name}.json"
        flyannot(line, code=0)
        scores.append(json.loads(Path(f"{name}.json").read_text()))
        flyannot(f"similar {name}.h5 {image} -o {name}.csv", code=0)
        alike.append(Path(f"{name}.csv").read_text())
    assert scores[0]["terms"] == scores[1]["terms"]
    assert alike[0] == alike[1]
    flyannot("compare network.json features.json", code=0)


def test_they_train_annotate_and_are_reported_without_maps(flyannot, imported, chain):
    folder = Path("results")
    folder.mkdir()
    imported.rename(folder / "features.h5")
    for line in (
        f"train results/features.h5 {TERMS} -o results/model.h5 {_OPTIONS}",
        "annotate results/model.h5 results/features.h5 -o results/predictions.h5",
        f"evaluate results/features.h5 {TERMS} --folds 2 {_OPTIONS} --json results/scores.json",
        "show results/model.h5",
        "verify results/features.h5 results/model.h5",
        "report results --data-set embryos",
    ):
        flyannot(line, code=0)
    page = (folder / "report.html").read_text()
    assert "made by another program and have no patches" in page and 'class="map"' not in page
    for line in ("annotate results/model.h5 embryos -o p.h5", "explain results/model.h5 embryos"):
        assert "imported features" in flyannot(line, code=2).err
    said = flyannot("annotate results/model.h5 features.h5 -o p.h5", code=65)
    assert "made in another way" in said.err
    flyannot("annotate model.h5 features.h5 -o p.h5", code=0)
    assert Path("p.csv").read_text() == Path("predictions.csv").read_text(), "of ours, as from pictures"


def test_what_takes_pictures_refuses_them(flyannot, imported, chain):
    shutil.copy(next((chain.embryos / "images").glob("*_4-6_1.png")), "new.png")
    said = flyannot("similar network.h5 new.png -o t.csv --stage-range 4-6", code=2)
    assert "imported" in said.err
