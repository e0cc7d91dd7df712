"""Records say which code measured them and when, and are measured again when it changed."""

import re

import pytest

from benchmarks import records
from benchmarks.claims import LIKE, PAPER, Case, Claim
from benchmarks.items import ITEMS, OURS
from benchmarks.page import recorded
from benchmarks.records import code_digest, record_of
from benchmarks.scc import table_1
from flyannot.base.errors import DataError
from tests.conftest import ROOT

RESULTS = ROOT / "data" / "results"


@pytest.fixture
def sources(monkeypatch):
    """Return the changes of modules' sources, which the test fills in: end of the path -> (old, new)."""
    changes, real = {}, records.Path.read_text

    def read(path, **options):
        text = real(path, **options)
        for tail, (old, new) in changes.items():
            if path.as_posix().endswith(tail):
                assert old in text
                text = text.replace(old, new)
        return text

    monkeypatch.setattr(records.Path, "read_text", read)
    for name in ("_tree", "_bare_source", "_imports"):
        function = getattr(records, name).__wrapped__
        monkeypatch.setattr(records, name, once_unless_changed(function, changes))
    return changes


def once_unless_changed(function, changes):
    """Return a function of a module's name that is computed once, and anew for a changed module."""
    kept = {}

    def compute(name):
        if records.Path(records._file_of(name)).as_posix().endswith(tuple(changes)):
            return function(name)
        if name not in kept:
            kept[name] = function(name)
        return kept[name]

    return compute


def digest():
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
        (
            "files/hdf5/header.py",
            ("class Header:", "class Heading:"),
            False,
        ),  # how files are kept decides nothing
        ("learners/scc.py", ("import dataclass", "import dataclass, fields"), True),
        ("jobs/compiled.py", ("checksums.json", "sums.json"), True),  # but this, times
    ):
        sources.clear()
        sources[tail] = change
        assert (digest() != before) == follows, tail


def test_the_pages_are_made_from_the_recorded_results():
    """After a change, run: python -m benchmarks.page.recorded data/results docs."""
    docs, page, items = ROOT / "docs", recorded.papers_page(RESULTS), recorded.item_pages(RESULTS)
    assert (docs / recorded.PAPERS).read_text(encoding="utf-8") == page and len(page.split()) <= 900
    assert (docs / recorded.MEASURED).read_text(encoding="utf-8") == recorded.measured_page(RESULTS)
    assert {path.stem for path in (docs / "papers").glob("*.md")} == set(items)
    for name, text in items.items():
        assert (docs / "papers" / f"{name}.md").read_text(encoding="utf-8") == text
        assert f"papers/{name}.md" in page and "{" not in re.sub("`[^`]*`", "", text), name
        assert all(
            (docs / "papers" / picture).is_file() for picture in re.findall(r"!\[.*?\]\((.*?)\)", text)
        )
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


def test_advice_has_its_numbers_from_claims_and_is_not_given_against_them():
    cases = [Case("a", LIKE, 0.02, 0.02, 0.02), Case("b", LIKE, 3.14159, 3, 4)]
    claim = Claim("k", PAPER, "it is large", PAPER, 0.01, None, "% more", cases)
    told = {"says": "{k} and {k|b}"}
    advice = recorded.advice_on({"M": told | {"rests-on": {"k": "holds", "k|b": "holds"}}}, [claim])
    assert list(advice) == [("M", "2% more and 314% more")]
    with pytest.raises(DataError, match="rests on k contradicted; it is holds"):
        list(recorded.advice_on({"M": told | {"rests-on": {"k": "contradicted"}}}, [claim]))
