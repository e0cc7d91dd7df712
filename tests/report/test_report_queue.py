"""What a curator should look at first, and curated terms to check: marked, listed, and on the page."""

import re
from contextlib import ExitStack
from dataclasses import replace

import pytest

from flyannot.classifiers.answers import UNDETERMINED
from flyannot.dataset.folder import read_annotations, write_annotations_csv
from flyannot.errors import DataError
from flyannot.report.groups import ABSENT, AGREED, MISSED, NEW, PREDICTED, GroupEntry, TermEntry
from flyannot.report.page import Review
from flyannot.report.queue import CHECK, LOOK, Queue
from flyannot.report.run_folder import open_run
from flyannot.runtime.tables import write_table
from flyannot.scores.curation import information_of_verdict
from tests.report.browser import genes, next_gene, review_as, shown, violations
from tests.report.pages_read import index_of, make_report
from tests.report.small_pages import make_run, term, write_groups, write_record_with
from tests.small_embryos import rows_of_csv
from tests.store.test_hostile_files import flipped

HIDDEN = 3  # genes of which the table says nothing
ALL_OF_40 = {
    **dict.fromkeys(("group", "gene"), [f"g{i}" for i in range(40)]),
    "fold": [0] * 40,
    "term": ["gap"],
    "value": [[0.0] * 40],
    "threshold": [[0.5]],
    "truth": ["1" * 20 + "0" * 20],
    "yes": ["00" + "1" * 18 + "0" * 20],
    "probability": [[0.05, 0.2] + [0.9] * 18 + [0.1] * 20],
}
SCORES = {"evaluated": {"4-6": ALL_OF_40}}


def unknown(term, probability, n_genes):
    return TermEntry(term, ABSENT, probability, False, probability, 0.5, n_genes)


def test_three_terms_of_a_group_are_to_be_looked_at_uncertain_and_rare_ones_first():
    """Of those that are neither known nor reviewed, and where the model says something."""
    sure, half, rare = unknown("sure", 0.99, 20), unknown("half", 0.5, 20), unknown("rare", 0.1, 5)
    asked = [sure, half, rare, unknown("frequent", 0.5, 200), unknown("low", 0.1, 20)]
    others = [replace(unknown("a", 0.5, 9), **{what: True}) for what in ("known", "reviewed")]
    others.append(replace(unknown("a", 0.5, 9), status=UNDETERMINED))
    Queue(None).mark(others + asked)
    assert [one.term for one in others + asked if one.queue == LOOK] == ["half", "rare", "low"]
    assert rare.worth == pytest.approx(0.1 * 0.9 / 5) and sure.worth == 0
    Queue(None).mark(others := others + [unknown("asked", 0.9, 9)])
    assert [one.term for one in others if one.queue] == ["asked"]
    assert information_of_verdict(0.3, 7) == pytest.approx(information_of_verdict(0.7, 7))


def test_the_curated_terms_that_are_contradicted_most_are_to_be_checked():
    """Two of 40 are 5 %, doubted by 0.8 or more."""

    def one(status, probability, *, held_out=True, reviewed=False):
        curated = status in (AGREED, MISSED)
        return TermEntry("gap", status, probability, held_out, curated=curated, known=True, reviewed=reviewed)

    doubted = [one(MISSED, 0.05), one(NEW, 0.95), one(MISSED, 0.2)]
    others = [one(MISSED, 0.05, held_out=False), one(MISSED, 0.05, reviewed=True)]
    others += [one(AGREED, 0.05), one(NEW, 0.03)]
    Queue(SCORES).mark(terms := doubted + others)
    assert [one.queue for one in terms] == [CHECK] * 3 + [""] * 4
    assert [one.worth for one in doubted] == pytest.approx([0.95, 0.95, 0.8])


@pytest.fixture(scope="module")
def half_curated(chain, tmp_path_factory):
    """A run in which the table says nothing of three genes in 4-6, and the names of these."""
    copy = chain.copied_to(tmp_path_factory.mktemp("half") / "results")
    rows = rows_of_csv(copy.annotations)
    genes = sorted({row["gene"] for row in rows if row["stage_range"] == "4-6"})[:HIDDEN]
    kept = [row for row in rows if row["gene"] not in genes or row["stage_range"] != "4-6"]
    write_annotations_csv(copy.annotations, kept)
    return make_run(copy), genes


@pytest.fixture
def queue(flyannot, half_curated, tmp_path):
    """The queue of that run: what was said, and its rows."""
    said = flyannot("queue R -o Q", R=half_curated[0].folder, Q=tmp_path / "queue.csv")
    return said, rows_of_csv(tmp_path / "queue.csv")


def test_the_queue_of_a_run_asks_of_genes_that_nobody_curated_and_doubts_the_others(queue, half_curated):
    (said, rows), (run, genes) = queue, half_curated
    looks, checks = ([row for row in rows if row["queue"] == name] for name in (LOOK, CHECK))
    assert said.code == 0 and rows == looks + checks and checks
    assert said.out == f"9 terms of 3 groups to look at first, {len(checks)} curated terms to check\n"
    groups = [looks[i : i + 3] for i in (0, 3, 6)]
    assert [{row["gene"] for row in group} for group in groups] == [{group[0]["gene"]} for group in groups]
    assert {row["gene"] for row in looks} == set(genes) and {row["stage_range"] for row in looks} == {"4-6"}
    sums = [sum(float(row["worth"]) for row in group) for group in groups]
    assert sums == sorted(sums, reverse=True)
    annotations = read_annotations(run.annotations)
    for row in checks:
        terms = annotations.terms_of(row["gene"], row["stage_range"])
        assert row["curated"] == ("yes" if row["term"] in terms else "no")
        p = float(row["probability"])
        assert float(row["worth"]) == pytest.approx(1 - p if row["curated"] == "yes" else p, abs=1e-4)
    worth = [float(row["worth"]) for row in checks]
    assert worth == sorted(worth, reverse=True)


