"""The item of the whole way: a row for every step, and the usual way for comparison."""

import time

import pytest

from benchmarks.findings import Source
from benchmarks.rows import Rows
from benchmarks.speed import baseline, pipeline
from benchmarks.speed.pipeline import extrapolated_minutes
from flyannot.sparse.coders import CODERS


def test_a_step_tells_its_cost_and_the_usual_way_codes_nothing_with_features(chain, tmp_path, monkeypatch):
    pytest.importorskip("cv2")
    made, cost, coded = str(tmp_path / "made"), {}, []
    settings = ("learn-dict.n-atoms=12", "train.min-groups=3")
    monkeypatch.setitem(pipeline.WAYS, "small", ("flyexpress.toml", settings))
    for step in ("extract", "learn-dict", "pool", "train", baseline.NEW):
        cost[step] = pipeline.cost_of_step("small", str(chain.embryos), made, step, jobs=1, epochs=1)
    pool = cost["pool"]
    assert pool["peak_mb"] > 0 and pool["start-up"] > 0
    assert pool["by_workers"] > 0 and pool["serial"] + pool["by_workers"] < pool["seconds"]

    def code(X, D, lam, gram):
        coded.append(len(X))
        end = time.process_time() + 0.05
        while time.process_time() < end:
            codes = CODERS["cd"](X, D, lam, gram=gram)
        return codes

    monkeypatch.setattr(baseline, "spams_codes", code)
    theirs = baseline.cost_of_baseline(str(chain.embryos), made, stride_px=8, n=2)
    assert len(coded) == 1 + 2  # the first before the clock starts
    assert theirs["pool"] >= 0.05 > 10 * theirs["annotate"] and theirs["difference_of_features"] < 1e-3


def test_every_step_has_a_row_and_the_usual_way_one_beside_what_does_the_same(setup, chain, monkeypatch):
    made = {"seconds": 2.0, "wall_seconds": 3.0, "peak_mb": 1.0, "serial": 0.1, "by_workers": 0.4}
    made |= {"extract": 1.0, "pool": 3.0, "annotate": 0.2}  # of the usual way, an image
    monkeypatch.setattr("benchmarks.workers.run_in_worker", lambda *_, **__: dict(made))
    monkeypatch.setattr(pipeline, "image_folder", lambda _: chain.embryos)
    monkeypatch.setattr(pipeline, "embryo_images", lambda _: (chain.embryos, Source("made up", "synthetic")))
    monkeypatch.setattr(baseline, "why_reference_is_absent", lambda _: "")
    setup.sizes.update(n_images={pipeline.MAIN: 48}, n_epochs=1, n_baseline=1)
    found = pipeline.measure_steps(setup)
    assert found.source.kind == "synthetic"
    rows = Rows(found.rows)
    ours, theirs = rows.where(who="flyannot"), rows.where(who="the usual way")
    assert {row["step"] for row in ours if row["jobs"] == 2} == set(pipeline.IN_PARALLEL)
    assert {row["images_per_core_second"] for row in ours} == {24.0}
    beside = {row["step"]: (row["times_as_long"], row["times_without_starts"]) for row in theirs}
    assert beside["annotate"] == pytest.approx((0.2 * 48 / 2, 0.2 * 48 / 0.5))
    assert beside[baseline.WHOLE] == pytest.approx((4.2 * 48 / 6, 4.2 * 48 / 1.5))
    assert beside[baseline.NEW] == pytest.approx((4.2 * 48 / 2, 4.2 * 48 / 0.5))


def test_more_cores_shorten_what_workers_do_and_nothing_else():
    one = {"way": "stride 4", "jobs": 1, "n_images": 100, "seconds": 4.0, "serial": 1.0, "by_workers": 2.0}
    rows = [one | {"step": step} for step in ("extract", "pool", "annotate")] + [{"step": "pool", "jobs": 2}]
    few, _, many = extrapolated_minutes(rows, pipeline.WHOLE_WAY)
    assert (few["ms_serial"], few["ms_by_workers"]) == (pytest.approx(30), pytest.approx(60))
    assert few["minutes_on_2"] == pytest.approx((3 + 1000 * (0.03 + 0.06 / 2)) / 60)
    assert many["minutes_on_160"] == pytest.approx((3 + 150_000 * (0.03 + 0.06 / 160)) / 60)
    assert list(extrapolated_minutes([one | {"step": "pool", "jobs": 2}], pipeline.WHOLE_WAY)) == []
