"""The gallery of a page in a real browser: all pictures, by gene and by term."""

from flyannot.report.groups import PREDICTED, GroupEntry, ImageEntry
from tests.report.browser import shown
from tests.report.small_pages import shown as picture
from tests.report.small_pages import term, write_groups

CELLS = "#gallery li a"
READ = "all => all.map((one) => one.innerText.trim())"


def test_the_gallery_shows_all_pictures_and_the_strongest_of_a_term_first(browser, tmp_path):
    groups = []
    for gene, p in (("b", 0.6), ("a", 0.9), ("c", None)):
        images = [ImageEntry(f"{gene}{i}.png", "", picture(f"{gene}{i}")) for i in range(2)]
        images.append(ImageEntry(f"{gene}-lost.png"))
        terms = [term("gap", PREDICTED, p)] if p else []
        groups.append(GroupEntry("4-6", gene, gene, "", images=images, terms=terms))
    for page_bytes in (20_000_000, 1):  # pictures in the page, and beside it
        write_groups(tmp_path / "page.html", groups, page_bytes=page_bytes)
        with shown(browser, tmp_path / "page.html") as view:
            view.locator("#gallery-of").scroll_into_view_if_needed()
            view.locator(CELLS).first.wait_for()
            assert view.locator(CELLS).evaluate_all(READ) == ["a", "a", "b", "b", "c", "c"]
            assert view.inner_text("#gallery-count") == "6 pictures"
            sizes = "all => Promise.all(all.map((one) => one.decode().then(() => one.naturalWidth)))"
            assert view.locator("#gallery img").evaluate_all(sizes) == [320] * 6
            view.locator(CELLS).first.press("ArrowRight")
            assert view.evaluate("document.querySelectorAll('#gallery a')[1] === document.activeElement")
            view.select_option("#gallery-of", label="gap (2)")
            view.locator(CELLS).first.wait_for()
            assert view.locator(CELLS).evaluate_all(READ) == ["a 0.90", "a 0.90", "b 0.60", "b 0.60"]
            view.locator(CELLS).last.click()
            assert view.get_attribute("#gene", "data-key") == "4-6.b"
