"""Tests of the terms to look at first, and of the curated terms to check."""

import json
import re
from collections import Counter

import pytest

from flyannot.base.errors import DataError
from flyannot.dataset.folder import read_annotations, write_annotations_csv
from flyannot.files.tables import write_table
from flyannot.report.groups import (
    ABSENT,
    AGREED,
    CHECK,
    LOOK,
    MISSED,
    NEW,
    PREDICTED,
    UNDETERMINED,
    GroupEntry,
    ReviewSelector,
    draw_terms,
    expected_information,
)
from flyannot.report.page import ReviewSettings
from flyannot.report.run_folder import open_run
from flyannot.terms.answers import Answer
from tests.files.test_hostile_files import flipped
from tests.report.browser import focused, genes, review_as, shown, violations
from tests.report.pages_read import index_of, make_report
from tests.report.small_pages import make_run, term, write_groups, write_record_with
from tests.small_embryos import rows_of_csv

HIDDEN = 3  # genes of which the table says nothing
ALL_OF_40 = {
    **dict.fromkeys(("group", "gene"), [f"g{i}" for i in range(40)]),
    "fold": [0] * 40,
    "term": ["gap"],
    "value": [[0.0] * 40],
    "threshold": [[0.5]],
    "group_threshold": None,
    "truth": ["1" * 20 + "0" * 20],
    "yes": ["00" + "1" * 18 + "0" * 20],
    "probability": [[0.05, 0.2] + [0.9] * 18 + [0.1] * 20],
}
SCORES = {"evaluated": {"4-6": ALL_OF_40}}


def unknown(name, probability, n_genes, **more):
    known = {"curated": "", "held_out": "no", "threshold": 0.5, "n_genes": n_genes}
    return term(name, ABSENT, probability, **known | more)


def test_three_terms_of_a_group_are_to_be_looked_at_uncertain_and_rare_ones_first():
    """They are terms that are neither known nor reviewed, and of which the model says something."""
    asked = [unknown("sure", 0.99, 20), unknown("half", 0.5, 20), unknown("rare", 0.1, 5)]
    asked += [unknown("frequent", 0.5, 200), unknown("low", 0.1, 20)]
    others = [unknown("known", 0.5, 9, curated="no"), unknown("reviewed", 0.5, 9)]
    others.append(unknown("undetermined", 0.5, 9, answer=UNDETERMINED))
    marks = ReviewSelector(None).choose(others + asked, {"reviewed"})
    assert marks.keys() >= {"half", "rare", "low"} and {mark.queue for mark in marks.values()} == {LOOK}
    assert {mark.chance for term, mark in marks.items() if term in ("sure", "frequent")} <= {"0.3750"}
    assert marks["rare"].worth == pytest.approx(0.1 * 0.9 / 5)
    assert list(ReviewSelector(None).choose([*others, unknown("asked", 0.9, 9)], {"reviewed"})) == ["asked"]
    assert expected_information(0.3, 7) == pytest.approx(expected_information(0.7, 7))


def test_terms_are_drawn_at_random_with_the_chance_that_is_recorded():
    names = [f"t{i}" for i in range(12)]
    n_drawn = Counter()
    for number in range(1200):
        answers = [Answer(term=name, group=f"g{number}", stage_range="4-6") for name in names]
        drawn = draw_terms(answers)
        assert drawn == draw_terms(answers[::-1]) and {*drawn.values()} == {"0.2500"}
        n_drawn.update(list(drawn))
    assert all(abs(n_drawn[name] - 300) < 75 for name in names), "five standard deviations"


def test_the_curated_terms_that_are_contradicted_most_are_to_be_checked():
    """Two of 40 are 5%, doubted by 0.8 or more."""
    doubted = [term("a", MISSED, 0.05), term("b", NEW, 0.95), term("c", MISSED, 0.2)]
    others = [term("final", MISSED, 0.05, held_out="no"), term("reviewed", MISSED, 0.05)]
    others += [term("agreed", AGREED, 0.05), term("sure", NEW, 0.03)]
    marks = ReviewSelector(SCORES).choose(doubted + others, {"reviewed"})
    assert list(marks) == ["a", "b", "c"] and {mark.queue for mark in marks.values()} == {CHECK}
    assert [mark.worth for mark in marks.values()] == pytest.approx([0.95, 0.95, 0.8])


@pytest.fixture(scope="module")
def half_curated(chain, tmp_path_factory):
    """Return a run whose table has no row for three genes in 4-6, and the names of these genes."""
    copy = chain.copied_to(tmp_path_factory.mktemp("half") / "results")
    rows = rows_of_csv(copy.annotations)
    genes = sorted({row["gene"] for row in rows if row["stage_range"] == "4-6"})[:HIDDEN]
    kept = [row for row in rows if row["gene"] not in genes or row["stage_range"] != "4-6"]
    write_annotations_csv(copy.annotations, kept)
    return make_run(copy), genes


def marked(folder, out, queue):
    """Return (gene, stage range, term) -> summary on the page, for the terms of one queue."""
    index = index_of(make_report(folder, out).path.read_text())
    return {
        (group["gene"], index["stages"][group["stage"]], index["terms"][one["term"]]): one
        for group in index["groups"]
        for one in group["terms"] + group["no"]
        if one.get("queue") == queue
    }


