"""Tests of search, order, links and printing of the page. Skipped without a browser."""

import re

import pytest

from flyannot.base.quality_warnings import QualityWarning
from flyannot.images.quality import POSTERIOR_LEFT
from flyannot.pipeline.models.stage_model import LOOKS_LIKE
from flyannot.report.groups import AGREED, MISSED, NEW, PREDICTED, UNLEARNED, GroupEntry, ImageEntry
from flyannot.report.nearest import SimilarGroup
from flyannot.report.page import ReviewSettings
from tests.report.browser import LINES, downloaded, genes, open_gene, reload, shown
from tests.report.small_pages import entries, term, write_groups
from tests.report.small_pages import shown as shown_picture
from tests.small_embryos import rows_of_csv

GROUPS = {
    "both": [term("pole cell", AGREED, 0.9), term("midgut", NEW, 0.8)],
    "low": [term("pole cell", NEW, 0.5), term("midgut", AGREED, 0.95)],
    "high": [term("pole cell", NEW, 0.7), term("midgut", MISSED, 0.39)],
    "rare": [term("gap", UNLEARNED)],
}


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    """Write a page of four groups; one has a picture to check, and one a FlyBase number."""
    out = tmp_path_factory.mktemp("four") / "four.html"
    groups = []
    for gene, terms in GROUPS.items():
        fbgn = "FBgn0000463" * (gene == "both")
        warnings = (QualityWarning("blank"),) * (gene == "low")
        images = [ImageEntry(f"{gene}.png", "lateral", shown_picture(gene), warnings)]
        groups.append(GroupEntry("4-6", gene, gene, fbgn, True, images, terms))
    write_groups(out, groups)
    return out


@pytest.fixture
def view(browser, four):
    with shown(browser, four) as opened:
        yield opened


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    out = tmp_path_factory.mktemp("many") / "many.html"
    write_groups(out, entries(36))
    return out


def line(view, gene):
    return " ".join(view.locator(f'{LINES}[data-key="4-6.{gene}"]').inner_text().split())


def test_a_term_that_is_searched_and_what_is_shown_go_together(view):
    view.fill("#groups-search", "pole cell")
    assert genes(view) == ["both", "low", "high"]
    view.select_option("#groups-which", "new")
    assert genes(view) == ["low", "high"], "not the gene whose pole cell is curated and whose midgut is new"
    strong = view.locator(f"{LINES} .terms strong").all_inner_texts()
    assert strong == ["pole cell\xa00.50", "pole cell\xa00.70"]
    view.fill("#groups-search", "low")
    assert genes(view) == ["low"]
    view.select_option("#groups-which", "missed")
    assert genes(view) == [] and view.inner_text("#groups-count") == "no genes found"


def test_groups_are_ordered_by_confidence_in_what_is_searched(view):
    view.select_option("#groups-order", "probable")
    assert genes(view) == ["low", "both", "high", "rare"]
    view.fill("#groups-search", "pole cell")
    assert genes(view) == ["both", "high", "low"]
    view.select_option("#groups-order", "unsure")
    assert genes(view) == ["low", "high", "both"]
    view.fill("#groups-search", "")
    assert genes(view)[0] == "high", "0.39 where 0.40 is the threshold"


def test_the_gene_of_that_very_name_comes_first(browser, tmp_path):
    groups = [GroupEntry("4-6", gene, gene, terms=GROUPS["low"]) for gene in ("Hen1", "ben", "en")]
    write_groups(tmp_path / "e.html", groups)
    with shown(browser, tmp_path / "e.html") as view:
        view.fill("#groups-search", "en")
        assert genes(view) == ["en", "Hen1", "ben"], "and not for a term, such as pole cell"
        as_given = ["Hen1", "ben", "en"]
        for text, found in (("e", ["en", "Hen1", "ben"]), ("cell", as_given), ("ell", as_given)):
            view.fill("#groups-search", text)
            assert genes(view) == found


def test_a_bar_has_a_tick_at_its_threshold_and_says_it(view):
    row = view.locator("#gene tr[data-status=agreed]").first
    words = " ".join(row.inner_text().split())
    assert "yes above 0.40" in words and "AUC 0.80 (0.70 to 0.90)" in words
    low, high = (row.locator(".whisker i").evaluate(f"one => one.style.{name}") for name in ("left", "width"))
    assert (low, high) == ("40%", "40%"), "a line from 0.5 to 1"
    bar, tick = (row.locator(name).bounding_box() for name in (".bar", ".bar b"))
    middle = (tick["x"] + tick["width"] / 2 - bar["x"]) / bar["width"]
    assert middle == pytest.approx(0.4, abs=0.02)


