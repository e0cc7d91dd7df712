"""The items that measure learning from many patches, and the page of what was recorded."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.findings import Source
from benchmarks.inputs.perturbed import perturbed_units
from benchmarks.items import ITEMS
from benchmarks.ours import enough_patches, share_costs
from benchmarks.page.figures import can_draw
from benchmarks.page.measured import PAGE, measured_page, own_records, picture_of, write_page
from benchmarks.runner import measure_items
from benchmarks.scc import long_pass
from flyannot.dataset.folder import Annotations
from flyannot.runtime.executor import Executor
from tests.benchmarks.made_up import MadeUp

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "data" / "results"


@pytest.fixture
def in_this_process(monkeypatch):
    monkeypatch.setattr("benchmarks.workers.run_in_worker", lambda f, task, **_: f(**task))
    monkeypatch.setattr(long_pass, "Workers", lambda jobs: Executor())


def test_patches_come_once_and_then_again_with_other_noise(patches, monkeypatch):
    monkeypatch.setattr("benchmarks.inputs.perturbed._UNIT", 100)
    path = patches.path("patches")
    stored = np.load(path).astype(int)
    assert np.array_equal(np.concatenate(list(perturbed_units(path, 400, 0).read())), stored)
    units = perturbed_units(path, 930, 6)
    assert units.sizes.tolist() == [100] * 9 + [30]
    first, *_, last = (rows.astype(int) for rows in units.read())
    assert 0 < abs(first - stored[:100]).max() <= 6 and len(last) == 30
    assert np.array_equal(next(units.narrowed([3]).read()), [*units.read()][3])


def test_what_is_held_beside_the_patches_is_what_learning_imports():
    heavy = {"sklearn", "pandas"}
    code = f"import sys, benchmarks.scc.long_pass; sys.exit({heavy} & set(sys.modules) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_one_pass_over_many_patches_says_what_it_held(setup, patches, monkeypatch, in_this_process):
    monkeypatch.setattr("benchmarks.ours.many_patches.patches_of", lambda *a: patches)
    monkeypatch.setattr("benchmarks.inputs.perturbed._UNIT", 100)
    finding = ITEMS["many-patches"].finding(replace(setup, sizes={"n_atoms": 20, "n_perturbed": 3000}))
    (row,) = finding.rows
    assert row["n"] == row["n_visits"][-1] == 2700  # a tenth is held out
    assert row["peak_sum_mb"] == row["peak_mb"] == finding.targets[0].value > 0
    assert row["processor_seconds"] > 0 and str(setup.scratch) not in str(finding.as_json())
    (curve,) = finding.panels[0].series
    assert curve.x == sorted(curve.x) and curve.y[-1] < curve.y[0]


def test_the_auc_by_patches_ends_at_the_whole_pass(setup, tmp_path, rng, monkeypatch, in_this_process):
    """Genes with stripes that lie carry the one term, those with stripes that stand the other."""
    n, (i, j) = 48, np.indices((128, 320))
    greys = [
        np.uint8(np.clip(120 + 90 * np.sin((j if k % 2 else i) / 9 + k) + rng.normal(0, 9, i.shape), 0, 255))
        for k in range(n)
    ]
    names = np.array([f"g{k}" for k in range(n)])
    arrays = {"gene": names, "fbgn": np.full(n, ""), "image_id": names}
    monkeypatch.setattr(enough_patches, "drawn_patterns", lambda setup: (greys, arrays, Source("stripes")))
    terms = {(name, "4-6"): frozenset({("lie", "stand")[k % 2]}) for k, name in enumerate(names.tolist())}
    annotations = Annotations(terms, {name: {name} for name in names.tolist()})
    monkeypatch.setattr(enough_patches, "read_annotations", lambda folder: annotations)
    monkeypatch.setattr(type(setup), "data_file", lambda self, name: tmp_path / "patterns.npz")
    monkeypatch.setattr(enough_patches, "_FEWEST", 1000)
    monkeypatch.setattr("benchmarks.inputs.perturbed._UNIT", 100)
    rows = ITEMS["enough-patches"].finding(replace(setup, sizes={"n_atoms": 8})).rows
    assert len(rows) > 1 and rows[-1]["less"] == 0 and rows[-1]["auc"] > 0.95
    for row in rows:
        assert row["auc_low"] <= row["auc"] <= row["auc_high"]
        assert row["less"] == pytest.approx(rows[-1]["auc"] - row["auc"])


def test_more_cores_than_shares_wait():
    merge = {"s_merged": 0.01, "s_packed": 0.01, "mb_sent": 16.0}
    times = [
        share_costs.time_of_pass(10**7, n_shares, n_cores, 100, 1e-5, merge, {"s_evaluated": 0.1})
        for n_shares, n_cores in ((16, 1), (16, 16), (16, 32))
    ]
    assert times[0]["s_waiting"] == pytest.approx(0, abs=1e-6)
    assert times[0]["s_learning"] == pytest.approx(100, rel=1e-4) and times[0]["speed_up"] == pytest.approx(1)
    assert times[1]["s_learning"] == pytest.approx(100 / 16, rel=1e-4)
    assert times[2]["s_waiting"] > times[2]["s_learning"] and times[2]["s_sending"] > 0
    assert times[0]["hours"] > times[1]["hours"]


def test_the_page_of_our_measurements_is_made_from_the_recorded_results():
    """After a change: python -m benchmarks.page.measured data/results docs"""
    docs = ROOT / "docs"
    assert (docs / PAGE).read_text(encoding="utf-8") == measured_page(RESULTS)
    for item, _, record in own_records(RESULTS):
        assert (docs / picture_of(item.name)).is_file() == bool(record.finding.panels)


def test_the_page_shows_the_full_run_and_its_picture(setup, tmp_path, monkeypatch):
    ours = MadeUp("four", paper="ours").item
    monkeypatch.setattr("benchmarks.page.measured.ITEMS", {"four": ours})
    results, docs = tmp_path / "results", tmp_path / "docs"
    (docs / "pictures").mkdir(parents=True)
    results.mkdir()
    for scale in ("quick", "full"):
        list(measure_items([ours], replace(setup, scale=scale), tmp_path / scale))
        (tmp_path / scale / "items").rename(results / scale)
    write_page(results, docs)
    text = (docs / PAGE).read_text()
    assert "four `--full`" in text and f"]({picture_of('four')})" in text
    assert (docs / picture_of("four")).is_file() == can_draw()
