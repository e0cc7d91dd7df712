"""Tests of the report in a browser. Skipped without a browser."""

import re

import pytest

from flyannot.report.page import write_page
from tests.report.browser import LINES, genes, shown, until
from tests.report.small_pages import NASTY, entries, nasty_entries, nasty_page, write_groups


@pytest.fixture(scope="module")
def view(browser, page):
    with shown(browser, page) as opened:
        yield opened


def column(view, number):
    cells = view.locator(f"#scores-table tbody tr:visible > :nth-child({number})")
    return [text.strip() for text in cells.all_inner_texts()]


@pytest.mark.parametrize("by_key", [False, True])
def test_scores_sort_by_mouse_and_by_key(view, by_key):
    head = view.locator("#scores-table th[aria-sort]", has_text="AUC")
    for direction, sign in (("descending", -1), ("ascending", 1)):
        if by_key:
            head.locator("button").press("Enter")
        else:
            head.locator("button").click()
        assert head.get_attribute("aria-sort") == direction
        values = [sign * float(text.split()[0]) for text in column(view, 3)]
        assert len(values) > 3 and values == sorted(values)
    view.locator("#scores-table th[aria-sort] button", has_text="Term").first.click()
    assert head.get_attribute("aria-sort") == "none"
    assert column(view, 2) == sorted(column(view, 2), key=str.lower)


def test_scores_filter_by_term_and_stage_range(view):
    every = column(view, 2)
    view.fill("#scores-search", every[0][:6].upper())
    assert set(column(view, 2)) == {term for term in every if every[0][:6].lower() in term.lower()}
    view.fill("#scores-search", "")
    view.select_option("#scores-stage", "4-6")
    assert set(column(view, 1)) == {"4-6"}
    evaluated = len(column(view, 2))
    view.check("#scores-unevaluated")
    assert len(column(view, 2)) > evaluated
    assert view.inner_text("#scores-count") == f"{len(column(view, 2))} terms"
    view.uncheck("#scores-unevaluated")
    view.select_option("#scores-stage", "")
    assert sorted(column(view, 2)) == sorted(every)


_COLOURED = """all => all.map((one) => one.getContext("2d").getImageData(0, 0, one.width, one.height).data
    .filter((level, i) => i % 4 === 3 && level > 9).length)"""


def test_the_map_lies_over_every_image_of_the_group_and_goes_again(view):
    group = view.locator("#gene")
    button, maps, images = map(group.locator, ("button.map", "canvas", ".embryo img"))
    button.first.click()
    assert button.first.get_attribute("aria-pressed") == "true"
    assert maps.count() == images.count() > 0
    assert max(maps.evaluate_all(_COLOURED)) > 20
    assert maps.first.bounding_box() == images.first.bounding_box()
    sum_in_words = r"decision value [+−][\d.]+ = [\d.]+ supporting − [\d.]+ opposing [+−] [\d.]+ intercept,"
    assert re.search(sum_in_words, group.locator(".legend").inner_text())
    button.first.click()
    assert button.first.get_attribute("aria-pressed") == "false" and maps.count() == 0


def test_a_group_is_shown_as_it_is_typed_and_opens_by_key(view):
    gene = genes(view)[2]
    view.fill("#groups-search", gene)
    assert genes(view)[0] == gene == view.inner_text("#gene h3").split(",")[0]
    view.locator(LINES).first.focus()
    view.keyboard.press("ArrowDown")
    view.locator("#gene .embryo img").first.wait_for()
    assert view.evaluate("document.activeElement.dataset.key") == view.get_attribute("#gene", "data-key")
    alt = view.locator(".embryo img").evaluate_all("all => all.map((one) => one.alt)")
    assert all("stage range" in text for text in alt)
    view.fill("#groups-search", "")


@pytest.mark.parametrize("width", [400, 1280, 2000])
def test_the_page_fits_any_width_in_light_and_dark(browser, page, width):
    with shown(browser, page, width=width) as opened:
        for scheme in ("light", "dark"):
            opened.emulate_media(color_scheme=scheme)
            assert opened.evaluate("document.documentElement.scrollWidth") <= width
            ground = opened.evaluate("getComputedStyle(document.body).backgroundColor")
            level = sum(map(int, ground.removeprefix("rgb(").removesuffix(")").split(",")))
            assert (level > 600) == (scheme == "light")
        sizes = "all => all.map((one) => parseFloat(getComputedStyle(one).fontSize))"
        assert min(opened.locator("p, td, th, dd, label, figcaption").evaluate_all(sizes)) >= 12
        lines = "all => all.map((one) => one.getClientRects().length)"
        stage_ranges = opened.locator(".facts .together")
        assert set(stage_ranges.evaluate_all(lines)) == {int(width > 560)}, "none is broken at its hyphen"
        if width == 400:
            opened.locator(LINES).first.click()
        buttons = opened.locator("#gene .verdicts").first.locator("button")
        before = buttons.first.bounding_box()["height"]
        buttons.first.click()
        assert buttons.first.bounding_box()["height"] == before, "a verdict that is given takes one line"


def test_thousands_of_groups_are_paged_and_their_images_come_from_beside(browser, large_page):
    with shown(browser, large_page[0]) as view:
        assert view.inner_text("#groups-count") == "2,000 groups"
        assert view.locator(LINES).count() < 100 and view.locator(f"{LINES} img[src]").count() < 40
        for _ in range(3):  # more lines, and their pictures, as the last comes near
            view.locator(LINES).last.scroll_into_view_if_needed()
            view.locator(f"{LINES} img[src]").last.wait_for()
        until(view, "document.querySelectorAll('#groups-list li').length >= 150")
        view.fill("#groups-search", "gene01321")
        assert view.inner_text("#groups-count") == "1 of 2,000 groups"
        view.locator("#gene figure[data-image] img").wait_for()
        loaded = "all => all.map((one) => one.decode().then(() => one.naturalWidth))[0]"
        assert view.locator("#gene .embryo img").evaluate_all(loaded) == 320
        assert view.locator("button.map").get_attribute("aria-pressed") == "true"
        assert view.locator("#gene .copy canvas").count() == 1, "there is room for the map beside one picture"
        view.locator("button.map").click()
        assert view.locator(".embryo canvas").count() == 0


def test_a_page_that_lost_its_folder_says_so(browser, tmp_path):
    out = tmp_path / "lost.html"
    write_groups(out, entries(30), page_bytes=1).rename(tmp_path / "elsewhere")
    view = browser.new_page()
    view.goto(out.as_uri())
    assert "is not beside this page" in view.inner_text("#gene .banner")
    view.close()


def test_text_from_tables_is_shown_and_never_run(browser, tmp_path, rng):
    out = tmp_path / "nasty.html"
    write_page(out, nasty_page(rng, tmp_path), list(nasty_entries()))
    with shown(browser, out) as view:
        view.on("dialog", lambda dialog: pytest.fail(f"a script was run: {dialog.message}"))
        assert view.inner_text("h1") == NASTY
        assert view.inner_text("#gene h3") == f"{NASTY}, stage range 4-6"
        assert NASTY in view.inner_text("#scores-table tbody th")
        assert NASTY in view.locator("#gene tbody th").first.inner_text()
