"""The page: nothing is left off, and nothing is shown as more than it is."""

import re

import pytest

from flyannot.benchmarks.findings import not_runnable
from flyannot.benchmarks.items import OURS
from flyannot.benchmarks.page.figures import footnote
from flyannot.benchmarks.records import paths_of
from flyannot.benchmarks.runner import reproduce
from tests.benchmarks.made_up import FOUND, MadeUp


@pytest.fixture
def items(monkeypatch):
    """Four items in the place of the real ones, the last our own."""
    made_up = [MadeUp("one"), MadeUp("two"), MadeUp("three", not_runnable("nobody has the data"))]
    items = [one.item for one in (*made_up, MadeUp("four", paper=OURS))]
    monkeypatch.setattr("flyannot.benchmarks.page.ITEMS", {item.name: item for item in items})
    return items


def test_the_page_lists_every_item_of_a_paper_and_says_what_became_of_it(items, setup, tmp_path):
    reproduce([items[0], items[2]], setup, tmp_path)
    for name in ("index.html", "index.md"):
        text = (tmp_path / name).read_text()
        assert all(item.name in text for item in items[:3]) and "title of four" not in text
        statuses = set(re.findall("agrees on synthetic data|not runnable|not measured", text))
        assert {"agrees on synthetic data", "not runnable", "not measured"} <= statuses
        assert "nobody has the data" in text and "flyannot reproduce one --quick -o OUT" in text
        assert "items/one.json" in text and "projected" in text and "two over one" in text
    reproduce([items[3]], setup, tmp_path)
    assert "title of four" in (tmp_path / "index.md").read_text()


def test_whatever_an_item_says_is_escaped_and_the_page_needs_nothing_else(items, setup, tmp_path):
    reproduce(items[:1], setup, tmp_path)
    html = (tmp_path / "index.html").read_text()
    assert "They are &lt;made&gt; up." in html and "http" not in re.sub('data:image[^"]*', "", html)
    assert "hours\\|m=1" in (tmp_path / "index.md").read_text()


def test_a_failure_is_shown_until_it_is_mended(monkeypatch, setup, tmp_path):
    broken = MadeUp("two", ZeroDivisionError("no number"))
    monkeypatch.setattr("flyannot.benchmarks.page.ITEMS", {"two": broken.item})
    reproduce([broken.item], setup, tmp_path)
    markdown = (tmp_path / "index.md").read_text()
    assert "| two |" in markdown and "no number" in markdown and "**failed**" in markdown
    broken.finding = FOUND
    reproduce([broken.item], setup, tmp_path)
    assert "failed" not in (tmp_path / "index.md").read_text()


def test_figures_are_svg_and_png_and_say_how_real_the_data_are(items, setup, tmp_path):
    pytest.importorskip("matplotlib", reason="figures need flyannot[reproduce]")
    reproduce(items[:1], setup, tmp_path)
    paths = paths_of(tmp_path, "one")
    assert paths["png"].read_bytes()[:4] == b"\x89PNG" and b"<svg" in paths["svg"].read_bytes()
    assert footnote(FOUND).startswith("SYNTHETIC")
    assert "data:image/svg+xml;base64," in (tmp_path / "index.html").read_text()


def test_without_matplotlib_the_page_says_that_figures_are_missing(items, setup, tmp_path, monkeypatch):
    for module in ("page", "page.figures"):
        monkeypatch.setattr(f"flyannot.benchmarks.{module}.can_draw", lambda: False)
    reproduce(items[:1], setup, tmp_path)
    assert not paths_of(tmp_path, "one")["svg"].exists()
    assert "matplotlib is not installed" in (tmp_path / "index.md").read_text()