def test_the_line_of_a_group_names_its_terms_and_pictures_to_check(view):
    assert "1 not learned gap" in line(view, "rare")
    assert "1 new pole cell 0.70" in line(view, "high") and "1 missed midgut 0.39" in line(view, "high")
    assert "blank" in line(view, "low") and "blank" not in line(view, "both")
    view.select_option("#groups-which", "check")
    assert genes(view) == ["low"]
    assert view.inner_text("#gene .warning") == "blank"


def test_a_gene_links_to_its_report_at_flybase_and_what_does_not_occur_is_not_offered(view):
    link = view.locator("#gene a.id")
    assert link.get_attribute("href") == "https://flybase.org/reports/FBgn0000463"
    assert link.get_attribute("rel") == "noopener noreferrer" and link.get_attribute("target") == "_blank"
    offered = view.locator("#groups-which option").evaluate_all("all => all.map((one) => one.value)")
    assert {"new", "missed", "agreed", "unlearned", "check"} < set(offered)
    assert not {"predicted", "undetermined", "unannotated"} & set(offered)


def test_reload_and_back_keep_what_was_chosen(browser, many):
    with shown(browser, many) as view:
        view.select_option("#groups-order", "gene")
        view.locator("#groups-search").press_sequentially("gene000")
        open_gene(view, "1-3.gene00012")
        kept = view.url, genes(view)
        assert re.search("#search=gene000&order=gene&open=1-3.gene00012$", view.url)
        reload(view)
        assert (view.url, genes(view)) == kept and view.input_value("#groups-search") == "gene000"
        assert view.inner_text("#gene h3").startswith("gene00012,")
        view.go_back()
        assert view.inner_text("#gene h3").startswith("gene00000,")
        view.go_back()
        assert view.input_value("#groups-search") == "", "the letters of a word are one step"
        assert view.input_value("#groups-order") == "gene"
        view.go_forward()
        assert view.input_value("#groups-search") == "gene000"


def test_a_link_leads_to_its_gene(browser, many):
    with shown(browser, many) as view:
        view.fill("#groups-search", "gene00031")
        href = view.locator("#gene .links a").first.get_attribute("href")
        assert href.startswith("#open=") and href.endswith(".gene00031")
        view.goto(many.absolute().as_uri() + href)
        view.reload()
        assert len(genes(view)) == 36 and view.inner_text("#gene h3").startswith("gene00031,")
        place = view.locator(f"{LINES}[aria-current=true]").bounding_box()
        assert "gene00031" in view.inner_text(f"{LINES}[aria-current=true]") and 0 < place["y"] < 900
        view.goto(many.absolute().as_uri() + "#open=4-6.elsewhere")
        view.reload()
        assert view.inner_text("#groups-note") == "The gene of this link is not on this page."


def test_the_order_of_scores_is_in_the_address_too_and_atoms_are_folded_away(browser, page):
    with shown(browser, page) as view:
        assert view.locator("#dictionary details.fold").count() > 0 == view.locator(".atoms:visible").count()
        view.locator("#dictionary details.fold summary").first.click()
        assert view.locator(".atoms:visible").count() == 1
        assert "95% interval on a line" in view.inner_text("#scores")
        view.locator("#scores-table th[aria-sort] button", has_text="AUC").click()
        view.reload()
        assert view.locator("#scores-table th[aria-sort=descending]").inner_text().startswith("AUC")


_RIGHTS = "all => all.map((one) => one.getBoundingClientRect().right)"
_COLOURS = "getComputedStyle(document.querySelector('.bar i')).printColorAdjust"


def test_on_paper_colours_stay_tables_fit_and_what_is_left_out_is_said(browser, page):
    with shown(browser, page, width=700, height=990, scheme="dark") as view:
        view.emulate_media(media="print")
        assert view.evaluate(_COLOURS) == "exact"
        assert view.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert view.evaluate("document.documentElement.scrollWidth") <= 700
        tables = view.locator("table:visible").evaluate_all(_RIGHTS)
        assert tables and max(tables) <= 700
        assert view.locator("button.map:visible, #review:visible").count() == 0
        n = view.evaluate("JSON.parse(document.getElementById('index').textContent).groups.length")
        view.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert view.locator(f"{LINES}:visible").count() == n, "every gene"


def test_on_a_phone_a_gene_takes_the_screen_until_one_goes_back(browser, page):
    with shown(browser, page, width=400, height=800) as view:
        first = view.locator(LINES).first
        for go_back in (lambda: view.click("button.back"), view.go_back):
            first.click()
            heading = view.locator("#gene h3").bounding_box()
            assert heading["y"] < 120 and not first.is_visible()
            assert view.evaluate("document.documentElement.scrollWidth") <= 400
            view.reload()
            assert view.locator("#gene h3").is_visible(), "the address keeps it"
            go_back()
            first.wait_for()
            assert not view.locator("#gene h3").is_visible()


