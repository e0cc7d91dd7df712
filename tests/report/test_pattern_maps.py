"""Tests of the map of patterns and of look-alikes; parts are skipped without a browser."""

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from flyannot.encode.groups import group_images
from flyannot.encode.similarity import build_image_index
from flyannot.files.hdf5.features import read_features
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.report.groups import RunGroups
from flyannot.report.nearest import N_ALIKE, N_SHOWN
from flyannot.report.page import PATTERNS, write_page
from flyannot.report.run_folder import open_run
from flyannot.report.templates import render
from tests.report.browser import shown, until, violations_in_light_and_dark
from tests.report.small_pages import entries, groups_page


@pytest.fixture(scope="module", params=[1, 20_000_000], ids=["beside the page", "in it"])
def mapped(request, tmp_path_factory):
    """Write a page of 150 groups of two stage ranges, each with a place on its map."""
    rng = np.random.default_rng(5)
    groups = [
        replace(entry, stage_range=("4-6", "7-8")[g % 2], place=tuple(rng.random(2)))
        for g, entry in enumerate(entries(150))
    ]
    path, page = tmp_path_factory.mktemp("map") / "report.html", groups_page()
    page = replace(page, sections=[*page.sections, (PATTERNS, "Map of patterns", render("patterns.html"))])
    write_page(path, page, groups, page_bytes=request.param)
    return path


@pytest.fixture
def view(browser, mapped):
    with shown(browser, mapped) as opened:
        assert opened.locator("#patterns.drawn").count() == 0, "nothing is made before it is looked at"
        opened.locator("#patterns-map").scroll_into_view_if_needed()
        opened.locator("#patterns.drawn").wait_for()
        opened.locator("[data-place]").first.wait_for()
        yield opened


def legend(view):
    return view.inner_text("#patterns-legend").replace("\n", " ")


_BOXES = "all => all.map((one) => one.getBoundingClientRect().toJSON())"


def test_the_map_shows_pictures_that_do_not_cover_each_other(view):
    boxes = view.locator("[data-place]").evaluate_all(_BOXES)
    assert len(boxes) > 20
    for one, other in combinations(boxes, 2):
        assert abs(one["x"] - other["x"]) >= 80 or abs(one["y"] - other["y"]) >= 32
    view.click("#patterns-nearer")
    until(view, "document.querySelectorAll('[data-place]').length > 0")
    view.click("#patterns-whole")
    until(view, f"document.querySelectorAll('[data-place]').length === {len(boxes)}")


def test_the_genes_of_a_region_are_ticked_and_the_map_does_not_move(view):
    places = np.random.default_rng(5).random((150, 2))[::2]
    box = view.locator("#patterns-map").bounding_box()
    view.keyboard.down("Shift")
    view.mouse.move(box["x"] + 3, box["y"] + 3)
    view.mouse.down()
    view.mouse.move(box["x"] + 50, box["y"] + 50)
    view.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 3)
    assert view.locator(".region").is_visible()
    view.mouse.up()
    view.keyboard.up("Shift")
    n = sum(places[:, 0] <= 0.5)
    assert view.inner_text("#patterns-said") == f"{n} genes are ticked."
    assert view.inner_text("#together-open") == f"Verdict on {n} ticked"
    assert not view.locator(".region").is_visible() and view.locator("#patterns-map.near").count() == 0


def test_a_term_in_colour_is_counted_for_the_stage_range(view):
    assert view.input_value("#patterns-stage") == "4-6" and "of 75 genes" in legend(view)
    index = json.loads(view.evaluate("document.getElementById('index').textContent"))
    of_stage = [group for group in index["groups"] if index["stages"][group["stage"]] == "4-6"]
    chosen = int(view.input_value("#patterns-term"))
    statuses = [one["status"] for group in of_stage for one in group["terms"] if one["term"] == chosen]
    for status in set(statuses):
        assert f"{statuses.count(status)} {status}" in legend(view)
    view.select_option("#patterns-term", "")
    assert legend(view) == "75 genes"
    view.select_option("#patterns-stage", "7-8")
    until(view, "document.getElementById('patterns-map').getAttribute('aria-label').endsWith('7-8')")


