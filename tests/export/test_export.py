"""Tests of the exports: every format is read back by its own tool, and has the contents of the file."""

import csv
import sys
from itertools import groupby
from operator import itemgetter

import anndata
import numpy as np
import openpyxl
import pytest

from flyannot.base.errors import InputError
from flyannot.dataset.folder import read_images
from flyannot.dataset.importers.vectors import read_vectors
from flyannot.encode.groups import Groups
from flyannot.export import EXPORTERS, all_formats
from flyannot.export.export import export
from flyannot.files.hdf5.dictionary import read_dictionary
from flyannot.files.hdf5.features import read_features
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.schema import IMAGE_COLUMNS
from flyannot.files.hdf5.writing import create_stored_file
from flyannot.pipeline.engine.task import Execution, run_task
from flyannot.pipeline.options import AnnotateOptions
from flyannot.pipeline.steps.annotate import annotate_task
from flyannot.terms.answers import ANSWERS, read_group_predictions, write_group_predictions
from tests.small_embryos import rows_of_csv

HOSTILE = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "<script>alert(1)</script>", 'a,"b"; c', "-5"]


@pytest.fixture(scope="module")
def open_predictions(chain, tmp_path_factory):
    """Predictions of the chain's images with answers of every kind; predictions.csv lies beside."""
    out = tmp_path_factory.mktemp("open") / "predictions.h5"
    options = AnnotateOptions(abstain_margin=0.1)
    run_task(annotate_task(chain.model, read_images(chain.embryos), out, options), Execution())
    return out


@pytest.fixture(scope="module")
def exported(chain, open_predictions, tmp_path_factory):
    """Return a function that exports one of the files of the chain once, and returns the path."""
    folder = tmp_path_factory.mktemp("exported")

    def run(kind, to):
        out = folder / f"{kind}.{to}"
        if not out.exists():
            export(open_predictions if kind == "predictions" else chain.kinds[kind], to, out)
        return out

    return run


def rows_of_workbook(path):
    """Yield the rows of all sheets except the first, which shows the yes answers in short."""
    for sheet in openpyxl.load_workbook(path).worksheets[1:]:
        header, *rows = sheet.values
        yield from (dict(zip(header, row)) for row in rows)


def rows_of_anndata(path):
    found = anndata.read_h5ad(path)
    assert found.obs_names.is_unique and found.var_names.is_unique
    for i, j in zip(*np.nonzero(~np.isnan(found.X))):
        numbers = {name: found.layers[name][i, j] for name in ("decision_value", "answer")}
        named = {"probability": found.X[i, j], "term": found.var_names[j]} | numbers
        yield found.obs.iloc[i].to_dict() | named | {"answer": ANSWERS[int(numbers["answer"])]}


READERS = {"csv": rows_of_csv, "xlsx": rows_of_workbook, "anndata": rows_of_anndata}


@pytest.mark.parametrize("to", EXPORTERS["predictions"])
def test_every_format_has_the_probabilities_and_answers_of_the_file(to, exported, open_predictions):
    names = ("stage_range", "gene", "fbgn", "group", "term")
    rows = list(READERS[to](exported("predictions", to)))
    found = {tuple(row[n] or "" for n in names): row for row in rows}
    n_predictions, answers = 0, set()
    stored = open_stored_file(open_predictions)
    for s in stored.stage_ranges:
        groups, p = read_group_predictions(stored, s)
        n_predictions += p.probability.size
        for g, who in enumerate(zip(groups.gene, groups.fbgn, groups.name)):
            for j, term in enumerate(p.terms):
                row = found[s, *who, term]
                numbers = float(row["probability"]), float(row["decision_value"])
                np.testing.assert_allclose(numbers, (p.probability[g, j], p.decision_value[g, j]), 1e-8)
                assert row["answer"] == ANSWERS[p.answers[g, j]]
                answers.add(row["answer"])
    assert len(rows) == n_predictions and answers == set(ANSWERS)


def test_a_table_has_the_columns_and_rows_in_order(exported, open_predictions):
    """A group together, the likely term first, as in the table beside the predictions."""
    table = open_predictions.with_suffix(".csv")
    assert exported("predictions", "csv").read_bytes() == table.read_bytes()
    rows = rows_of_csv(table)
    order = []
    for key, of_group in groupby(rows, itemgetter("gene", "stage_range")):
        probabilities = [float(row["probability"]) for row in of_group]
        assert key not in order and probabilities == sorted(probabilities, reverse=True)
        order.append(key)


