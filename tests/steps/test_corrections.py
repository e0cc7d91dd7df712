"""Curators correct what a model said, and it learns again."""

import csv
import json
import re

import numpy as np
import pytest

from flyannot.classifiers.model import PER_TERM
from flyannot.dataset.folder import read_annotations
from flyannot.scores.group_outcomes import read_scores
from flyannot.store.model import read_classifier, read_terms
from flyannot.store.reading import open_stored

HEAD = ["gene", "stage_range", "term", "verdict", "curator", "date"]
OPTIONS = "--min-groups 4 --inner-folds 2 --seed 1"


def write(path, rows, date="2026-01-02", curator="anna"):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([HEAD, *([*row, curator, date] for row in rows)])
    return path


@pytest.fixture
def reviewed(chain, tmp_path):
    """Six verdicts on annotated genes: three terms come, three go; no gene is left without a term."""
    annotations = read_annotations(chain.annotations)
    term = annotations.counts("4-6").most_common(1)[0][0]
    keys = sorted(key for key in annotations.terms_by_gene if key[1] == "4-6")
    has = [
        g
        for g, s in keys
        if term in annotations.terms_by_gene[g, s] and len(annotations.terms_by_gene[g, s]) > 1
    ]
    has_not = [g for g, s in keys if term not in annotations.terms_by_gene[g, s]]
    rows = [[g, "4-6", term, "reject"] for g in has[:3]] + [[g, "4-6", term, "accept"] for g in has_not[:3]]
    return write(tmp_path / "corrections.csv", rows), term, rows


def of_model(path, stage_range="4-6"):
    with open_stored(path, "model") as stored:
        terms = read_terms(stored, stage_range)
        return terms, read_classifier(stored, stage_range, PER_TERM, 0)


def test_learning_with_corrections_is_learning_from_the_clean_table(flyannot, chain, reviewed, tmp_path):
    corrections, term, rows = reviewed
    line = f"train F A -o M {OPTIONS} --corrections C"
    names = chain.words | {"M": tmp_path / "m.h5", "C": corrections}
    said = flyannot(line, **names)
    assert said.code == 0
    assert (
        f"6 reviewed terms: 3 added ({term} of {rows[3][0]} in 4-6" in said.err and "3 removed (" in said.err
    )
    listed = flyannot("annotations A C -o N", **names, N=tmp_path / "new.csv")
    assert listed.code == 0
    assert sorted(listed.out.splitlines()) == sorted(
        f"{'added' if verdict == 'accept' else 'removed'}: {term} of {gene} in {s}"
        for gene, s, term, verdict in rows
    )
    cleaned = {"F": chain.features, "A": tmp_path / "new.csv", "M": tmp_path / "n.h5"}
    assert flyannot(f"train F A -o M {OPTIONS}", **cleaned).code == 0
    one, other, before = (of_model(p) for p in (tmp_path / "m.h5", tmp_path / "n.h5", chain.model))
    assert one[0] == other[0]
    assert all(np.array_equal(one[1][name], other[1][name], equal_nan=True) for name in one[1])
    assert any(not np.array_equal(one[1][name], before[1][name], equal_nan=True) for name in one[1])
    with open_stored(tmp_path / "m.h5") as stored:
        assert len(stored.inputs["corrections"]) == 1
    assert "up to date" in flyannot(line, **names).err
    write(corrections, rows[:-1])
    changed = flyannot(line, **names)
    assert changed.code == 2 and "corrections" in changed.err and "--force" in changed.err


