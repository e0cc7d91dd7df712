"""Tests of corrections by curators, and of learning from them."""

import csv
import json
import re
import shutil

import numpy as np
import pytest

from flyannot.dataset.folder import read_annotations
from flyannot.files.hdf5.model import read_classifier, read_terms
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.terms.bootstrap import compare_outcomes
from flyannot.terms.group_outcomes import read_scores
from flyannot.terms.model import PER_TERM
from tests.report.pages_read import index_of
from tests.small_embryos import rows_of_csv, write_configuration

HEAD = ["gene", "stage_range", "term", "verdict", "curator", "date"]
OPTIONS = "--min-groups 4 --inner-folds 2 --seed 1"
TERMS = "embryos/annotations.csv"


def write(path, rows, date="2026-01-02", curator="anna"):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([HEAD, *([*row, curator, date] for row in rows)])


@pytest.fixture
def reviewed(desk):
    """Write corrections.csv for six annotated genes: three get a term, and three of several terms lose it."""
    annotations = read_annotations(TERMS)
    term = annotations.counts("4-6").most_common(1)[0][0]
    terms_of = {gene: terms for (gene, s), terms in sorted(annotations.terms_by_gene.items()) if s == "4-6"}
    has = [gene for gene, terms in terms_of.items() if term in terms and len(terms) > 1]
    has_not = [gene for gene, terms in terms_of.items() if term not in terms]
    rows = [[g, "4-6", term, "reject"] for g in has[:3]] + [[g, "4-6", term, "accept"] for g in has_not[:3]]
    write("corrections.csv", rows)
    return term, rows


def key_of(row):
    return row["group"], row["stage_range"], row["term"]


def classifier_of(path):
    stored = open_stored_file(path, "model")
    return read_terms(stored, "4-6"), read_classifier(stored, "4-6", PER_TERM, 0)


def test_learning_with_corrections_is_learning_from_the_clean_table(flyannot, reviewed):
    term, rows = reviewed
    line = f"train features.h5 {TERMS} -o m.h5 {OPTIONS} --corrections corrections.csv"
    said = flyannot(line, code=0).err
    assert f"6 reviewed terms: 3 added ({term} of {rows[3][0]} in 4-6" in said and "3 removed (" in said
    listed = flyannot(f"annotations {TERMS} corrections.csv -o new.csv", code=0)
    words = {"accept": "added", "reject": "removed"}
    expected = sorted(f"{words[verdict]}: {term} of {gene} in {s}" for gene, s, term, verdict in rows)
    assert sorted(listed.out.splitlines()) == expected
    flyannot(f"train features.h5 new.csv -o n.h5 {OPTIONS}", code=0)
    (terms, one), (same_terms, other), (_, before) = map(classifier_of, ("m.h5", "n.h5", "model.h5"))
    assert terms == same_terms
    assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)
    assert any(not np.array_equal(one[name], before[name], equal_nan=True) for name in one)
    stored = open_stored_file("m.h5")
    assert len(stored.inputs["corrections"]) == 1
    assert "up to date" in flyannot(line).err
    write("corrections.csv", rows[:-1])
    changed = flyannot(line, code=2)
    assert "corrections" in changed.err and "--force" in changed.err


def test_an_unsure_term_is_in_no_score_and_a_gene_of_corrections_alone_in_few(flyannot, desk):
    annotations = read_annotations(TERMS)
    keys = sorted(key for key in annotations.terms_by_gene if key[1] == "4-6")
    term, other = (t for t, _ in annotations.counts("4-6").most_common(2))
    gone = keys[0][0]  # all rows of this gene in 4-6 are deleted
    lines = (desk / TERMS).read_text().splitlines(keepends=True)
    rows_of_gone = (f"{gone},4-6,", f"{gone},,4-6,")
    (desk / "a.csv").write_text("".join(line for line in lines if not line.startswith(rows_of_gone)))
    write("corrections.csv", [[keys[1][0], "4-6", term, "unsure"], [gone, "4-6", other, "accept"]])
    line = f"evaluate features.h5 a.csv --folds 3 {OPTIONS} --json"
    flyannot(f"{line} before.json", code=0)
    said = flyannot(f"{line} after.json --corrections corrections.csv", code=0)
    assert "1 unsure and left out" in said.out + said.err
    before, after = (read_scores(desk / f"{name}.json") for name in ("before", "after"))
    n_before, n_after = (
        {row["term"]: row["n_groups"] for row in scores["terms"] if row["stage_range"] == "4-6"}
        for scores in (before, after)
    )
    # The unsure term has one group fewer. The gene without a row only counts for the term that was reviewed.
    assert n_after == n_before | {term: n_before[term] - 1, other: n_before[other] + 1}
    evaluated = after["evaluated"]["4-6"]
    assert len(evaluated["group"]) == len(before["evaluated"]["4-6"]["group"]) + 1
    assert after["made_from"]["corrections"] and "corrections" not in before["made_from"]
    note = "1 gene without a row in the annotations: only the reviewed terms are known"
    assert note in json.dumps(after["notes"])


