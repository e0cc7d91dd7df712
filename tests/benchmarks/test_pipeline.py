"""The item of the whole way: a row for every step, what its time goes to, and the usual way beside it."""

import time

import pytest

from benchmarks.processor_shares import processor_shares
from benchmarks.rows import Rows
from benchmarks.speed import pipeline
from benchmarks.speed.pipeline import extrapolated_minutes
from flyannot.runtime.digest import digest_of_json


def test_the_time_goes_to_the_part_that_works():
    with processor_shares() as parts:
        end = time.process_time() + 0.1
        while time.process_time() < end:
            digest_of_json(list(range(1000)))
    assert max(parts, key=parts.get) == "hashing" and sum(parts.values()) > 0


def test_a_step_tells_its_cost_and_its_parts(own_chain, tmp_path, monkeypatch):
    way = "flyexpress.toml", ("learn-dict.n-atoms=12", "train.min-groups=3")
    monkeypatch.setitem(pipeline.WAYS, "small", way)
    given = {"data_set": str(own_chain.embryos), "output": str(tmp_path / "made"), "jobs": 1, "epochs": 1}
    for step in ("extract", "learn-dict", "pool"):
        cost = pipeline.cost_of_step("small", step=step, **given)
    assert cost["seconds"] > 0 and cost["peak_mb"] > 0
    assert {"coding", "HDF5", "start-up"} <= set(cost)
    assert cost["by_workers"] > 0 and cost["serial"] + cost["by_workers"] < cost["seconds"]


def test_every_step_has_a_row_and_those_of_many_images_one_for_two_jobs(setup, own_chain, monkeypatch):
    made = {"seconds": 2.0, "wall_seconds": 3.0, "peak_mb": 1.0}
    monkeypatch.setattr("benchmarks.workers.run_in_worker", lambda *_, **__: dict(made))
    monkeypatch.setattr(pipeline, "image_folder", lambda _: own_chain.embryos)
    monkeypatch.setattr(
        pipeline, "compare_with_baseline", lambda *_: Rows([{"step": "extract", "times_as_long": 20.0}])
    )
    setup.sizes.update(n_images={pipeline.MAIN: 8}, n_epochs=1, n_baseline=1)
    rows = Rows(pipeline.measure_steps(setup).rows)
    ours = rows.where(who="flyannot")
    assert {row["step"] for row in ours if row["jobs"] == 2} == set(pipeline.IN_PARALLEL)
    assert {row["images_per_core_second"] for row in ours} == {4.0}


def test_more_cores_shorten_what_workers_do_and_nothing_else():
    one = {"way": "stride 4", "jobs": 1, "n_images": 100, "seconds": 4.0, "serial": 1.0, "by_workers": 2.0}
    rows = [one | {"step": step} for step in ("extract", "pool", "annotate")] + [{"step": "pool", "jobs": 2}]
    few, _, many = extrapolated_minutes(rows, pipeline.WHOLE_WAY)
    assert (few["ms_serial"], few["ms_by_workers"]) == (pytest.approx(30), pytest.approx(60))
    assert few["minutes_on_2"] == pytest.approx((3 + 1000 * (0.03 + 0.06 / 2)) / 60)
    assert many["minutes_on_160"] == pytest.approx((3 + 150_000 * (0.03 + 0.06 / 160)) / 60)
    assert list(extrapolated_minutes([one | {"step": "pool", "jobs": 2}], pipeline.WHOLE_WAY)) == []
