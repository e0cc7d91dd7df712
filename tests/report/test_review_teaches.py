"""Test of the whole way of a curator: from the page of a run to a model that learned from the verdicts.

Skipped without a browser.
"""

from flyannot.curation.corrections import read_corrections
from flyannot.files.hdf5.model import read_classifier, read_terms
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.terms.model import PER_TERM
from tests.report.browser import LINES, downloaded, shown
from tests.report.pages_read import index_of
from tests.report.small_pages import write_record_with


def statuses(page, gene, stage_range):
    """Return term -> status for one group of a page."""
    index = index_of(page.read_text(encoding="utf-8"))
    stage = index["stages"].index(stage_range)
    group = next(g for g in index["groups"] if (g["gene"], g["stage"]) == (gene, stage))
    return {index["terms"][one["term"]]: one["status"] for one in group["terms"]}


def n_positive(model, stage_range):
    """Return term -> number of groups that have it."""
    counts = read_classifier(model, stage_range, PER_TERM, 0)["n_positive"]
    return dict(zip(read_terms(model, stage_range), counts))


def reviewed(browser, page, wanted, folder):
    """Give verdicts on the page and download them; return the table, and verdict -> (gene, term).

    `wanted` is a dict from verdict to the status of the term that gets it.
    """
    chosen = {}
    with shown(browser, page) as view:
        view.fill("#curator", "anna")
        for number, (what, status) in enumerate(wanted.items()):
            view.select_option("#groups-which", status)
            groups = view.locator(LINES)
            groups.nth(min(number, groups.count() - 1)).click()
            row = view.locator(f"#gene tr[data-status={status}]").first
            group = row.locator("td.verdict").get_attribute("data-group")
            chosen[what] = group.split(".", 1)[1], row.get_attribute("data-term")
            row.locator(f"[data-verdict={what}]").click()
        return downloaded(view, folder / "corrections.csv"), chosen


def test_what_is_reviewed_on_the_page_of_a_run_teaches(browser, run, page, flyannot, tmp_path):
    """The model learns again, and the page follows."""
    wanted = {"reject": "agreed", "accept": "new", "unsure": "missed"}
    corrections, chosen = reviewed(browser, page, wanted, tmp_path)
    read = read_corrections([corrections])
    stage = {one.verdict: one.stage_range for one in read}
    assert {one.verdict: (one.gene, one.term) for one in read} == chosen
    with open_stored_file(run.model) as stored:
        assert {one.model_digest for one in read} == {stored.digest}
    copy = run.copied_to(tmp_path / "results")
    line = "train F A -o M --force --min-groups 4 --inner-folds 2 --corrections C"
    said = flyannot(line, F=copy.features, A=copy.annotations, M=copy.model, C=corrections)
    assert said.code == 0 and "3 reviewed terms: 1 added (" in said.err, said.err
    with open_stored_file(run.model) as before, open_stored_file(copy.model) as after:
        assert before.digest != after.digest
        changes = {"accept": 1, "reject": -1, "unsure": -1}  # the unsure term was curated
        for what in ("accept", "reject"):
            n = [n_positive(f, stage[what]) for f in (before, after)]
            reviewed_term = stage[what], chosen[what][1]
            change = sum(n for v, n in changes.items() if (stage[v], chosen[v][1]) == reviewed_term)
            assert n[1][chosen[what][1]] == n[0][chosen[what][1]] + change
    write_record_with(copy, corrections)
    new = copy.folder / "report.html"

    def status(verdict):
        gene, term = chosen[verdict]
        return statuses(new, gene, stage[verdict]).get(term)

    assert flyannot("report R", R=copy.folder).code == 0
    assert [status(verdict) for verdict in ("accept", "reject", "unsure")] == ["agreed", "new", None]
    corrections.unlink()
    new.unlink()
    assert flyannot("report R", R=copy.folder).code == 0
    assert status("accept") == "agreed", "the run has a copy of the corrections"
