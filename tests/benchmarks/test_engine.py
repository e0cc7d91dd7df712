"""The engine: nothing is measured twice, nothing is lost, and rows that can be trusted."""

import json
import logging
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import compare_methods as compared
from benchmarks.__main__ import command
from benchmarks.compare_methods import Method, compare_methods
from benchmarks.findings import Finding, Source, not_runnable
from benchmarks.items import ITEMS, OURS, chosen_items, paper_values, papers
from benchmarks.records import paths_of, read_record
from benchmarks.runner import measure_items
from benchmarks.tables import as_text, tables_of
from benchmarks.workers import WorkerFailed, peak_mb, run_in_worker
from flyannot.base.errors import InputError
from tests.benchmarks.made_up import FOUND, MadeUp, fails, holds_memory, measured


@pytest.fixture
def made_up():
    """Three items: two that are measured, one that cannot be."""
    return [MadeUp("one"), MadeUp("two"), MadeUp("three", not_runnable("nobody has the data"))]


def files(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def kept(outcomes):
    return [outcome.item.name for outcome in outcomes if outcome.kept]


def test_an_item_is_measured_again_only_where_something_changed(made_up, setup, tmp_path, monkeypatch):
    items = [one.item for one in made_up[:2]]
    measured(items, setup, tmp_path)
    before = files(tmp_path)
    assert kept(measured(items, setup, tmp_path)) == ["one", "two"] and before == files(tmp_path)
    assert [one.times for one in made_up] == [1, 1, 0]
    for change in ({"scale": "full"}, {"seed": 1}, {"repeats": 2}, {"data": Path(__file__).parent}):
        assert not kept(measured(items, replace(setup, **change), tmp_path))
    measured(items, setup, tmp_path)
    paths_of(tmp_path, "one")["json"].write_text("{")
    assert kept(measured(items, setup, tmp_path)) == ["two"]
    assert not kept(list(measure_items(items, setup, tmp_path, force=True)))
    for name, other in (("__version__", "99"), ("code_digest", lambda measure: "99")):
        monkeypatch.setattr(f"benchmarks.records.{name}", other)
        assert not kept(measured(items, setup, tmp_path))


def test_a_failing_item_loses_no_other_and_is_tried_again(made_up, setup, tmp_path):
    items = [one.item for one in made_up]
    made_up[1].finding = ZeroDivisionError("no number")
    outcomes = measured(items, setup, tmp_path)
    assert [bool(o.record) for o in outcomes] == [True, False, True] and "no number" in outcomes[1].why_failed
    made_up[1].finding = FOUND
    assert kept(measured(items, setup, tmp_path)) == ["one", "three"] and made_up[1].times == 2


def test_what_is_finished_outlives_an_interruption(made_up, setup, tmp_path):
    made_up[1].finding = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        measured([one.item for one in made_up], setup, tmp_path)
    assert read_record(tmp_path, "one") and (tmp_path / "index.html").is_file()


def test_a_finding_comes_back_from_json_as_it_went_with_a_day_and_a_commit(made_up, setup, tmp_path):
    measured([made_up[0].item], setup, tmp_path)
    record = read_record(tmp_path, "one")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", record.date)
    assert record.commit is None or re.fullmatch("[0-9a-f]{12}( and changes)?", record.commit)
    stored = record.finding
    assert stored.as_json() == FOUND.as_json() and stored.comparisons[0].ratio == 0.5
    assert json.loads(paths_of(tmp_path, "one")["json"].read_text())["settings"]["scale"] == "quick"


def test_every_item_of_the_table_can_be_had_and_has_its_numbers():
    for name, item in ITEMS.items():
        assert item.name == name and callable(item.measure) and item.title
        assert all(len(pair) == 2 for pair in item.sizes.values())
        if item.paper != OURS:
            assert paper_values(item.paper, item.where)["cited"]
            assert {"title", "authors", "venue", "pages"} <= set(papers()[item.paper])
    assert {item.paper == OURS for item in chosen_items((), papers=True)} == {False}
    assert {item.paper == OURS for item in chosen_items((), papers=False)} == {True}
    assert [item.name for item in chosen_items(("peers", "scc-fig-3"), papers=True)] == ["scc-fig-3", "peers"]
    with pytest.raises(InputError, match="scc-table-1"):
        chosen_items(["scc-table-11"], papers=True)


def test_without_its_data_an_item_says_so_and_is_not_run(setup):
    for name in ("modl-completion", "siso-table-2", "siso-fig-4"):
        (outcome,) = measure_items([ITEMS[name]], setup)
        finding = outcome.record.finding
        assert "FLYANNOT_DATA" in finding.why_not and not finding.rows


def method(who="flyannot", reference=""):
    return Method(who, "", holds_memory, {"who": who}, reference)


@pytest.fixture
def timed(monkeypatch):
    """Measurements take the times that the test lays out, in the order in which they are asked for."""

    def lay_out(*us_per_sample):
        left = iter(us_per_sample)
        result = lambda *a, **k: {"us_per_sample": next(left), "n": 7}  # noqa: E731
        monkeypatch.setattr("benchmarks.workers.run_in_worker", result)

    return lay_out


def test_ratios_compare_neighbours_in_time(timed, setup):
    timed(1.0, 10.0, 100.0, 2000.0, 3.0, 36.0)  # ours, theirs, ours, theirs, ...: ratios 10, 20, 12
    ours, theirs = compare_methods(replace(setup, repeats=3), [method(), method("slow")])
    assert theirs["times_as_long"] == 12.0
    assert (ours["us_per_sample"], ours["times_as_long"], ours["n"], ours["repeats"]) == (3.0, 1.0, 7, 3)


def test_a_reference_that_is_absent_or_fails_is_named_and_we_may_not_fail(monkeypatch, setup):
    def failing(measure, arguments, **options):
        if arguments["who"] == "SPAMS":
            raise WorkerFailed("no result")
        return {"us_per_sample": 1.0}

    monkeypatch.setattr("benchmarks.workers.run_in_worker", failing)
    monkeypatch.setattr("benchmarks.references.find_spec", lambda name: None)
    rows = compare_methods(setup, [method(), method("SPAMS", "spams")], n_atoms=5)
    assert "spams is not installed" in rows[1]["note"] and "flyannot[bench]" in rows[1]["note"]
    assert rows[1]["us_per_sample"] is None and rows[1]["times_as_long"] is None and rows[1]["n_atoms"] == 5
    assert "absent" in as_text(tables_of(Finding(Source(""), "", rows=rows))[0])
    monkeypatch.setattr(compared, "why_reference_is_absent", lambda reference: "")
    assert compare_methods(setup, [method(), method("SPAMS", "spams")])[1]["note"] == "absent: no result"
    with pytest.raises(WorkerFailed):
        compare_methods(setup, [method("SPAMS")])


def test_a_worker_has_a_peak_of_its_own_and_says_why_it_failed():
    """Not the peak of the process that started it, which Linux hands on in getrusage."""
    ballast = np.ones(100_000_000)
    assert run_in_worker(holds_memory, {"n": 1})["peak_mb"] < 700 < ballast.nbytes / 1e6 <= peak_mb()
    with pytest.raises(WorkerFailed, match="made_up:fails.*ValueError: no number"):
        run_in_worker(fails, {})


@pytest.fixture
def call(monkeypatch, made_up, tmp_path):
    """call(words) runs the command with three items in the table, and the folder out; its result."""
    ours = [*made_up[:2], MadeUp("four", paper=OURS)]
    for module in ("items", "page"):
        monkeypatch.setattr(f"benchmarks.{module}.ITEMS", {one.item.name: one.item for one in ours})
    monkeypatch.setattr("benchmarks.__main__.data_folder", lambda: None)
    log = logging.getLogger("flyannot")

    def run(words):
        log.handlers.clear()  # each writes to the stderr of its day
        return CliRunner().invoke(command, words.replace("OUT", str(tmp_path / "out")).split())

    yield run
    log.handlers.clear()
    log.setLevel(logging.NOTSET)


def test_the_command_measures_prints_and_answers(call, made_up, tmp_path):
    assert call("one -o OUT").exit_code == 0
    ours = call("-o OUT")
    assert ours.exit_code == 0 and ours.stdout.startswith("four: title of four")
    assert "two over one" in ours.stdout and "1 measured: " in ours.stderr
    made_up[1].finding = ValueError("broken")
    papers = call("--papers -o OUT")
    assert papers.exit_code == 3 and "two: title of two\nfailed: ValueError: broken" in papers.stdout
    assert "1 there already, 1 failed: " in papers.stderr
    assert [one.times for one in made_up[:2]] == [1, 1]
    made_up[1].finding = not_runnable("nobody has the data")
    for _ in range(2):
        papers = call("--papers -o OUT")
        assert papers.exit_code == 0 and "1 there already, 1 cannot be run here: " in papers.stderr
    assert call("four --data-set OUT/none").exit_code == 2


@pytest.mark.parametrize("paper, scale, repeats", [("scc", "full", 1), (OURS, "quick", 2), (OURS, "full", 3)])
def test_what_is_compared_is_repeated_unless_a_paper_did_it_once(setup, paper, scale, repeats):
    item = MadeUp("one", paper=paper).item
    (outcome,) = measure_items([item], replace(setup, scale=scale, repeats=None))
    assert outcome.record.settings["repeats"] == repeats and "--repeats" not in outcome.record.command
    (outcome,) = measure_items([item], replace(setup, seed=3, repeats=7))
    assert outcome.record.command == "python -m benchmarks one --seed 3 --repeats 7 -o OUT"
