"""What the benchmark of the report's page finds on a page of few groups."""

import numpy as np

from benchmarks import browser
from benchmarks.ours import report_page
from tests.report.browser import open_browser


def test_a_page_is_opened_filtered_and_scrolled_with_and_without_verdicts(tmp_path):
    path = tmp_path / "report.html"
    report_page._write(path, 24, np.random.default_rng(0))
    with open_browser():  # skips, with the reason, where there is none
        pass
    none, kept = (report_page.look_at_page(str(path), n) for n in (0, 5))
    for found in (none, kept):
        assert found["first_paint_ms"] > 0 and 0 < found["main_thread_s"] < 60
        assert found["filter_ms"] > 0 and found["browser_mb"] > found["heap_mb"] > 0
        assert 0 <= found["long_frames"] <= report_page._N_FRAMES


def test_verdicts_are_kept_as_the_page_keeps_them(tmp_path):
    path = tmp_path / "report.html"
    report_page._write(path, 24, np.random.default_rng(0))
    with open_browser() as opened:
        context = opened.new_context()
        page = context.new_page()
        page.goto(path.as_uri())
        page.locator(report_page._LIST).first.wait_for()
        page.evaluate(report_page._KEEP, [report_page._NAME, 5])
        page.reload()
        page.locator(report_page._LIST).first.wait_for()
        assert page.inner_text("#review-progress").startswith("120 of ")


def test_without_a_browser_the_item_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(browser, "find_spec", lambda name: name)
    monkeypatch.setattr(browser.shutil, "which", lambda name: None)
    assert "chromium" in browser.why_browser_is_absent()
    monkeypatch.setattr(browser, "find_spec", lambda name: None)
    assert "flyannot[browser]" in browser.why_browser_is_absent()
