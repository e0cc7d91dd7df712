"""Tests of what train, show, annotate and evaluate say of weak terms."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from flyannot.dataset.folder import read_annotations
from flyannot.files.hdf5.descriptors import count_patches
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.pipeline import options
from flyannot.pipeline.answers.evaluation import nothing_evaluated_error
from flyannot.pipeline.engine.inputs import read_options
from flyannot.pipeline.models.loaded_model import load_model
from flyannot.terms.answers import PREDICTION_COLUMNS
from flyannot.terms.model import FEW_GENES, LEAST_GENES
from tests.small_embryos import STAGE_RANGES, draw_embryos, rows_of_csv, write_configuration

TERMS = "embryos/annotations.csv"
NAMED = (
    "gene fbgn image group stage_range term probability threshold answer curated change precision n_genes "
    "auc auc_low auc_high measured_on caution held_out unlikeness quality_warnings decision_value "
    "model_probability model_digest flyannot_version"
)


@pytest.fixture(scope="module")
def models(chain):
    stored = open_stored_file(chain.model)
    return {s: load_model(chain.model, stored.digest, s) for s in STAGE_RANGES}


def test_every_prediction_says_what_it_rests_on(chain, models):
    rows = rows_of_csv(chain.predictions.with_suffix(".csv"))
    assert list(rows[0]) == list(PREDICTION_COLUMNS) == NAMED.split()
    annotations = read_annotations(chain.annotations)
    for row in rows:
        model = models[row["stage_range"]]
        j = model.terms.index(row["term"])
        n_carriers = annotations.counts(row["stage_range"])[row["term"]]
        assert int(row["n_genes"]) == n_carriers
        assert row["held_out"] == "no" and row["probability"] == row["model_probability"], "it is no run"
        assert row["curated"] == row["change"] == ""
        assert row["measured_on"] == ("held-out genes that the model learned from" if row["auc"] else "")
        for name in ("auc", "auc_low", "auc_high"):
            assert row[name] == ("" if n_carriers < LEAST_GENES else f"{getattr(model.model, name)[j]:.4f}")
        few = f"learned from {n_carriers} genes" if n_carriers < LEAST_GENES else ""
        assert not (few and row["precision"])
        assert row["caution"] == few
        threshold, probability = float(row["threshold"]), float(row["probability"])
        assert 0 < threshold < 1
        assert row["answer"] == {1: "yes", 0: "undetermined", -1: "no"}[np.sign(probability - threshold)]
    assert {row["auc"] == "" for row in rows} == {True, False}


def test_a_term_of_which_nothing_was_learned_is_seen_as_that(flyannot, chain, models):
    """Check that every gene gets one probability, which is also the threshold, and no answer."""
    unlearned = {(s, m.terms[j]) for s, m in models.items() for j in np.flatnonzero(m.model.slope == 0)}
    assert unlearned, "the small chain has one"
    rows = rows_of_csv(chain.predictions.with_suffix(".csv"))
    for row in rows:
        assert ((row["stage_range"], row["term"]) in unlearned) == (row["answer"] == "undetermined")
        assert (row["answer"] == "undetermined") == (row["probability"] == row["threshold"])
    values = {(row["stage_range"], row["term"]): set() for row in rows}
    for row in rows:
        values[row["stage_range"], row["term"]].add(row["probability"])
    assert {key for key, of_term in values.items() if len(of_term) == 1} == unlearned
    for path in (chain.model, chain.predictions):
        lines = flyannot("show F", F=path).out.splitlines()
        shown = [line for line in lines if line.endswith("  nothing learned")]
        assert sorted(line.split("  ")[0] for line in shown) == sorted(term for _, term in unlearned)
        counts = re.findall(r"nothing was learned of (\d+)", " ".join(" ".join(lines).split()))
        assert sum(map(int, counts)) == len(unlearned)


def test_show_lists_terms_and_the_header_on_request(flyannot, chain, models):
    said = flyannot("show M", M=chain.model)
    assert "made by flyannot train" in said.out and "option " not in said.out
    for model in models.values():
        for j, term in enumerate(model.terms):
            n = model.model.n_genes[j]
            area = model.model.auc[j]
            numbers = rf" +{n} +{'untested' if np.isnan(area) else f'{area:.3f}'}\b"
            assert re.search(rf"^{re.escape(term)}{numbers}", said.out, re.MULTILINE)
    assert "flyannot show" in said.out.splitlines()[-1]
    whole = flyannot("show M --header", M=chain.model).out
    assert "option   train" in whole and "model/auc" in whole
    shown = json.loads(flyannot("show M --json", M=chain.model).out)
    assert shown["options"] and shown["stage_ranges"]["4-6"]["model/auc"]
    one = shown["terms"]["4-6"][0]
    assert one["term"] == models["4-6"].terms[0] and one["n_genes"] == models["4-6"].model.n_genes[0]
    said = flyannot("show P", P=chain.predictions)
    assert "24 of them of genes that the model learned from" in said.out and "   yes" in said.out


def test_train_says_in_one_line_per_stage_range_what_is_weak(flyannot, desk):
    line = f"train features.h5 {TERMS} -o m.h5 --min-groups 4 --inner-folds 2 --quiet"
    said = flyannot(line, code=0).err.splitlines()
    assert len(said) == len(STAGE_RANGES)
    for line, stage_range in zip(said, STAGE_RANGES):
        assert line.startswith(f"warning: {stage_range}: ") and f"fewer than {FEW_GENES} genes" in line
        assert line.endswith("flyannot show m.h5")
    assert "untested" in " ".join(said)


def test_a_dictionary_is_learned_from_enough_patches(flyannot, chain, desk, monkeypatch):
    monkeypatch.setattr(options, "ENOUGH_PATCHES", 400)
    stored = open_stored_file(chain.descriptors)
    n_patches = count_patches(stored, "4-6")
    for given, learned_from in (
        ("descriptors.h5", f"400 of {n_patches:,} patches"),
        ("descriptors.h5 --max-patches all", f"{n_patches:,} patches"),
    ):
        line = f"learn-dict {given} -o d.h5 --n-atoms 20 --n-epochs 1 --jobs 1 --force"
        assert re.search(f": 20 atoms from {learned_from}$", flyannot(line, code=0).err, re.MULTILINE)
        stored = open_stored_file(Path("d.h5"))
        most = read_options(stored, options.LearnOptions).max_patches
        assert most == (400 if given == "descriptors.h5" else "all")


@pytest.mark.filterwarnings("error")
def test_an_evaluation_of_nothing_says_what_is_missing_and_fails(flyannot, desk):
    said = flyannot(f"evaluate features.h5 {TERMS} --json s.json --folds 24", code=1)
    assert " AUC " not in said.out and "not evaluable" in said.out
    error, fix = said.err.splitlines()[-2:]
    assert "nothing could be evaluated: 24 genes are annotated" in error and "24 genes with a term" in error
    assert "annotate more genes" in fix
    assert json.loads(Path("s.json").read_text())["summary"]["all"]["n_terms"] == 0
    head, first, *rows = Path(TERMS).read_text().splitlines()
    of_one_gene = [row for row in [first, *rows] if row.split(",")[0] == first.split(",")[0]]
    Path("one.csv").write_text("\n".join([head, *of_one_gene]) + "\n")
    said = flyannot("evaluate predictions.h5 one.csv", code=1).err
    assert "1 gene is annotated" in said and "carry and others lack" in said


def test_a_run_of_too_few_genes_makes_its_report_and_does_not_look_like_success(flyannot, tmp_path):
    draw_embryos(tmp_path, n_genes=7, max_images=1)
    config = write_configuration(tmp_path, images="[extract]\nstride-px = 32\n")
    for _ in range(2):  # the second run is up to date, and warns too
        said = flyannot("run C --set evaluate.folds=5", C=config)
        assert said.code == 1 and "nothing could be evaluated: 7 genes" in said.err.splitlines()[-2]
        assert (tmp_path / "results" / "report.html").is_file() and "report.html" in said.err.splitlines()[-3]


def test_genes_that_are_enough_but_not_in_every_fold_are_explained_as_that():
    """Give two genes the term and two not, and each fold both genes of one kind."""
    evaluated = {"4-6": {"gene": ["a", "b", "c", "d"], "fold": [0, 0, 1, 1]}}
    result = {
        "summary": {"all": {"n_terms": 0}},
        "evaluated": evaluated,
        "terms": [{"n_positive": 2}],
        "made_from": {"evaluate": {"folds": 2}, "train": {"min_groups": 2}},
    }
    assert "in 2 folds too few genes with it, or without it" in nothing_evaluated_error(result).message
    result["made_from"]["train"]["min_groups"] = 3
    assert (
        "at least 3 genes with a term and 2 without it are needed" in nothing_evaluated_error(result).message
    )