def test_a_click_opens_the_gene_in_the_list(view):
    link = view.locator("[data-place]").nth(3)
    gene = link.get_attribute("aria-label").split(",")[0]
    link.hover()
    view.locator("#patterns-card", has_text=gene).wait_for()
    until(view, "document.querySelector('#patterns-card img').naturalWidth === 320")
    assert view.inner_text("#patterns-card strong") == gene, "what it has of the term stands below"
    link.click()
    view.locator(f'#gene[data-key="4-6.{gene}"]:focus-within .embryo img').wait_for()


def test_the_map_is_used_by_keyboard(view):
    view.locator("[data-place][tabindex='0']").focus()
    name = "document.activeElement.getAttribute('aria-label')"
    start = view.evaluate(name)
    before = view.locator("[data-place]:focus").bounding_box()
    view.keyboard.press("ArrowRight")
    if view.evaluate(name) == start:
        view.keyboard.press("ArrowLeft")
    assert view.evaluate(name) != start
    assert view.locator("[data-place]:focus").bounding_box() != before
    assert view.locator("[data-place][tabindex='0']").count() == 1, "one stop of the tabulator"
    here = view.evaluate(name)
    view.keyboard.press("+")
    until(view, "document.getElementById('patterns-map').classList.contains('near')")
    assert view.evaluate(name) == here, "it comes nearer to what is in focus"
    view.keyboard.press("0")
    until(view, "!document.getElementById('patterns-map').classList.contains('near')")
    view.keyboard.press("Enter")
    view.locator(f'#gene[data-key="4-6.{here.split(",")[0]}"]').wait_for()


def test_a_group_is_shown_on_the_map(browser, mapped):
    with shown(browser, mapped) as view:
        group = view.locator("#gene")
        name = group.get_attribute("data-key").split(".")[1]
        group.locator("button.on-map").click()
        until(view, f"(document.activeElement.getAttribute('aria-label') || '').startsWith('{name}')")


@pytest.mark.parametrize("width", [400, 1280])
def test_axe_finds_no_fault_in_the_map_of_a_run(browser, page, width):
    with shown(browser, page, width=width) as view:
        view.locator("#patterns-map").scroll_into_view_if_needed()
        view.locator("[data-place]").first.focus()
        view.locator("#patterns-card img").wait_for()
        assert violations_in_light_and_dark(view) == []
        assert view.evaluate("document.documentElement.scrollWidth") <= width


def test_every_group_has_the_most_similar_others_and_what_their_curators_said(run):
    opened = open_run(run.folder)
    found = [entry for entry in RunGroups(opened) if entry.stage_range == "4-6"]
    stored = open_stored_file(run.features)
    columns, features = read_features([stored], "4-6")
    groups = group_images(columns)
    rows = build_image_index(lambda: [features], groups).groups
    own = {entry.name: {one.term for one in entry.terms if one.answer.curated == "yes"} for entry in found}
    annotated = {entry.name for entry in found if entry.annotated}
    for entry in found:
        similarity = rows @ rows[groups.name.index(entry.name)]
        similarity[groups.name.index(entry.name)] = -np.inf
        nearest = np.argsort(-similarity, kind="stable")[:N_ALIKE]
        expected = [groups.name[g] for g in nearest if similarity[g] > 0]
        assert entry.alike == [f"4-6.{name}" for name in expected]
        assert [one.key for one in entry.nearest] == entry.alike[:N_SHOWN]
        for one, name in zip(entry.nearest, expected):
            if name in annotated and entry.name in annotated:
                assert set(one.shared) == own[name] & own[entry.name]
                assert set(one.other) == own[name] - own[entry.name]