def test_a_run_learns_and_scores_with_the_same_corrections(flyannot, reviewed, desk):
    path = write_configuration(desk, images='[extract]\nstride-px = 32\n[select]\nstage-range = "4-6"\n')
    text = path.read_text()
    path.write_text(text.replace("folds = 3\n", ""))  # the number of folds then follows from the terms
    flyannot("run c.toml", code=0)
    out = desk / "results"
    answers = [{key_of(row): row["answer"] for row in rows_of_csv(out / "predictions.csv")}]
    before = read_scores(out / "scores.json")
    said = flyannot("run c.toml --corrections corrections.csv", code=0)
    again = said.err
    assert "features.h5" in again and re.search(r"writing \S*model\.h5 again: .*corrections", again), again
    assert "it was made from other corrections" in again and "null" not in again
    assert again.count("made from other corrections and model") == 1, "scores"
    assert re.search(r"^\[train\] 20[0-9-]{8} [0-9:]{5}$", again, re.MULTILINE), (
        "when a step of a batch job began"
    )
    stored = open_stored_file(out / "model.h5")
    digests, model = stored.inputs["corrections"], stored.digest
    scores = read_scores(out / "scores.json")
    assert scores["made_from"]["corrections"] == digests and scores["model"] == model
    assert any("3 added" in note for note in scores["notes"])
    assert flyannot("run results/run.toml").err.count("writing") == 0, "the record names them"
    # The output compares scores on the same terms, and counts the changed answers.
    mean = compare_outcomes(before, scores)["mean"]
    assert f"was {mean['first']:.3f} and is {mean['second']:.3f} ({mean['difference']:+.3f}" in said.out
    now = rows_of_csv(out / "predictions.csv")
    answers.append({key_of(row): row["answer"] for row in now})
    changed = {
        key: f"{was} to {answers[1][key]}" for key, was in answers[0].items() if was != answers[1][key]
    }
    assert changed and {key_of(row): row["change"] for row in now if row["change"]} == changed
    assert f"{len(changed)} answers changed" in said.out + said.err
    page = (out / "report.html").read_text()
    terms = [term for group in index_of(page)["groups"] for term in (*group["terms"], *group["no"])]
    marked = [term for term in terms if "changed" in term]
    assert len(marked) == len(changed) == page.count('title="changed with the curated terms: ')
    curated = {(gene, term): "yes" if verdict == "accept" else "no" for gene, _, term, verdict in reviewed[1]}
    assert {key: row["curated"] for row in now if (key := (row["gene"], row["term"])) in curated} == curated
    # A term that is no longer learned is named, because leaving it out changes an average.
    term = reviewed[0]
    genes = [key[0] for key, terms in read_annotations(TERMS).terms_by_gene.items() if term in terms]
    write("more.csv", [[gene, "4-6", term, "reject"] for gene in genes[2:]])
    said = flyannot("run c.toml --corrections more.csv", code=0)
    assert re.search(rf"warning: no longer evaluated: {term} \(4-6\): 2 .*3 needed", said.out), said.out
    assert term not in {row["term"] for row in rows_of_csv(out / "predictions.csv")}
    flyannot("run c.toml", code=0)
    now = rows_of_csv(out / "predictions.csv")
    assert {key_of(row): row["answer"] for row in now} == answers[0], "corrections left out are undone"


