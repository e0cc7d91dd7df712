"""Records say which code measured them and when, and are measured again when it changed."""

from dataclasses import replace

import pytest

from benchmarks import records
from benchmarks.claims import PAPER, Statement, exactly
from benchmarks.items import ITEMS, OURS
from benchmarks.page import recorded
from benchmarks.records import code_digest, paths_of, record_of
from benchmarks.runner import measure_items
from benchmarks.scc import table_1
from tests.benchmarks.made_up import MadeUp, measured
from tests.conftest import ROOT

RESULTS = ROOT / "data" / "results"


@pytest.fixture
def sources(monkeypatch):
    """The sources of modules as the test rewrites them: end of the path -> (old, new)."""
    changes, real = {}, records.Path.read_text

    def read(path, **options):
        text = real(path, **options)
        for tail, (old, new) in changes.items():
            if path.as_posix().endswith(tail):
                assert old in text
                text = text.replace(old, new)
        return text

    monkeypatch.setattr(records.Path, "read_text", read)
    yield changes
    forget()


def forget():
    for kept in (records._tree, records._bare_source, records._imports):
        kept.cache_clear()


def digest():
    forget()
    return code_digest(table_1.measure_parts_of_time)


def test_the_digest_follows_the_code_that_measures_and_nothing_else(sources):
    before = digest()
    for tail, change, follows in (
        ("scc/table_1.py", ("_N_WARM_EPOCHS = 2", "_N_WARM_EPOCHS = 2  # two"), False),
        ("scc/table_1.py", ("_N_WARM_EPOCHS = 2", "_N_WARM_EPOCHS = 3"), True),
        ("sparse/objective.py", ("0.5", "0.25"), True),  # imported by what it imports
        ("learners/lagrange_dual.py", ("RIDGE = 1e-12", "RIDGE = 1e-9"), True),  # in a table that it imports
        # Claims are evaluated anew without measuring.
        ("scc/claims.py", ("_NOISE_OF_D = 0.3", "_NOISE_OF_D = 0.4"), False),
        ("store/header.py", ("class Header:", "class Heading:"), False),  # how files are kept decides nothing
        ("learners/scc.py", ("import dataclass", "import dataclass, fields"), True),
        ("runtime/compiled.py", ("_CHECKSUM_BYTES = 32", "_CHECKSUM_BYTES = 33"), True),  # but this, times
    ):
        sources.clear()
        sources[tail] = change
        assert (digest() != before) == follows, tail


def test_claims_that_are_stated_anew_are_evaluated_without_measuring(setup, tmp_path):
    one = MadeUp("one")
    measured([one.item], setup, tmp_path)
    stricter = Statement("three", PAPER, "two is above three", lambda rows: exactly(2), above=3)
    (outcome,) = measure_items([replace(one.item, statements=(stricter,))], setup, tmp_path)
    assert outcome.kept and one.times == 1
    assert record_of(paths_of(tmp_path, "one")["json"]).finding.status == "differs on synthetic data"


def test_the_pages_are_made_from_the_recorded_results():
    """After a change: python -m benchmarks.page.recorded data/results docs"""
    docs, page = ROOT / "docs", recorded.papers_page(RESULTS)
    assert (docs / recorded.PAPERS).read_text(encoding="utf-8") == page
    assert (docs / recorded.MEASURED).read_text(encoding="utf-8") == recorded.measured_page(RESULTS)
    for item in ITEMS.values():
        assert (f"\n| {item.name} " in page.partition("\n### ")[0]) == (item.paper != OURS)
    for item, record in recorded.own_records(RESULTS):
        assert (docs / recorded.picture_of(item.name)).is_file() == bool(record.finding.panels)


def test_every_recorded_result_is_whole_names_no_folder_and_is_on_a_page():
    shown = {item.name for item in ITEMS.values() if item.paper != OURS}
    shown |= {item.name for item, _ in recorded.own_records(RESULTS)}
    for path in RESULTS.glob("*.json"):
        record = record_of(path)
        assert record.name == path.stem and path.stem in shown
        assert record.date and record.commit and record.settings["code"]
        assert str(ROOT) not in path.read_text(encoding="utf-8")
