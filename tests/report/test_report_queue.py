"""What a curator should look at first, and curated terms to check: marked, listed, and on the page."""

import csv
from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe

from flyannot.classifiers.answers import UNDETERMINED
from flyannot.dataset.folder import read_annotations, write_annotations_csv
from flyannot.report.groups import ABSENT, AGREED, MISSED, NEW, PREDICTED, GroupEntry, TermEntry
from flyannot.report.page import Review, write_page
from flyannot.report.queue import CHECK, LOOK, Queue, queue_in_words
from flyannot.scores.curation import information_of_verdict
from flyannot.steps.runs.configuration import Configuration, option_tables, write_record
from tests.report.browser import shown
from tests.report.small_pages import groups_page, make_run, picture
from tests.report.test_report import index_of, make_report
from tests.small_embryos import CLASSIFY

HIDDEN = 3  # genes of which the table says nothing
SCORES = {
    "evaluated": {
        "4-6": {
            **dict.fromkeys(("group", "gene"), [f"g{i}" for i in range(40)]),
            "fold": [0] * 40,
            "term": ["gap"],
            "value": [[0.0] * 40],
            "threshold": [[0.5]],
            "truth": ["1" * 20 + "0" * 20],
            "yes": ["00" + "1" * 18 + "0" * 20],
            "probability": [[0.05, 0.2] + [0.9] * 18 + [0.1] * 20],
        }
    }
}


def unknown(term, probability, n_genes):
    return TermEntry(term, ABSENT, probability, False, probability, 0.5, n_genes)


def test_three_terms_of_a_group_are_to_be_looked_at_uncertain_and_rare_ones_first():
    sure, half, rare = unknown("sure", 0.99, 20), unknown("half", 0.5, 20), unknown("rare", 0.1, 5)
    terms = [sure, half, rare, unknown("frequent", 0.5, 200), unknown("low", 0.1, 20)]
    Queue(None).mark(terms)
    assert [one.term for one in terms if one.queue == LOOK] == ["half", "rare", "low"]
    assert terms[2].worth == pytest.approx(0.1 * 0.9 / 5) and terms[0].worth == 0
    assert information_of_verdict(0.3, 7) == pytest.approx(information_of_verdict(0.7, 7))


def test_what_is_known_was_reviewed_or_says_nothing_is_not_asked():
    terms = [
        replace(unknown("known", 0.5, 9), known=True),
        replace(unknown("reviewed", 0.5, 9), reviewed=True),
        TermEntry("nothing", UNDETERMINED, 0.5, False, 0.5, 0.5, 9),
        unknown("asked", 0.5, 9),
    ]
    Queue(None).mark(terms)
    assert [one.term for one in terms if one.queue] == ["asked"]


def test_the_curated_terms_that_are_contradicted_most_are_to_be_checked():
    def one(probability, curated, **more):
        status = {(True, True): AGREED, (True, False): MISSED, (False, True): NEW, (False, False): ABSENT}[
            curated, probability > 0.5
        ]
        return TermEntry(
            "gap", status, probability, curated=curated, **{"held_out": True, "known": True} | more
        )

    doubted = [one(0.05, True), one(0.95, False), one(0.2, True)]
    other_way = [one(0.05, True, held_out=False), one(0.05, True, reviewed=True)]
    agreed, new = replace(one(0.05, True), status=AGREED), replace(one(0.03, False), status=NEW)
    terms = [*doubted, *other_way, agreed, new]
    Queue(SCORES).mark(terms)
    assert [one.queue for one in terms] == [CHECK, CHECK, CHECK, "", "", "", ""], (
        "two of 40 are 5 %, doubted by 0.8 or more"
    )
    assert [one.worth for one in terms[:3]] == pytest.approx([0.95, 0.95, 0.8])


@pytest.fixture(scope="module")
def half_curated(chain, tmp_path_factory):
    """A run in which the table says nothing of three genes in 4-6, and the names of these."""
    copy = chain.copied_to(tmp_path_factory.mktemp("half") / "results")
    with open(copy.annotations, newline="") as file:
        rows = list(csv.DictReader(file))
    genes = sorted({row["gene"] for row in rows if row["stage_range"] == "4-6"})[:HIDDEN]
    write_annotations_csv(
        copy.annotations, [r for r in rows if r["gene"] not in genes or r["stage_range"] != "4-6"]
    )
    return make_run(copy), genes


@pytest.mark.parametrize(
    ("n_genes", "said"),
    [
        (1, "1 term of 1 group to look at first, 1 curated term to check"),
        (2, "2 terms of 2 groups to look at first, 2 curated terms to check"),
    ],
)
def test_one_term_of_one_group_is_counted_as_one(n_genes, said):
    rows = [(queue, f"gene{g}", "", "4-6", "pole cell") for queue in (LOOK, CHECK) for g in range(n_genes)]
    assert queue_in_words(rows) == said


