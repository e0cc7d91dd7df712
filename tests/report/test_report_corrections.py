"""Tests that the page reads tables of corrections as `flyannot curate` does. Skipped without a browser."""

import re

import pytest

from flyannot.report.groups import GroupEntry
from flyannot.report.page import ReviewSettings
from tests.corrections_cases import GENES, fields, list_cases
from tests.report.browser import downloaded, shown
from tests.report.small_pages import write_groups
from tests.small_embryos import rows_of_csv

_KEPT = """Object.entries(localStorage).filter(([name]) => name.startsWith("flyannot-verdicts"))
    .flatMap(([name, all]) => JSON.parse(all).map((row) => ({ ...row, key: JSON.parse(name.slice(18)) })))"""


@pytest.fixture(scope="module")
def view(browser, tmp_path_factory):
    ranges = ("1-3", "4-6", "7-8", "9-10", "11-12", "13-16")
    groups = [GroupEntry(s, gene, gene, fbgn) for s in ranges for gene, fbgn in GENES.items()]
    path = tmp_path_factory.mktemp("cases") / "page.html"
    write_groups(path, groups, review=ReviewSettings())
    with shown(browser, path) as opened:
        yield opened


@pytest.mark.parametrize("case", list_cases(), ids=lambda case: case.name)
def test_the_page_reads_a_table_as_the_table_of_cases_says(view, tmp_path, case):
    path = tmp_path / "table.csv"
    path.write_bytes(case.content)
    view.evaluate("document.getElementById('review-said').textContent = ''")
    view.set_input_files("#import-corrections", path)
    view.locator("#review-said", has_text="table.csv: ").wait_for()
    said = view.inner_text("#review-said")
    symbols = {fbgn or gene: gene for gene, fbgn in GENES.items()}
    kept = [dict.fromkeys(("note", "chance", "finished"), "") | row for row in view.evaluate(_KEPT)]
    for row in kept:
        gene, stage_range, _ = row["key"]
        row |= {"gene": symbols[gene], "fbgn": GENES[symbols[gene]], "stage_range": stage_range}
    assert {fields(case, row) for row in kept} == case.rows, said
    more = re.search(r"also the lines ([\d, ]+)", said)
    assert {int(n) for n in re.findall(r"line (\d+): ", said)} | {
        int(n) for n in (more[1].split(",") if more else ())
    } == case.lines, said
    table = downloaded(view, tmp_path / "again.csv")
    assert set(case.own) <= set(rows_of_csv(table)[0])
    view.click("#undo")
    view.locator("#download-corrections:disabled").wait_for()
