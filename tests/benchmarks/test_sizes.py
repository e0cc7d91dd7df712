"""The item of sizes: pictures that all differ, and a row for every step and size."""

import pytest

from benchmarks.inputs.many_pictures import first_pictures, many_pictures
from benchmarks.ours import sizes
from benchmarks.rows import Rows
from flyannot.dataset.folder import read_annotations, read_images


def test_many_pictures_differ_and_have_the_terms_of_those_they_copy(chain, tmp_path, rng):
    n = 2 * len(read_images(chain.embryos)) + 3
    many_pictures(chain.embryos, tmp_path / "many", n, rng)
    images = read_images(tmp_path / "many")
    assert len(images) == n == len({image.path.read_bytes() for image in images})
    few, many = read_annotations(chain.embryos), read_annotations(tmp_path / "many")
    for image in images:
        assert many.terms_of(image.gene, image.stage_range) == few.terms_of(
            image.gene.rpartition("-")[0], image.stage_range
        )
    some = read_images(first_pictures(tmp_path / "many", 7))
    assert [image.file for image in some] == [image.file for image in images[:7]]


def test_every_step_has_a_row_for_every_size(setup, monkeypatch):
    monkeypatch.setattr(
        "benchmarks.workers.run_in_worker",
        lambda measure, arguments, threads: {"seconds": 2.0, "peak_mb": 100 + len(arguments["folder"]) / 1e3},
    )
    setup.sizes["n_images"] = (10, 20, 40)
    found = sizes.ITEM.finding(setup)
    assert [(row["step"], row["n_images"]) for row in found.rows] == [
        (step, n) for n in (10, 20, 40) for step in sizes.GROWING
    ]
    assert all(row["images_per_core_second"] == row["n_images"] / 2 for row in found.rows)
    assert [target.bound for target in found.targets] == [1.0] * 4 + [1.2] * 4


def test_an_image_more_costs_what_the_seconds_have_grown_by():
    rows = [{"n_images": n, "seconds": 2 + n / 100 + n * n / 1e6} for n in (100, 200, 1200)]
    sizes.add_cost_of_more(rows)
    assert [row.get("ms_an_image_more") for row in rows] == [None, pytest.approx(10.3), pytest.approx(11.4)]


def test_the_steps_run_one_after_the_other(chain, tmp_path, monkeypatch):
    monkeypatch.setattr(sizes, "_LEARN", sizes._LEARN.__class__(n_atoms=12, n_epochs=1))
    monkeypatch.setattr(sizes, "_CLASSIFY", sizes.ClassifyOptions(min_groups=4, inner_folds=2))
    for step in ("extract", "learn-dict", "pool", "train", "annotate"):
        cost = sizes.cost_of_step(str(chain.embryos), str(tmp_path / "made"), step)
        assert cost["seconds"] > 0 and cost["peak_mb"] > 0
    assert (tmp_path / "made" / "p.csv").exists()


def test_memory_is_judged_by_runs_of_many_images_alone():
    rows = Rows({"step": "pool", "n_images": n, "peak_mb": mb} for n, mb in ((100, 90), (1000, 100)))
    assert sizes._growth(rows, "pool") is None
    assert sizes._growth(
        Rows([*rows, {"step": "pool", "n_images": 3000, "peak_mb": 104}]), "pool"
    ) == pytest.approx(2)