def test_a_run_asks_of_genes_that_nobody_curated_and_doubts_the_others(half_curated, tmp_path):
    run, genes = half_curated
    looks, checks = (marked(run.folder, tmp_path / "page.html", queue) for queue in (LOOK, CHECK))
    n_asked = Counter(key[:2] for key in looks)
    assert checks and n_asked.keys() == {(gene, "4-6") for gene in genes} and min(n_asked.values()) >= 3
    annotations = read_annotations(run.annotations)
    for (gene, stage_range, name), one in checks.items():
        assert ("curated" in one) == (name in annotations.terms_of(gene, stage_range))
        assert one["worth"] == pytest.approx(1 - one["p"] if "curated" in one else one["p"], abs=1e-4)


def test_a_term_with_a_verdict_is_not_asked_again(half_curated, tmp_path):
    run, page = half_curated[0], tmp_path / "page.html"
    asked = next(iter(marked(run.folder, page, LOOK)))
    doubted, one = next(iter(marked(run.folder, page, CHECK).items()))
    rows = [[*asked, "unsure"], [*doubted, "accept" if "curated" in one else "reject"]]
    names = ["gene", "stage_range", "term", "verdict", "date"]
    write_table(tmp_path / "corrections.csv", names, [[*row, "2026-01-30"] for row in rows])
    copy = run.copied_to(tmp_path / "results")
    write_record_with(copy, tmp_path / "corrections.csv")
    after = marked(copy.folder, page, LOOK) | marked(copy.folder, page, CHECK)
    assert after and not after.keys() & {asked, doubted}


def says_the_same(spoilt, good):
    """Return whether two texts of JSON have the same values; a number can be written in several ways."""
    try:
        return json.loads(spoilt) == json.loads(good)
    except ValueError:
        return False


def test_scores_that_were_edited_are_on_no_page(run, flyannot, tmp_path, rng, trials):
    folder = run.copied_to(tmp_path / "run").folder
    path = folder / "scores.json"
    good = path.read_text()
    path.write_text(re.sub(r'"auc": 0\.\d+', '"auc": 0.988', good, count=1))
    assert path.read_text() != good
    assert "scores.json is damaged" in flyannot("report F -o O", code=65, F=folder, O=tmp_path / "o").err
    for at in rng.integers(20, len(good), trials(30)):
        spoilt = flipped(good.encode(), at, 1 << rng.integers(8))
        if says_the_same(spoilt, good):  # as 9.6E-05 for 9.6e-05
            continue
        path.write_bytes(spoilt)
        with pytest.raises(DataError, match="scores.json is damaged"):
            open_run(folder)


def test_without_predictions_unlike_groups_come_first_and_without_scores_nothing_is_to_check(
    half_curated, tmp_path
):
    run, _ = half_curated
    alone = tmp_path / "alone" / "run"  # what lies near a run is looked at
    alone.mkdir(parents=True)
    (alone / "features.h5").write_bytes(run.features.read_bytes())
    index = index_of(make_report(alone, tmp_path / "page.html").path.read_text())
    unlike = [group["unlike"] for group in index["groups"]]
    assert len(unlike) == 48 and unlike.count(2) == 2, "the first of each stage range"
    assert min(unlike) > 0 and index["terms"] == []
    copy = run.copied_to(tmp_path / "results")
    (copy.folder / "scores.json").unlink()
    assert marked(copy.folder, tmp_path / "page.html", CHECK) == {}


@pytest.fixture
def view(browser, tmp_path):
    """Show four genes: two to look at, the second first, and two curated genes with a term to check."""
    check, look = {"queue": CHECK}, {"queue": LOOK}
    terms_of = {
        "c1": [term("gap", MISSED, 0.1, worth=0.9, **check), term("midgut", AGREED, 0.9)],
        "c2": [term("gap", MISSED, 0.05, worth=0.95, **check)],
        "u1": [term("midgut", PREDICTED, 0.9), term("pole cell", ABSENT, 0.1, worth=0.01, **look)],
        "u2": [
            term("midgut", PREDICTED, 0.5, worth=0.02, **look),
            term("gap", ABSENT, 0.3, worth=0.03, **look),
        ],
    }
    groups = [
        GroupEntry("4-6", gene, gene, annotated=gene.startswith("c"), terms=terms)
        for gene, terms in terms_of.items()
    ]
    write_groups(tmp_path / "queue.html", groups, review=ReviewSettings())
    with shown(browser, tmp_path / "queue.html") as opened:
        review_as(opened, "anna")
        yield opened


def test_the_page_orders_by_what_to_look_at_first_and_the_keys_follow(view):
    view.select_option("#groups-order", "look")
    assert genes(view)[:2] == ["u2", "u1"]
    view.evaluate("document.activeElement.blur()")
    assert focused(view) == "midgut"
    view.keyboard.press("a")
    assert focused(view) == "gap"
    view.keyboard.press("r")
    assert "j for the next gene" in view.inner_text("#review-said")
    view.keyboard.press("j")
    view.wait_for_function("document.activeElement.closest('tr[data-term]')?.dataset.term === 'pole cell'")
    row = view.locator("#gene tr[data-term='pole cell']")
    assert row.is_visible(), "although the model answers no"
    assert "look at first" in row.inner_text() and not violations(view)


def test_the_page_lists_curated_terms_to_check_until_they_are_reviewed(view):
    view.select_option("#groups-which", "doubted")
    assert genes(view) == ["c1", "c2"]
    view.select_option("#groups-order", "look")
    assert genes(view) == ["c2", "c1"], "the most doubtful first"
    view.evaluate("document.activeElement.blur()")
    view.keyboard.press("r")
    view.select_option("#groups-order", "stage")
    assert genes(view) == ["c1"]
