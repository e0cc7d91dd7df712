"""Answers of two groups about three terms, and their evidence, beside a table by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from flyannot.base.quality_warnings import QualityWarning
from flyannot.encode.groups import Groups
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.schema import IMAGE_COLUMNS
from flyannot.files.hdf5.writing import create_stored_file
from flyannot.terms.answers import (
    LearnedTerm,
    expected_precision,
    group_answers,
    learned_terms,
    predictions_table,
    read_group_predictions,
    write_group_predictions,
)
from flyannot.terms.model import LEAST_GENES

NAN = np.nan
GROUPS = Groups(
    name=["Dl", "d/b.png"], gene=["Dl", ""], fbgn=["FBgn7", ""], rows=[np.array([0, 2]), np.array([1])]
)
WARNINGS = [(QualityWarning("dark"), QualityWarning("small", "9 px")), (QualityWarning("cut"),), ()]
PREDICTED = {
    "terms": ["gap", "pole cell", "gut"],
    "decision_value": [[1.0, -2, 0], [3, -4, 0]],
    "model_probability": [[0.9, 0.1, 0.25], [0.95, 0.05, 0.25]],
    "probability": [[0.123456789123, 0.75, 0.5], [0.25, 0.5, 0.5]],
    "answer_threshold": [[0.5, 0.25, 0.5], [0.125, 0.75, 0.5]],
    "yes": [[False, True, True], [True, False, True]],
    "undetermined": [[False, False, True], [False, False, False]],
    "in_training": [True, False],
    "probability_threshold": [0.5, 0.25, 0.5],
    "is_learned": [True, True, False],
    "n_genes": [LEAST_GENES, LEAST_GENES, LEAST_GENES - 1],
    "auc": [0.87654321, NAN, NAN],
    "auc_low": [0.75, NAN, NAN],
    "auc_high": [1.0, NAN, NAN],
    "precision": [0.8, NAN, 0.5],
}


@pytest.fixture
def stored(tmp_path):
    """Write the predictions, open them and return the StoredFile."""
    columns = {name: ["a.png", "d/b.png", "c.png"] for name in IMAGE_COLUMNS}
    columns |= {"quality_warnings": WARNINGS, "unlikeness": [0.25, NAN, 0.5]}
    predicted = {k: v if k == "terms" else np.array(v) for k, v in PREDICTED.items()}
    with create_stored_file(tmp_path / "p.h5", Header("predictions", {}, {})) as file:
        write_group_predictions(file, "4-6", columns, GROUPS, predicted)
    stored = open_stored_file(tmp_path / "p.h5", "predictions")
    yield stored


def test_the_table_has_a_line_for_each_answer_the_most_probable_first(stored):
    names, rows = predictions_table(stored, ["4-6"])
    shown = (
        "group",
        "gene",
        "image",
        "term",
        "probability",
        "threshold",
        "answer",
        "held_out",
        "auc",
        "caution",
    )
    few = f"learned from {LEAST_GENES - 1} genes"
    gap, cell, gut = ("gap", "0.8765", ""), ("pole cell", "", "untested"), ("gut", "", few)
    expected = [
        ("Dl", "Dl", "", *cell[:1], "0.75", "0.25", "yes", "no", *cell[1:]),
        ("Dl", "Dl", "", *gut[:1], "0.5", "0.5", "undetermined", "no", *gut[1:]),
        ("Dl", "Dl", "", *gap[:1], "0.123456789", "0.5", "no", "no", *gap[1:]),
        ("d/b.png", "", "d/b.png", *cell[:1], "0.5", "0.75", "no", "yes", *cell[1:]),
        ("d/b.png", "", "d/b.png", *gut[:1], "0.5", "0.5", "yes", "yes", *gut[1:]),
        ("d/b.png", "", "d/b.png", *gap[:1], "0.25", "0.125", "yes", "yes", *gap[1:]),
    ]
    rows = [dict(zip(names, row)) for row in rows]
    assert [tuple(row[name] for name in shown) for row in rows] == expected
    assert [row["unlikeness"] for row in rows] == 3 * ["0.5000"] + 3 * [""]
    assert [row["quality_warnings"] for row in rows] == 3 * ["a.png: dark, small: 9 px"] + 3 * ["cut"]
    assert {row["fbgn"] for row in rows[:3]} == {"FBgn7"} and {row["stage_range"] for row in rows} == {"4-6"}
    first = rows[0]
    assert (first["decision_value"], first["model_probability"], first["curated"]) == ("-2", "0.1", "")
    ids = SimpleNamespace(COLUMNS=("id",), look_up=lambda term, stage_range: (f"{term}@{stage_range}",))
    names, rows = predictions_table(stored, ["4-6"], ids, as_text=False)
    values = dict(zip(names, next(rows)))
    assert (values["probability"], values["auc"], values["id"]) == (0.75, None, "pole cell@4-6")


def test_an_answer_tells_what_curators_said_and_how_it_changed(stored):
    groups, predicted = read_group_predictions(stored, "4-6")
    held_out = np.array([[True, False, False], [False] * 3])
    before = np.array([[0, 0, -1], [2, 0, 1]])  # no, yes or undetermined, as ANSWERS counts
    told = replace(predicted, curated=np.array([[1, 0, -1]] * 2), answer_before=before, held_out=held_out)
    found = {a.term: a for a in group_answers("4-6", groups, told, 0)}
    assert {term: (a.curated, a.change, a.held_out) for term, a in found.items()} == {
        "gap": ("yes", "", "yes"),
        "pole cell": ("no", "no to yes", "no"),
        "gut": ("", "", "no"),
    }
    assert [told.change(1, j) for j in range(3)] == ["undetermined to yes", "", ""]


def test_learned_terms_count_the_groups_that_are_surely_yes(stored):
    gap, cell, gut = learned_terms(stored, "4-6")
    assert gap == LearnedTerm("gap", 0.5, True, LEAST_GENES, 0.87654321, 0.75, 1.0, 0.8, n_yes=1)
    assert cell == LearnedTerm("pole cell", 0.25, True, LEAST_GENES, None, None, None, None, n_yes=1)
    assert gut == LearnedTerm("gut", 0.5, False, LEAST_GENES - 1, None, None, None, 0.5, n_yes=1)
    assert expected_precision([gap, cell, replace(gut, n_yes=3)]) == pytest.approx((0.8 + 3 * 0.5) / 4)
    assert expected_precision([cell, replace(gap, n_yes=0), replace(gap, n_yes=None)]) is None


def test_the_model_answers_by_its_own_thresholds(stored):
    _, predicted = read_group_predictions(stored, "4-6")
    assert predicted.model_threshold[:, :2].tolist() == [[0.5, 0.25]] * 2