def test_the_queue_and_the_page_say_the_same_of_a_term(queue, half_curated, tmp_path):
    index = index_of(make_report(half_curated[0].folder, tmp_path / "page.html").path.read_text())
    shown_on_page = {
        (index["stages"][group[0]], group[1], index["terms"][term[0]]): term[2]
        for group in index["groups"]
        for term in group[7] + group[8]
    }
    for row in queue[1]:
        expected = shown_on_page[row["stage_range"], row["gene"], row["term"]]
        assert float(row["probability"]) == pytest.approx(expected, abs=1e-4)


def test_a_term_with_a_verdict_is_not_asked_again(queue, flyannot, half_curated, tmp_path):
    names = ("gene", "stage_range", "term")
    asked, doubted = queue[1][0], next(row for row in queue[1] if row["queue"] == CHECK)
    verdicts = ["unsure", "accept" if doubted["curated"] == "yes" else "reject"]
    reviewed = [tuple(row[name] for name in names) for row in (asked, doubted)]
    rows = [[*key, verdict, "2026-01-30"] for key, verdict in zip(reviewed, verdicts)]
    write_table(tmp_path / "corrections.csv", [*names, "verdict", "date"], rows)
    copy = half_curated[0].copied_to(tmp_path / "results")
    write_record_with(copy, tmp_path / "corrections.csv")
    assert flyannot("queue R -o Q", R=copy.folder, Q=tmp_path / "again.csv").code == 0
    after = {tuple(row[name] for name in names) for row in rows_of_csv(tmp_path / "again.csv")}
    assert after and not after & set(reviewed)


def test_scores_that_were_edited_are_on_no_page_and_in_no_queue(run, flyannot, tmp_path, rng, trials):
    folder = run.copied_to(tmp_path / "run").folder
    path = folder / "scores.json"
    good = path.read_text()
    path.write_text(re.sub(r'"auc": 0\.\d+', '"auc": 0.988', good, count=1))
    assert path.read_text() != good
    for command in ("report F -o O", "queue F -o O"):
        assert "scores.json is damaged" in flyannot(command, code=65, F=folder, O=tmp_path / "o").err
    for at in rng.integers(20, len(good), trials(30)):
        path.write_bytes(flipped(good.encode(), at, 1 << rng.integers(8)))
        with ExitStack() as stack, pytest.raises(DataError, match="scores.json is damaged"):
            open_run(stack, folder)


def test_without_predictions_the_queue_is_of_unlike_groups_and_without_scores_nothing_is_to_check(
    flyannot, half_curated, tmp_path
):
    run, _ = half_curated
    tmp_path = tmp_path / "alone" / "run"  # what lies near a run is looked at
    tmp_path.mkdir(parents=True)
    (tmp_path / "dictionary.h5").write_bytes(run.dictionary.read_bytes())
    said = flyannot("queue R -o Q", R=tmp_path, Q=tmp_path / "q.csv", code=2)
    assert "no predictions.h5 and no features.h5" in said.err and not (tmp_path / "q.csv").exists()
    (tmp_path / "features.h5").write_bytes(run.features.read_bytes())
    said = flyannot("queue R -o Q", R=tmp_path, Q=tmp_path / "q.csv", code=0)
    assert "48 groups without predictions" in said.out
    rows = rows_of_csv(tmp_path / "q.csv")
    assert len({(row["stage_range"], row["gene"]) for row in rows}) == len(rows) == 48
    assert {row["term"] + row["probability"] for row in rows} == {""}
    worth = [float(row["worth"]) for row in rows]
    assert worth == sorted(worth, reverse=True) and worth[:2] == [2, 2], "the first of each stage range"
    copy = run.copied_to(tmp_path / "results")
    (copy.folder / "scores.json").unlink()
    said = flyannot("queue R -o Q", R=copy.folder, Q=tmp_path / "q.csv")
    assert said.code == 0 and said.out.endswith(", 0 curated terms to check\n")
    assert "There is no scores.json" in said.err


@pytest.fixture
def view(browser, tmp_path):
    """Four genes: two to look at, the second more; two curated ones, each with a term to check."""
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
    write_groups(tmp_path / "queue.html", groups, review=Review("embryos"))
    with shown(browser, tmp_path / "queue.html") as opened:
        review_as(opened, "anna")
        yield opened


def focused(view):
    return view.evaluate("document.activeElement.closest('tr[data-term]')?.dataset.term")


def test_the_page_orders_by_what_to_look_at_first_and_the_keys_follow(view):
    view.select_option("#groups-order", "look")
    assert genes(view)[:2] == ["u2", "u1"]
    view.evaluate("document.activeElement.blur()")
    next_gene(view)
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
    next_gene(view)
    view.keyboard.press("r")
    view.select_option("#groups-order", "stage")
    assert genes(view) == ["c1"]
