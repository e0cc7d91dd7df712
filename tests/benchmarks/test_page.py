"""The page: nothing is left off, and nothing is shown as more than it is."""

import re

import pytest

from benchmarks.findings import not_runnable
from benchmarks.items import OURS
from benchmarks.page.figures import footnote
from benchmarks.records import paths_of
from tests.benchmarks.made_up import FOUND, MadeUp, measured


@pytest.fixture
def items(monkeypatch):
    """Four items in the place of the real ones, the last our own."""
    made_up = [MadeUp("one"), MadeUp("two"), MadeUp("three", not_runnable("nobody has the data"))]
    items = [one.item for one in (*made_up, MadeUp("four", paper=OURS))]
    monkeypatch.setattr("benchmarks.page.ITEMS", {item.name: item for item in items})
    return items


def test_the_page_lists_every_item_of_a_paper_and_says_what_became_of_it(items, setup, tmp_path):
    measured([items[0], items[2]], setup, tmp_path)
    for name in ("index.html", "index.md"):
        text = (tmp_path / name).read_text()
        assert all(item.name in text for item in items[:3]) and "title of four" not in text
        assert "like the paper&#39;s: 1 hold" in text or "like the paper's: 1 hold" in text
        assert "nobody has the data" in text
        assert "not measured; python -m benchmarks two -o OUT measures it" in text
        assert "items/one.json" in text and "projected" in text and "two over one" in text
        counts = "1 statements of 1 papers, from 1 of 3 tables, figures and sections; 1 in the regime"
        assert f"{counts} of the paper: 1 hold." in text
    measured([items[3]], setup, tmp_path)
    assert "title of four" in (tmp_path / "index.md").read_text()


def test_whatever_an_item_says_is_escaped_and_the_page_needs_nothing_else(items, setup, tmp_path):
    measured(items[:1], setup, tmp_path)
    html = (tmp_path / "index.html").read_text()
    assert "They are &lt;made&gt; up." in html and "http" not in re.sub('data:image[^"]*', "", html)
    assert "hours\\|m=1" in (tmp_path / "index.md").read_text()


def test_figures_are_svg_and_say_how_real_the_data_are(items, setup, tmp_path):
    pytest.importorskip("matplotlib", reason="figures need flyannot[reproduce]")
    measured(items[:1], setup, tmp_path)
    paths = paths_of(tmp_path, "one")
    assert b"<svg" in paths["svg"].read_bytes()
    assert footnote(FOUND).startswith("Data (synthetic): ")
    assert "data:image/svg+xml;base64," in (tmp_path / "index.html").read_text()
