"""Tests of one verdict on a term of many genes, and of the filters of the list. Skipped without a browser."""

from dataclasses import replace

import pytest

from flyannot.curation.corrections import apply_corrections, read_corrections
from flyannot.dataset.folder import Annotations
from flyannot.report.groups import ABSENT, NEW, PREDICTED, GroupEntry, ImageEntry, ReviewMark
from flyannot.report.nearest import SimilarGroup
from flyannot.report.page import ReviewSettings
from tests.report.browser import LINES, downloaded, genes, open_gene, reload, review_as, shown, violations
from tests.report.small_pages import shown as shown_picture
from tests.report.small_pages import term, write_groups
from tests.small_embryos import rows_of_csv

N = 12


def entry(number):
    """Build a gene whose probability of gap is higher the higher its number, and yes from 0.4."""
    gene, p = f"g{number:02}", 0.06 + 0.08 * number
    gap = term("gap", PREDICTED if p > 0.4 else ABSENT, p)
    drawn = replace(term("midgut", NEW, 0.8), review=ReviewMark("look", 0.1, "0.2500"))
    image = ImageEntry(f"{gene}.png", "lateral", shown_picture(gene))
    alike = [f"4-6.g{other:02}" for other in range(3) if other != number]
    near = [SimilarGroup(key, key[-3:], "", 0.5, None, None) for key in alike]
    more = {"unusual": number / N, "alike": alike, "nearest": near}
    return GroupEntry("4-6", gene, gene, "", False, [image], [gap, drawn], **more)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    path = tmp_path_factory.mktemp("together") / "page.html"
    late = replace(entry(N), stage_range="13-16")
    review = ReviewSettings("", {"gap": [1], "midgut": [1, 5], "eye": [1]})
    write_groups(path, [*map(entry, range(N)), late], review=review)
    return path


@pytest.fixture
def view(browser, pages):
    with shown(browser, pages) as opened:
        review_as(opened, "anna")
        yield opened


def narrow(view, **fields):
    if view.get_attribute("#filters", "aria-expanded") == "false":
        view.click("#filters")
    for name, value in fields.items():
        field = view.locator(f"#groups-{name}")
        field.select_option(value) if name in ("has", "which") else field.fill(value)
    return genes(view)


def test_the_list_is_narrowed_by_a_term_its_probability_and_novelty_and_the_address_keeps_it(view):
    assert narrow(view, term="gap", has="has") == [f"g{n:02}" for n in range(5, N + 1)]
    assert view.inner_text("#groups-count") == "8 of 13 groups"
    assert narrow(view, below="0.6") == ["g05", "g06"]
    assert narrow(view, has="lacks", above="0.3") == ["g03", "g04"], "also where the answer is no"
    reload(view)
    assert genes(view) == ["g03", "g04"] and view.input_value("#groups-term") == "gap"
    open_gene(view, "4-6.g03")
    view.locator("#gene tr[data-term=gap]").wait_for(state="attached")
    view.click("#gene button.more")
    view.locator("#gene tr[data-term=gap] [data-verdict=accept]").click()
    assert narrow(view, has="lacks") == ["g04"], "a verdict counts more than an answer"
    assert narrow(view, has="", which="open") == ["g04", "g05", "g06"]
    assert narrow(view, which="all", term="", above="", below="", novelty="0.9") == ["g11", "g12"]


def give_together(view, verdict, n):
    assert view.inner_text("#together-give") == f"{verdict} {n}"
    view.keyboard.press("Enter")
    view.locator("#review-said", has_text=f"of {n} genes {verdict.lower()}").wait_for()


def test_a_verdict_on_all_of_a_filter_has_the_doubtful_first_and_is_undone_at_once(view, tmp_path):
    narrow(view, term="gap", above="0.5")
    view.click("#together-open")
    assert view.inner_text("#together-count") == (
        "6 genes; by their probabilities, 1.6 of them are expected to be wrong; "
        "1 left out: reviewed, or of a stage range that does not use the term."
    )
    lines = view.locator("#together-list li")
    assert [text.split()[0] for text in lines.all_inner_texts()] == [f"g{n:02}" for n in range(6, N)]
    assert not violations(view)
    lines.first.locator("input").uncheck()
    assert "5 genes; by their probabilities, 1.1" in view.inner_text("#together-count")
    view.focus("#together-give")
    give_together(view, "Accept", 5)
    rows = rows_of_csv(downloaded(view, tmp_path / "c.csv"))
    assert {(r["gene"], r["verdict"], r["with"], r["chance"]) for r in rows} == {
        (f"g{n:02}", "accept", "5", "") for n in range(7, N)
    }
    assert [r["probability"] for r in rows][0] == "0.6200"
    reload(view)
    assert "5 of" in view.inner_text("#review-progress")
    narrow(view, above="", below="0.3")
    view.click("#together-open")
    view.select_option("#together-verdict", "reject")
    assert [text.split()[0] for text in lines.all_inner_texts()] == ["g03", "g02", "g01", "g00"]
    view.focus("#together-give")
    give_together(view, "Reject", 4)
    view.click("#undo")
    assert view.inner_text("#review-said").startswith("Undone: 4 verdicts.")
    assert len(rows_of_csv(downloaded(view, tmp_path / "c.csv"))) == 5


def test_ticked_genes_and_look_alikes_get_a_verdict_by_key_and_what_was_drawn_is_chosen(view, tmp_path):
    open_gene(view, "4-6.g00")
    for key in ("j", "x", "j", "x"):
        view.keyboard.press(key)
    view.locator(LINES).nth(2).wait_for()
    assert "2 genes are ticked." in view.inner_text("#review-said")
    view.locator('#gene tr.at[data-term="midgut"]').wait_for()
    view.keyboard.press("R")
    give_together(view, "Reject", 2)
    rows = rows_of_csv(downloaded(view, tmp_path / "c.csv"))
    assert {(r["term"], r["verdict"], r["with"], r["chance"]) for r in rows} == {
        ("midgut", "reject", "2", "")
    }
    open_gene(view, "4-6.g00")
    view.select_option("#gene .asked", "all")
    assert genes(view) == ["g01", "g02"] and not violations(view)
    assert view.inner_text("#groups-count") == "2 of 13 groups look like g00"
    view.click("#together-open")
    view.fill("#together-term", "gap")
    view.press("#together-term", "Enter")
    assert view.inner_text("#together-give:focus") == "Accept 2"


def test_what_is_learned_is_the_same_one_by_one_and_together(view, tmp_path):
    narrow(view, term="gap", has="has")
    view.click("#together-open")
    give_together(view, "Accept", 7)
    together = read_corrections([downloaded(view, tmp_path / "together.csv")])
    view.click("#undo")
    narrow(view, has="", term="")
    for n in range(5, N):
        open_gene(view, f"4-6.g{n:02}")
        view.locator("#gene tr[data-term=gap] [data-verdict=accept]").click()
    single = read_corrections([downloaded(view, tmp_path / "single.csv")])
    assert [replace(row, with_="", date="") for row in together] == [replace(row, date="") for row in single]
    learned = [
        apply_corrections(Annotations({}, {}), rows, tmp_path, ["gap"])[0] for rows in (together, single)
    ]
    assert learned[0] == learned[1]