def test_answers_before_that_are_damaged_or_of_another_run_are_left_out_and_named(
    flyannot, reviewed, desk, record_property
):
    path = write_configuration(desk, images='[extract]\nstride-px = 32\n[select]\nstage-range = "4-6"\n')
    flyannot("run c.toml", code=0)
    out = desk / "results"
    flyannot("run c.toml --corrections corrections.csv", code=0)
    kept = {name: (out / "before" / name).read_bytes() for name in ("predictions.h5", "scores.json")}

    n = 0

    def said_and_changes():
        nonlocal n
        n += 1
        (out / "predictions.h5").unlink()
        said = flyannot("run c.toml --step annotate --corrections corrections.csv", code=0).err
        return said, [row["change"] for row in rows_of_csv(out / "predictions.csv") if row["change"]]

    said, changes = said_and_changes()
    assert "before" not in said and changes
    for name, content in kept.items():
        middle = len(content) // 2
        changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        for damaged in (b"", content[:middle], changed):
            (out / "before" / name).write_bytes(damaged)
            said, changes = said_and_changes()
            assert "before is damaged or incomplete: today's answers are compared with none" in said
            assert "rm -r results/before" in said and not changes
        (out / "before" / name).write_bytes(content)
    assert said_and_changes()[1]
    path.write_text(path.read_text().replace("stride-px = 32", "stride-px = 40"))
    flyannot("run c.toml -o other", code=0)
    for name in kept:
        (out / "before" / name).write_bytes((desk / "other" / name).read_bytes())
    path.write_text(path.read_text().replace("stride-px = 40", "stride-px = 32"))
    said, changes = said_and_changes()
    assert "before is of another run" in said and not changes
    shutil.rmtree(out / "before")
    said, changes = said_and_changes()
    assert "before" not in said and not changes
    record_property("trials", n)


def test_a_table_of_annotations_keeps_what_it_cannot_say(flyannot, desk):
    annotations = read_annotations(TERMS)
    (gene, stage_range), terms = min(annotations.terms_by_gene.items())
    rows = [[gene, stage_range, t, "unsure"] for t in terms] + [["new", stage_range, min(terms), "accept"]]
    write("corrections.csv", rows)
    said = flyannot(f"annotations {TERMS} corrections.csv -o new.csv", code=0)
    assert said.out == "" and "stay in the table as they were" in said.err
    assert "left out, because they have no row: new" in said.err
    assert read_annotations("new.csv").terms_by_gene == annotations.terms_by_gene
    said = flyannot(f"annotations {TERMS} corrections.csv -o n.csv --new-genes")
    assert said.out == f"added: {min(terms)} of new in {stage_range}\n"
    assert read_annotations("n.csv").terms_of("new", stage_range) == {min(terms)}


def test_an_adapted_model_has_all_terms_and_says_from_which_model(flyannot, desk):
    annotations = read_annotations(TERMS)
    genes = sorted({gene for gene, s in annotations.terms_by_gene if s == "4-6"})
    term = annotations.counts("4-6").most_common(1)[0][0]
    rows = [[gene, "4-6", "foregut anlage", "accept" if i % 2 else "reject"] for i, gene in enumerate(genes)]
    rows += [[gene, "4-6", term, "accept"] for gene in genes]
    write("corrections.csv", rows)
    line = (
        f"train features.h5 {TERMS} --corrections corrections.csv --adapt model.h5 --exclude-terms ubiquitous"
    )
    flyannot(f"{line} -o adapted.h5", code=0)
    base = open_stored_file("model.h5")
    adapted = open_stored_file("adapted.h5")
    assert adapted.inputs["base model"] == [base.digest]
    for stage_range in base.stage_ranges:
        terms = read_terms(base, stage_range)
        assert read_terms(adapted, stage_range) == [*terms, *["foregut anlage"] * (stage_range == "4-6")]
    assert f"adapted from the model {base.digest[:12]}" in flyannot("show adapted.h5", code=0).out
    flyannot("explain adapted.h5 embryos -o maps --term E --max-groups 1", E="foregut anlage")
    said = flyannot(
        f"evaluate features.h5 {TERMS} --corrections corrections.csv --model adapted.h5 --adapt model.h5",
        code=0,
    )
    assert "no new gene is finished" in said.out
    assert "the model learned from the genes of 24 of these genes" in said.out
    line = f"evaluate features.h5 {TERMS} --corrections corrections.csv --nested --adapt"
    said = flyannot(f"{line} descriptors.h5", code=2)
    assert "no nested scores" in said.err, "it is refused before the model is read"
    line = f"evaluate features.h5 {TERMS} --corrections corrections.csv --model adapted.h5"
    assert "base model" in flyannot(line, code=2).err, "the scores would be of a model that was not adapted"
