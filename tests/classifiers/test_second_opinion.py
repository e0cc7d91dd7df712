"""A second classifier beside the first: laws of what it says, of whom, and where it is shown."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from flyannot.dataset.folder import read_images
from flyannot.report.making import make_report
from flyannot.steps.annotate import annotate
from flyannot.steps.output import Work
from flyannot.steps.train import train
from flyannot.store.predictions import read_predictions
from flyannot.store.reading import open_stored
from tests.report.test_report import chunks_of, index_of
from tests.small_embryos import CLASSIFY, STAGE_RANGES


@pytest.fixture(scope="module")
def told(chain, tmp_path_factory):
    """Predictions of all genes by three models of half of them: svm, knn, and svm with knn second."""
    folder = tmp_path_factory.mktemp("second")
    with open(chain.annotations, newline="") as file:
        header, *rows = csv.reader(file)
    genes = sorted({row[0] for row in rows})
    known = set(genes[::2])
    with open(folder / "annotations.csv", "w", newline="") as file:
        csv.writer(file).writerows([header, *(row for row in rows if row[0] in known)])
    methods = {"first": ("svm", None), "alone": ("knn", None), "both": ("svm", "knn")}
    for name, (method, second) in methods.items():
        options = replace(CLASSIFY, method=method, second_opinion=second)
        (folder / name).mkdir()
        model = folder / name / "model.h5"
        train([chain.features], folder / "annotations.csv", model, options, Work())
        annotate(model, read_images(chain.embryos), folder / name / "predictions.h5", Work())
    return folder


def predictions(told, name, stage_range):
    with open_stored(told / name / "predictions.h5", "predictions") as stored:
        return read_predictions(stored, stage_range)


@pytest.mark.parametrize("stage_range", STAGE_RANGES)
def test_a_second_opinion_is_what_its_method_says_alone_and_changes_nothing_of_the_first(told, stage_range):
    first, alone, both = (predictions(told, name, stage_range)[1] for name in ("first", "alone", "both"))
    np.testing.assert_array_equal(both.second_probability, alone.probability)
    np.testing.assert_array_equal(both.second_yes, alone.yes)
    np.testing.assert_array_equal(both.decision_value, first.decision_value)
    np.testing.assert_array_equal(both.yes, first.yes)
    assert (both.second_yes != both.yes).any()
    assert first.second_yes is None


def test_the_table_gives_a_second_opinion_of_genes_that_the_model_has_not_seen(told):
    with open(told / "both" / "predictions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0].keys() >= {"second_opinion", "second_probability"}
    seen = {row["second_opinion"] != "" for row in rows}
    assert seen == {True, False}
    for stage_range in STAGE_RANGES:
        groups, predicted = predictions(told, "both", stage_range)
        for row in (row for row in rows if row["stage_range"] == stage_range):
            g, j = groups.gene.index(row["gene"]), predicted.terms.index(row["term"])
            if predicted.in_training[g]:
                assert row["second_opinion"] == row["second_probability"] == ""
            else:
                assert row["second_opinion"] == ("yes" if predicted.second_yes[g, j] else "no")
                assert float(row["second_probability"]) == pytest.approx(
                    predicted.second_probability[g, j], abs=1e-4
                )
    with open(told / "first" / "predictions.csv", newline="") as file:
        assert "second_opinion" not in next(csv.reader(file)), "a model without one adds no column"


def test_the_report_has_the_second_opinion_of_every_new_gene(told, chain, tmp_path):
    make_report(told / "both", tmp_path / "r.html", data_set=chain.embryos)
    text = (tmp_path / "r.html").read_text()
    index, said = index_of(text), set()
    for summary, details in zip(index["groups"], chunks_of(text)):
        stage_range = index["stages"][summary[0]]
        groups, predicted = predictions(told, "both", stage_range)
        g = groups.name.index(summary[3])
        for term, *_, second in details["terms"]:
            name = index["terms"][term]
            if name in predicted.terms and not predicted.in_training[g]:
                assert second == predicted.second_yes[g, predicted.terms.index(name)]
            else:
                assert second is None
            said.add(second)
    assert said == {0, 1, None}