def test_an_unsure_term_is_in_no_score_and_a_gene_of_corrections_alone_in_few(flyannot, chain, tmp_path):
    annotations = read_annotations(chain.annotations)
    keys = sorted(key for key in annotations.terms_by_gene if key[1] == "4-6")
    term, other = (t for t, _ in annotations.counts("4-6").most_common(2))
    gone = keys[0][0]  # this gene loses all its rows in 4-6
    table = tmp_path / "annotations.csv"
    lines = chain.annotations.read_text().splitlines(keepends=True)
    rows_of_gone = (f"{gone},4-6,", f"{gone},,4-6,")
    table.write_text("".join(line for line in lines if not line.startswith(rows_of_gone)))
    rows = [[keys[1][0], "4-6", term, "unsure"], [gone, "4-6", other, "accept"]]
    corrections = write(tmp_path / "corrections.csv", rows)
    for name, more in (("before", ""), ("after", "--corrections C")):
        names = {"F": chain.features, "A": table, "J": tmp_path / f"{name}.json", "C": corrections}
        said = flyannot(f"evaluate F A --folds 3 {OPTIONS} --json J {more}", **names)
        assert said.code == 0, said.err
    assert "1 unsure and left out" in said.out or "1 unsure and left out" in said.err
    before, after = (read_scores(tmp_path / f"{name}.json") for name in ("before", "after"))
    n = [
        {r["term"]: r["n_groups"] for r in one["terms"] if r["stage_range"] == "4-6"}
        for one in (before, after)
    ]
    assert n[1][term] == n[0][term] - 1, "unsure: one group fewer"
    assert n[1][other] == n[0][other] + 1, "the gene without a row counts where it was reviewed"
    assert all(n[1][t] == n[0][t] for t in n[0] if t not in (term, other)), "and nowhere else"
    evaluated = after["evaluated"]["4-6"]
    assert len(evaluated["group"]) == len(before["evaluated"]["4-6"]["group"]) + 1
    assert after["made_from"]["corrections"] and "corrections" not in before["made_from"]
    report = json.dumps(after["notes"])
    assert "1 gene without a row in the annotations: known only of the reviewed terms" in report


def test_a_run_learns_and_scores_with_the_same_corrections(flyannot, chain, reviewed, tmp_path):
    corrections, _, _ = reviewed
    (tmp_path / "c.toml").write_text(
        f'data-set = "{chain.embryos.as_posix()}"\noutput = "results"\n[extract]\nstride-px = 32\n'
        "[learn-dict]\nn-atoms = 16\nn-epochs = 1\n[train]\nmin-groups = 4\ninner-folds = 2\n"
        '[evaluate]\nfolds = 2\n[run]\njobs = 1\n[select]\nstage-range = "4-6"\n'
    )
    first = flyannot("run C", C=tmp_path / "c.toml")
    assert first.code == 0, first.err
    again = flyannot("run C --corrections T", C=tmp_path / "c.toml", T=corrections)
    assert again.code == 0, again.err
    assert "features.h5" in again.err and re.search(r"making \S*model\.h5: .*corrections", again.err), (
        again.err
    )
    out = tmp_path / "results"
    with open_stored(out / "model.h5") as stored:
        digests, model = stored.inputs["corrections"], stored.digest
    scores = read_scores(out / "scores.json")
    assert scores["made_from"]["corrections"] == digests and scores["model"] == model
    assert any("3 added" in note for note in scores["notes"])
    assert flyannot("run T", T=out / "run.toml").err.count("making") == 0, "the record names them"


def test_a_table_of_annotations_keeps_what_it_cannot_say(flyannot, chain, tmp_path):
    annotations = read_annotations(chain.annotations)
    (gene, stage_range), terms = min(annotations.terms_by_gene.items())
    rows = [[gene, stage_range, t, "unsure"] for t in terms] + [["new", stage_range, min(terms), "accept"]]
    corrections = write(tmp_path / "corrections.csv", rows)
    said = flyannot("annotations A C -o N", A=chain.annotations, C=corrections, N=tmp_path / "new.csv")
    assert said.code == 0 and said.out == "" and "stays in the table as it was" in said.err
    assert "left out for want of a row: new" in said.err
    assert read_annotations(tmp_path / "new.csv").terms_by_gene == annotations.terms_by_gene
    said = flyannot(
        "annotations A C -o N --new-genes", A=chain.annotations, C=corrections, N=tmp_path / "n.csv"
    )
    assert said.out == f"added: {min(terms)} of new in {stage_range}\n"
    assert read_annotations(tmp_path / "n.csv").terms_of("new", stage_range) == {min(terms)}


def test_curators_are_put_together(flyannot, tmp_path):
    write(tmp_path / "a.csv", [["Dl", "4-6", "pole cell", "accept"], ["en", "4-6", "pole cell", "reject"]])
    of_ben = [["Dl", "4-6", "pole cell", "reject"], ["en", "4-6", "pole cell", "reject"]]
    write(tmp_path / "b.csv", of_ben, "2026-01-03", "ben")
    said = flyannot("curate A B -o M", A=tmp_path / "a.csv", B=tmp_path / "b.csv", M=tmp_path / "m.csv")
    assert said.code == 0
    assert "pole cell  anna and ben     2      1   0.00" in said.out
    assert (
        "pole cell of Dl in 4-6: anna: accept (2026-01-02), ben: reject (2026-01-03); becomes reject"
        in said.out
    )
    assert (tmp_path / "m.csv").read_text().count("\n") == 3
