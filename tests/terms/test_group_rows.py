"""Tests of training from features in files, against training from the whole array."""

import numpy as np
import pytest

from flyannot.base.stage_ranges import stage_range_rng
from flyannot.dataset.folder import Annotations
from flyannot.encode.groups import group_images, training_rows
from flyannot.files.hdf5.features import StoredFeatures, write_features
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.model import read_classifier_name, read_terms
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.schema import IMAGE_COLUMNS
from flyannot.files.hdf5.writing import create_stored_file
from flyannot.pipeline.engine.curated_terms import CuratedTerms
from flyannot.pipeline.steps.train import ModelTask
from flyannot.terms import training_set
from flyannot.terms.model import fit_model
from flyannot.terms.options import TrainOptions
from flyannot.terms.scorer import FitOptions
from flyannot.terms.training_set import build_training_set
from tests.small_embryos import make

GENES = [f"g{i:02d}" for i in range(60)]
N_FEATURES = 700
PER_GENE = (1, 3, 2)


class Pooled:
    def __init__(self, features):
        self.features, self.winner = features, np.zeros(len(features), "i4")


def columns_of(genes):
    columns = {name: [""] * len(genes) for name in IMAGE_COLUMNS}
    return columns | {"image": [f"{i}.png" for i in range(len(genes))], "gene": genes, "group": genes}


@pytest.fixture(scope="module")
def collection():
    """Return columns, features (n_images, n_features) and annotations; the images of a gene lie apart."""
    rng = np.random.default_rng(3)
    of_image = rng.permutation(np.repeat(np.arange(60), np.resize(PER_GENE, 60)))
    hidden = rng.normal(size=(60, 3))
    signal = hidden @ rng.normal(size=(3, N_FEATURES)) + 2 * rng.normal(size=(60, N_FEATURES))
    X = np.maximum(signal[of_image] + rng.normal(size=(len(of_image), N_FEATURES)), 0).astype("f4")
    terms = [frozenset(f"t{k}" for k in range(3) if one[k] > 0.3) or {"other"} for one in hidden]
    annotations = Annotations({(g, "4-6"): t for g, t in zip(GENES, terms)}, {g: {g} for g in GENES})
    return columns_of([GENES[i] for i in of_image]), X, annotations


def written(path, collection, rows):
    """Write a features file of some of the images."""
    columns, X, _ = collection
    with create_stored_file(path, Header("features", {"pool": {}}, {"descriptors": [path.name]})) as file:
        mine = {name: [values[i] for i in rows] for name, values in columns.items()}
        write_features(file, "4-6", mine, [Pooled(X[i]) for i in rows], np.eye(7, 128, dtype="f4"))
    return path


@pytest.fixture
def table(collection, tmp_path):
    terms = collection[2].terms_by_gene.items()
    lines = ["gene,stage_range,term", *(f"{gene},4-6,{one}" for (gene, _), found in terms for one in found)]
    (tmp_path / "annotations.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "annotations.csv"


def trained_on(paths, table, out, options, jobs=1):
    """Train a model file; returns its terms and weights."""
    make(ModelTask(paths, CuratedTerms(table), out, options, seed=5), jobs=jobs)
    stored = open_stored_file(out, "model")
    assert read_classifier_name(stored, "4-6") == options.method
    return read_terms(stored, "4-6"), stored.read_array("4-6", "model/scorer/weights")


@pytest.mark.parametrize("method", ["svm", "coupled-ridge", "ridge"])
@pytest.mark.parametrize("scheme, normalisation", [("group", "l2"), ("mean", "none")])
def test_a_model_of_features_stored_in_blocks_is_that_of_the_whole_array(
    collection, tmp_path, table, monkeypatch, method, scheme, normalisation
):
    monkeypatch.setattr(training_set, "_BLOCK_BYTES", 4 * len(GENES) * 97)
    columns, X, annotations = collection
    options = TrainOptions(method=method, scheme=scheme, normalisation=normalisation)
    path = written(tmp_path / "f.h5", collection, range(len(X)))
    terms, weights = trained_on([path], table, tmp_path / "m.h5", options)
    groups = group_images(columns)
    rows = training_rows([(0, X)], groups, options)
    Y = np.array([[t in annotations.terms_by_gene[g, "4-6"] for t in terms] for g in groups.gene_ids])
    whole = fit_model(
        method,
        rows,
        Y,
        groups.gene_ids,
        rng=stage_range_rng(5, "4-6"),
        options=FitOptions.of_training(options, 1),
    )
    values, expected = rows @ weights.T, rows @ whole.scorer.weights.T
    assert np.abs(values - expected).max() < 2e-5 * np.abs(expected).max()
    assert np.abs(weights - whole.scorer.weights).max() < 1e-4 * np.abs(weights).max()


@pytest.mark.parametrize("method", ["svm", "coupled-ridge"])
def test_neither_the_cut_into_files_nor_jobs_change_a_bit(collection, tmp_path, table, monkeypatch, method):
    options, n = TrainOptions(method=method, scheme="mean"), len(collection[1])
    whole = [written(tmp_path / "f.h5", collection, range(n))]
    parts = [written(tmp_path / f"{i}.h5", collection, range(i, min(i + 40, n))) for i in range(0, n, 40)]
    monkeypatch.setattr(training_set, "_BLOCK_BYTES", 4 * len(GENES) * 111)  # seven blocks
    one, *others = (
        trained_on(paths, table, tmp_path / f"{name}.h5", options, jobs)[1]
        for name, paths, jobs in (("a", whole, 1), ("b", parts, 1), ("c", whole, 2))
    )
    assert all(np.array_equal(one, other) for other in others)


@pytest.mark.parametrize("normalisation", ["l2", "none"])
def test_rows_that_are_zero_or_equal_are_learned_from(rng, tmp_path, normalisation):
    X = np.zeros((12, 42), "f4")
    X[4:] = rng.random(42)
    genes = GENES[:12]
    terms = {(gene, "4-6"): frozenset(["t"] if i < 6 else ["other"]) for i, gene in enumerate(genes)}
    options = TrainOptions(normalisation=normalisation)
    annotations = Annotations(terms, {g: {g} for g in genes})
    curated = build_training_set(columns_of(genes), annotations, "4-6", options)
    path = written(tmp_path / "f.h5", (columns_of(genes), X, None), range(12))
    stored = open_stored_file(path, "features")
    rows = curated.with_features(StoredFeatures([stored], "4-6"), options)
    assert rows.X.shape == (12, 1)
    model = fit_model("svm", rows.X, rows.Y, rows.genes, rng=rng, options=FitOptions())
    scorer = rows.in_features(model.scorer)
    found = scorer.decision_values(training_rows([(0, X)], curated.groups, options))
    np.testing.assert_allclose(found, model.decision_values(rows.X), atol=1e-6)
