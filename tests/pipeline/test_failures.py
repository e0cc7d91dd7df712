"""Tests of failures.csv: one table for all steps of a run, or one beside the output of a command."""

from concurrent.futures import ThreadPoolExecutor

from flyannot.pipeline.engine.failures import record_failures
from flyannot.pipeline.engine.task import Outcome
from tests.small_embryos import rows_of_csv, write_configuration


def test_a_run_lists_what_all_its_steps_skipped_with_stage_range_and_gene(flyannot, tmp_path):
    table = tmp_path / "results" / "failures.csv"
    flyannot("synthesize -o E --n-genes 12 --max-images 2 --stage-range 4-6", E=tmp_path / "embryos", code=0)
    config = write_configuration(tmp_path, images='[select]\nstage-range = ["4-6"]\n', n_epochs=2)
    broken = tmp_path / "embryos" / "images" / "syn003_4-6_1.png"
    good = broken.read_bytes()
    broken.write_bytes(good[:200])
    said = flyannot("run C", C=config)
    assert said.code == 3 and said.err.count(f"the reasons are in {table}") == 1
    rows = rows_of_csv(table)
    assert [row["step"] for row in rows] == ["extract"]
    assert (
        f"1 picture was skipped and has no terms: images/{broken.name}"
        in (tmp_path / "results" / "report.html").read_text()
    )
    assert {(row["image"], row["stage_range"], row["gene"]) for row in rows} == {
        (f"images/{broken.name}", "4-6", "syn003")
    }
    assert all("damaged" in row["reason"] for row in rows)
    assert [p.name for p in tmp_path.rglob("failures.csv")] == ["failures.csv"]
    assert flyannot("run C", C=config).code == 3 and rows_of_csv(table) == rows
    broken.write_bytes(good)
    assert flyannot("run C", C=config).code == 0 and not table.exists()


def test_parts_that_end_at_the_same_time_lose_no_line(tmp_path):
    table, parts = tmp_path / "failures.csv", range(8)

    def end(i):
        record_failures(table, "extract", Outcome(tmp_path / f"d.{i}.h5", True, failures=(("a", "torn"),)))

    with ThreadPoolExecutor(len(parts)) as threads:
        list(threads.map(end, parts))
    assert sorted(row["output"] for row in rows_of_csv(table)) == [f"d.{i}.h5" for i in parts]