def test_a_time_course_marks_what_changes_of_terms_that_both_stage_ranges_use(browser, tmp_path):
    early = [term("pole cell", AGREED, 0.9), term("gap", AGREED, 0.9), term("brain", NEW, 0.8)]
    late = [term("midgut", NEW, 0.8), term("brain", AGREED, 0.8), term("gonad", AGREED, 0.9)]
    groups = [GroupEntry(s, "en", "en", terms=terms) for s, terms in (("4-6", early), ("7-8", late))]
    used = {"pole cell": [1, 2], "gap": [1], "brain": [1, 2], "midgut": [1, 2], "gonad": [2]}
    write_groups(tmp_path / "course.html", groups, review=ReviewSettings("", used))
    with shown(browser, tmp_path / "course.html") as view:
        view.click("button.course")
        marked = [view.locator(f"#beside article {tag}").all_inner_texts() for tag in ("strong", "s")]
        assert marked == [["midgut"], ["pole cell"]]


def test_look_alikes_by_term_unusual_patterns_and_pictures_that_lie_wrong(browser, tmp_path):
    curated = {"a": ["pole cell", "midgut"], "b": ["pole cell", "gap"], "c": ["midgut"]}
    groups = []
    for gene, unusual in zip(curated, (0.2, 0.9, 0.5)):
        near = [SimilarGroup(f"4-6.{other}", other, "", 0.5, [], []) for other in curated if other != gene]
        warnings = (QualityWarning(POSTERIOR_LEFT),) * (gene == "c")
        images = [ImageEntry(f"{gene}.png#turned=180", "", shown_picture(gene), warnings)]
        terms = [term(name, AGREED, 0.9) for name in curated[gene]]
        keys = [one.key for one in near]
        groups.append(GroupEntry("4-6", gene, gene, "", True, images, terms, near, keys, unusual=unusual))
    write_groups(tmp_path / "q.html", groups)
    with shown(browser, tmp_path / "q.html") as view:
        view.select_option("#groups-order", "unusual")
        assert genes(view) == ["b", "c", "a"]
        answers = {"lacks": "bc", "lacks midgut": "b", "lacks pole cell": "c", "has gap": "b"}
        for asked, found in answers.items():
            view.select_option("#groups-which", "all")
            open_gene(view, "4-6.a")
            view.fill("#groups-search", "a")  # the list takes its place
            view.locator("#gene .asked").select_option(asked)
            reload(view)
            assert "".join(genes(view)) == found
        assert line(view, "b").startswith("b has gap")
        view.select_option("#groups-which", "lies")
        assert genes(view) == ["c"]
        view.locator("#gene button.turn").first.click()
        reload(view)
        assert view.get_attribute("#gene .embryo", "data-turned") == "left-right"
        view.click(".menu summary")
        rows = rows_of_csv(downloaded(view, tmp_path / "images.csv", "#download-turned"))
        turned = {"a.png": "both", "b.png": "both", "c.png": "top-bottom"}
        assert {row["image"]: row["turned"] for row in rows} == turned


def test_terms_of_a_stage_range_that_no_picture_looks_like_are_folded(browser, tmp_path):
    looks = (QualityWarning("low contrast"), QualityWarning(LOOKS_LIKE, "11-12"))
    pictures = [
        ImageEntry("a.png", "", shown_picture("a"), looks),
        ImageEntry("b.png", "", shown_picture("b")),
    ]
    terms = [term("gap", PREDICTED, 0.9)]
    groups = [
        GroupEntry("4-6", "one", images=pictures[:1], terms=terms),
        GroupEntry("4-6", "two", images=pictures, terms=terms),
        GroupEntry("4-6", "known", annotated=True, images=pictures[:1], terms=terms),
    ]
    write_groups(tmp_path / "page.html", groups)
    with shown(browser, tmp_path / "page.html") as view:
        row = view.locator("#gene tr[data-term]")
        said = "This picture looks like stage range 11-12; the model's terms are those of 4-6."
        assert said in view.inner_text("#gene .folded") and not row.is_visible()
        assert "looks like 11-12 and 1 more" in line(view, "one")
        view.locator("#gene .folded button").click()
        assert row.is_visible() and view.locator("#gene .folded").count() == 0
        for key in ("4-6.two", "4-6.known"):
            open_gene(view, key)
            row.wait_for()
