"""Bars, Gabor functions and few labels, as Lee et al. have them, on made-up bases."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.items import ITEMS
from benchmarks.lee import self_taught
from benchmarks.page.figures import draw
from benchmarks.records import paths_of

pytestmark = pytest.mark.usefixtures("in_this_process")


@pytest.fixture
def small(setup):
    sizes = {"patch_px": 6, "n_atoms": 18, "n_samples": 400, "n_epochs": 2}
    return replace(setup, sizes=sizes | {"n_draws": 3, "n_labelled": 10})


def test_bases_are_learned_once_drawn_and_shown_bars(small, tmp_path):
    pytest.importorskip("skimage.data")
    items = [ITEMS[name] for name in ("lee-section-5-3", "lee-section-5-4")]
    found = [item.finding(small).evaluated_by(item.statements) for item in items]
    assert np.shape(found[0].panels[0].tiles) == (18, 6, 6)
    assert all(case.value is not None for one in found for claim in one.claims for case in claim.cases)
    pytest.importorskip("matplotlib")
    paths = paths_of(tmp_path, "bases")
    paths["svg"].parent.mkdir(exist_ok=True)
    draw(found[0], "bases", paths["svg"])
    assert b"<svg" in paths["svg"].read_bytes()


def test_features_of_unlabelled_digits_are_tested_on_others(small, monkeypatch):
    for name, value in {"_N_PATCHES": 400, "_N_EPOCHS": 3, "_LAMS": (0.1, 0.02)}.items():
        monkeypatch.setattr(self_taught, name, value)
    rows = ITEMS["lee-section-6"].finding(small).rows
    assert len(rows) == 9 and all(0 < row["error"] < 0.8 and len(row["errors"]) == 3 for row in rows)