def test_anndata_has_the_images_and_the_evidence(exported, open_predictions):
    found = anndata.read_h5ad(exported("predictions", "anndata"))
    evidence = ("threshold", "n_genes", "auc", "auc_low", "auc_high", "measured_on")
    stored = open_stored_file(open_predictions)
    assert found.uns["flyannot"]["digest"] == stored.digest
    n_images = sum(len(stored.read_array(s, "image")) for s in stored.stage_ranges)
    assert found.obs["n_images"].sum() == n_images
    assert {f"{name} 4-6" for name in evidence} <= set(found.var)
    assert "quality_warnings" in found.obs and list(found.uns["flyannot"]["answers"]) == list(ANSWERS)


def test_anndata_has_the_ids_of_an_ontology(open_predictions, tmp_path):
    term = anndata.read_h5ad(export_as(open_predictions, tmp_path / "a.h5ad")).var_names[0]
    obo = f"[Term]\nid: FBdv:5\nname: embryonic stage 4\n\n[Term]\nid: FBbt:1\nname: {term}\n"
    (tmp_path / "my.obo").write_text(obo)
    found = anndata.read_h5ad(export_as(open_predictions, tmp_path / "b.h5ad", [tmp_path / "my.obo"]))
    is_early = found.obs["stage_range"] == "4-6"
    assert set(found.obs["stage_id"][is_early]) == {"FBdv:5"} and set(found.obs["stage_id"][~is_early]) == {
        ""
    }
    assert {name: i for name, i in found.var["term_id"].items() if i} == {term: "FBbt:1"}


def export_as(predictions, out, ontology=()):
    """Export predictions to AnnData, and return the path."""
    export(predictions, "anndata", out, ontology=ontology)
    return out


@pytest.fixture
def hostile(tmp_path):
    """Predictions whose names and terms are formulas and mark-up."""
    columns = {name: [""] for name in IMAGE_COLUMNS}
    columns |= {"image": [HOSTILE[0]], "gene": [HOSTILE[1]], "group": [HOSTILE[4]]}
    columns |= {"quality_warnings": [HOSTILE[3]], "unlikeness": np.zeros(1)}
    one = np.full((1, len(HOSTILE)), -0.25)
    evidence = np.full((4, len(HOSTILE)), 0.5)
    n_genes, no_group = np.full(len(HOSTILE), 9), np.zeros(1, bool)
    predicted = {"terms": HOSTILE, "decision_value": one, "probability": 1 + one, "yes": one < 0}
    predicted |= {"undetermined": one > 0, "in_training": no_group, "n_genes": n_genes}
    names = ("probability_threshold", "auc", "auc_low", "auc_high")
    predicted |= dict(zip(names, evidence)) | {"precision": evidence[0], "answer_threshold": -2 * one}
    predicted |= {"is_learned": evidence[0] > 0}
    groups = Groups([HOSTILE[4]], [HOSTILE[1]], [""], [np.arange(1)])
    with create_stored_file(tmp_path / "hostile.h5", Header("predictions", {}, {})) as file:
        write_group_predictions(file, "4-6", columns, groups, predicted)
    return tmp_path / "hostile.h5"


def test_no_cell_is_a_formula_and_numbers_stay_numbers(hostile, tmp_path):
    export(hostile, "csv", tmp_path / "out")
    with open(tmp_path / "out", newline="") as file:
        rows = list(csv.reader(file))[1:]
    cells = {cell for row in rows for cell in row}
    assert len(rows) == len(HOSTILE) and {"-0.25", "-5"} < cells  # -5 is a number, whatever it names
    for cell in cells - {"-0.25", "-5"}:
        assert cell[:1] not in tuple("=+-@\t\r")
    assert {"'" + text for text in HOSTILE[:4]} <= cells


