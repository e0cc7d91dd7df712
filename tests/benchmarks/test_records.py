"""Records say which code measured them and when, and are measured again when it changed."""

import re

import pytest

from benchmarks import records
from benchmarks.claims import LIKE, PAPER, Case, Claim
from benchmarks.items import ITEMS, OURS
from benchmarks.page import recorded
from benchmarks.records import code_digest, record_of
from flyannot.base.errors import DataError
from flyannot.base.registry import import_object
from tests.conftest import ROOT

RESULTS = ROOT / "data" / "results"


# A package: an item, what it imports, and a table that names a module.
MADE = {
    "__init__.py": "",
    "item.py": "from made import claims, options, table\nN = 2\ndef measure(setup): pass\n",
    "table/__init__.py": 'EVERY = {"one": f"{__name__}.one:One"}\n',
    "table/one.py": "from made.norm import norm\nclass One: pass\n",
    "norm.py": "norm = abs\n",
    "claims.py": "NOISE = 1\n",
    "options/__init__.py": "ALL = ()\n",
}


def test_the_digest_follows_the_code_that_measures_and_nothing_else(tmp_path, monkeypatch):
    for name, text in MADE.items():
        (tmp_path / "made" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "made" / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(records, "_PACKAGES", ("made",))

    def digest():
        for function in (records._imports, records._tree, records._bare_source):
            function.cache_clear()
        return code_digest(import_object("made.item:measure"))

    before = digest()
    for name, more, follows in (
        ("item.py", "# two\n", False),
        ("item.py", "N = 3\n", True),
        ("table/one.py", "RIDGE = 1\n", True),
        ("norm.py", "norm = max\n", True),
        ("claims.py", "NOISE = 2\n", False),  # claims are evaluated anew without measuring
        ("options/__init__.py", "ALL = 1\n", False),
    ):
        (tmp_path / "made" / name).write_text(MADE[name] + more)
        assert (digest() != before) == follows, name
        (tmp_path / "made" / name).write_text(MADE[name])


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