def listed(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_the_queue_of_a_run_asks_of_genes_that_nobody_curated_and_doubts_the_others(
    flyannot, half_curated, tmp_path
):
    run, genes = half_curated
    said = flyannot("queue R -o Q", R=run.folder, Q=tmp_path / "queue.csv")
    rows = listed(tmp_path / "queue.csv")
    looks, checks = ([row for row in rows if row["queue"] == name] for name in (LOOK, CHECK))
    assert said.code == 0 and rows == looks + checks and checks
    assert said.out == f"9 terms of 3 groups to look at first, {len(checks)} curated terms to check\n"
    assert [row["gene"] for row in looks] == [
        gene for gene in dict.fromkeys(r["gene"] for r in looks) for _ in "123"
    ]
    assert {row["gene"] for row in looks} == set(genes) and {row["stage_range"] for row in looks} == {"4-6"}
    sums = [sum(float(row["worth"]) for row in looks[i : i + 3]) for i in (0, 3, 6)]
    assert sums == sorted(sums, reverse=True)
    annotations = read_annotations(run.annotations)
    for row in checks:
        terms = annotations.terms_of(row["gene"], row["stage_range"])
        assert row["curated"] == ("yes" if row["term"] in terms else "no")
        p = float(row["probability"])
        assert float(row["worth"]) == pytest.approx(1 - p if row["curated"] == "yes" else p, abs=1e-4)
    worth = [float(row["worth"]) for row in checks]
    assert worth == sorted(worth, reverse=True)


def test_the_queue_and_the_page_say_the_same_of_a_term(flyannot, half_curated, tmp_path):
    run, _ = half_curated
    flyannot("queue R -o Q", R=run.folder, Q=tmp_path / "queue.csv")
    index = index_of(make_report(run.folder, tmp_path / "page.html").path.read_text())
    shown_on_page = {
        (index["stages"][group[0]], group[1], index["terms"][term[0]]): term[2]
        for group in index["groups"]
        for term in group[7] + group[8]
    }
    for row in listed(tmp_path / "queue.csv"):
        key = row["stage_range"], row["gene"], row["term"]
        assert float(row["probability"]) == pytest.approx(shown_on_page[key], abs=1e-4)


def test_a_term_with_a_verdict_is_not_asked_again(flyannot, half_curated, tmp_path):
    run, _ = half_curated
    flyannot("queue R -o Q", R=run.folder, Q=tmp_path / "queue.csv")
    before = listed(tmp_path / "queue.csv")
    reviewed = [before[0], next(row for row in before if row["queue"] == CHECK)]
    corrections = tmp_path / "corrections.csv"
    with open(corrections, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["gene", "stage_range", "term", "verdict", "date"])
        verdicts = ["unsure", "accept" if reviewed[1]["curated"] == "yes" else "reject"]
        for row, verdict in zip(reviewed, verdicts):
            writer.writerow([row["gene"], row["stage_range"], row["term"], verdict, "2026-01-30"])
    copy = run.copied_to(tmp_path / "results")
    options = {name: cls() for name, cls in option_tables().items()} | {
        "train": replace(CLASSIFY, corrections=(corrections,))
    }
    write_record(Configuration(copy.embryos, copy.folder, options=options))
    assert flyannot("queue R -o Q", R=copy.folder, Q=tmp_path / "again.csv").code == 0
    after = [(row["gene"], row["stage_range"], row["term"]) for row in listed(tmp_path / "again.csv")]
    for row in reviewed:
        assert (row["gene"], row["stage_range"], row["term"]) not in after


def test_without_predictions_there_is_no_queue_and_without_scores_nothing_to_check(
    flyannot, half_curated, tmp_path
):
    run, _ = half_curated
    (tmp_path / "features.h5").write_bytes(run.features.read_bytes())
    said = flyannot("queue R -o Q", R=tmp_path, Q=tmp_path / "q.csv")
    assert said.code == 2 and "no predictions.h5" in said.err and not (tmp_path / "q.csv").exists()
    copy = run.copied_to(tmp_path / "results")
    (copy.folder / "scores.json").unlink()
    said = flyannot("queue R -o Q", R=copy.folder, Q=tmp_path / "q.csv")
    assert said.code == 0 and said.out.endswith(", 0 curated terms to check\n")
    assert "There is no scores.json" in said.err


def test_a_queue_is_replaced_and_another_table_is_not(flyannot, half_curated, tmp_path):
    other = tmp_path / "images.csv"
    other.write_text("image,gene\n")
    said = flyannot("queue R -o Q", R=half_curated[0].folder, Q=other)
    assert said.code == 2 and "add --force to replace it" in said.err and "-o" in said.err
    assert other.read_text() == "image,gene\n"
    for _ in range(2):
        assert flyannot("queue R -o Q", R=half_curated[0].folder, Q=tmp_path / "queue.csv").code == 0


@pytest.fixture
def view(browser, tmp_path):
    """Four genes: two to look at, the second more; two curated ones, each with a term to check."""

    def group(gene, *terms):
        return GroupEntry("4-6", gene, gene, annotated=gene.startswith("c"), terms=list(terms))

    def asked(term, status, probability, worth):
        return TermEntry(term, status, probability, True, probability, 0.4, 12, queue=LOOK, worth=worth)

    def doubted(term, status, probability, worth):
        return TermEntry(
            term, status, probability, True, probability, 0.4, 12, curated=True, queue=CHECK, worth=worth
        )

    groups = [
        group(
            "c1",
            doubted("gap", MISSED, 0.1, 0.9),
            TermEntry("midgut", AGREED, 0.9, True, 0.9, 0.4, 12, curated=True),
        ),
        group("c2", doubted("gap", MISSED, 0.05, 0.95)),
        group(
            "u1",
            TermEntry("midgut", PREDICTED, 0.9, False, 0.9, 0.4, 12),
            asked("pole cell", ABSENT, 0.1, 0.01),
        ),
        group("u2", asked("midgut", PREDICTED, 0.5, 0.02), asked("gap", ABSENT, 0.3, 0.03)),
    ]
    path = tmp_path / "queue.html"
    write_page(path, groups_page(review=Review("embryos")), groups, jpeg_of=picture)
    with shown(browser, path) as opened:
        opened.fill("#curator", "anna")
        opened.locator("#curator").blur()
        yield opened


def genes(view):
    return [title.split(",")[0] for title in view.locator("details.group h3").all_inner_texts()]


def focused(view):
    return view.evaluate("document.activeElement.closest('tr[data-term]')?.dataset.term")


def test_the_page_orders_by_what_to_look_at_first_and_the_keys_follow(view):
    view.select_option("#groups-order", "look")
    assert genes(view)[:2] == ["u2", "u1"]
    view.locator("h2").first.click()
    view.keyboard.press("j")
    view.wait_for_function("document.activeElement.closest('tr[data-term]')")
    assert focused(view) == "midgut"
    view.keyboard.press("a")
    assert focused(view) == "gap"
    view.keyboard.press("r")
    assert "j opens the next gene" in view.inner_text("#review-said")
    view.keyboard.press("j")
    view.wait_for_function("document.activeElement.closest('tr[data-term]')?.dataset.term === 'pole cell'")
    row = view.locator("details.group[open] tr[data-term='pole cell']")
    assert row.is_visible(), "although the model answers no"
    assert "look at first" in row.inner_text() and not Axe().run(view).response["violations"]


def test_the_page_lists_curated_terms_to_check_until_they_are_reviewed(view):
    view.select_option("#groups-which", "doubted")
    assert genes(view) == ["c1", "c2"]
    view.select_option("#groups-order", "look")
    assert genes(view) == ["c2", "c1"], "the most doubtful first"
    view.locator("h2").first.click()
    view.keyboard.press("j")
    view.wait_for_function("document.activeElement.closest('tr[data-term]')")
    view.keyboard.press("r")
    view.select_option("#groups-order", "stage")
    assert genes(view) == ["c1"]


def test_a_page_without_such_terms_offers_neither(browser, tmp_path):
    term = TermEntry("gap", AGREED, 0.9, True, 0.9, 0.4, 12, curated=True, known=True)
    write_page(
        tmp_path / "p.html", groups_page(), [GroupEntry("4-6", "en", "en", terms=[term])], jpeg_of=picture
    )
    with shown(browser, tmp_path / "p.html") as view:
        assert not view.locator("#groups-order option[value=look]").count()
        assert not view.locator("#groups-which option[value=doubted]").count()


def test_what_a_page_says_of_its_orders_is_of_those_that_it_has(browser, tmp_path):
    term = TermEntry("gap", MISSED, 0.1, True, 0.1, 0.4, 12, curated=True, queue=CHECK, worth=0.9)
    write_page(
        tmp_path / "p.html", groups_page(), [GroupEntry("4-6", "en", "en", terms=[term])], jpeg_of=picture
    )
    with shown(browser, tmp_path / "p.html") as view:
        said = view.locator("#groups p.quiet").first.inner_text()
        assert not view.locator("#groups-order option[value=look]").count()
        assert said.endswith("contradict most.") and "look at first" not in said