def test_a_workbook_opens_in_excel_as_it_is(exported, hostile, tmp_path):
    """A stage range is no date, what looks like a formula is text, and a number is a number."""
    export(hostile, "xlsx", tmp_path / "book.xlsx")
    sheets = openpyxl.load_workbook(tmp_path / "book.xlsx").worksheets
    cells = [cell for sheet in sheets for row in sheet for cell in row]
    assert set(HOSTILE) <= {cell.value for cell in cells} and "f" not in {cell.data_type for cell in cells}
    short, *sheets = openpyxl.load_workbook(exported("predictions", "xlsx")).worksheets
    rows = rows_of_csv(exported("predictions", "csv"))
    stage_ranges = dict.fromkeys(row["stage_range"] for row in rows)
    assert [sheet.title for sheet in sheets] == [f"stages {s}" for s in stage_ranges]
    probabilities = [row["probability"] for row in rows_of_workbook(exported("predictions", "xlsx"))]
    assert all(isinstance(value, float) for value in probabilities)
    answered = [(r["gene"], r["stage_range"], r["term"]) for r in rows if r["answer"] == "yes"]
    assert short.title == "suggested" and [row[:3] for row in list(short.values)[1:]] == answered
    explained = {cell.value for cell in short[1] if cell.comment}
    assert {cell.value for cell in short[1]} - explained == {"gene", "stage_range", "term"}
    for sheet in openpyxl.load_workbook(tmp_path / "book.xlsx"):
        for column in sheet.columns:
            texts = [len(cell.value) for cell in column if isinstance(cell.value, str)]
            assert sheet.column_dimensions[column[0].column_letter].width >= min(40, max(texts))


def test_more_rows_than_a_sheet_holds_are_refused(flyannot, chain, tmp_path, monkeypatch):
    monkeypatch.setattr("flyannot.export.predictions._MOST_ROWS", 5)
    said = flyannot("export P --to xlsx -o BOOK", P=chain.predictions, BOOK=tmp_path / "book.xlsx")
    assert said.code == 2 and "too many for Excel" in said.err and "--to csv" in said.err
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_one_line_with_the_command(chain, tmp_path, monkeypatch, flyannot):
    monkeypatch.setitem(sys.modules, "anndata", None)
    said = flyannot("export P --to anndata -o OUT", P=chain.predictions, OUT=tmp_path / "out")
    assert said.code == 2 and "pip install 'flyannot[anndata]'" in said.err and said.err.count("\n") == 2
    assert not list(tmp_path.iterdir())


def test_features_come_back_from_every_format(exported, chain):
    rows = rows_of_csv(exported("features", "csv"))
    imported = read_vectors(exported("features", "npz"))
    annotated = anndata.read_h5ad(exported("features", "anndata"))
    of_range = annotated.obs["stage_range"].to_numpy()
    stored = open_stored_file(chain.features)
    for s in stored.stage_ranges:
        columns, features = read_features([stored], s)
        assert imported[s][0] == columns and np.array_equal(imported[s][1], features)
        assert annotated.obs["gene"][of_range == s].tolist() == columns["gene"]
        here = [row for row in rows if row["stage_range"] == s]
        assert [row["image"] for row in here] == columns["image"]
        read = [[float(row[f"f{i}"]) for i in range(features.shape[1])] for row in here]
        assert np.array_equal(np.array(read, "f4"), features)
        assert np.array_equal(annotated.X[of_range == s], features)


def test_atoms_come_back(exported, chain):
    stored = open_stored_file(chain.dictionary)
    D = {s: read_dictionary(stored, s) for s in stored.stage_ranges}
    with np.load(exported("dictionary", "npz"), allow_pickle=False) as arrays:
        assert all(np.array_equal(arrays[s], D[s]) for s in D)


def test_the_same_file_gives_the_same_bytes(exported, chain, open_predictions, tmp_path):
    assert len(all_formats()) == len(set(all_formats()))
    for kind in EXPORTERS:
        for to in set(EXPORTERS[kind]) - {"anndata"}:  # its bytes is not ours to promise
            source = open_predictions if kind == "predictions" else chain.kinds[kind]
            export(source, to, tmp_path / f"{kind}{to}")
            assert (tmp_path / f"{kind}{to}").read_bytes() == exported(kind, to).read_bytes()


def test_a_file_that_cannot_be_exported_in_this_way_is_refused(chain, open_predictions, tmp_path):
    for path, ontology, words in (
        (chain.kinds["descriptors"], [], "holds descriptors, which cannot be exported"),
        (chain.kinds["features"], [tmp_path / "fbbt.obo"], "features have no place for ids"),
        (open_predictions, [tmp_path / "fbbt.obo"], "fbbt.obo"),  # predictions have one: the file is read
    ):
        with pytest.raises(InputError, match=words):
            to = "npz" if path == chain.kinds["features"] else "csv"
            export(path, to, tmp_path / "out", ontology=ontology)
        assert not (tmp_path / "out").exists()
