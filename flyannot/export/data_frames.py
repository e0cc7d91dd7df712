"""Predictions and features for data frames: Parquet (package pyarrow) and AnnData (package anndata)."""

import numpy as np

from flyannot.base.packages import optional_package
from flyannot.export.arrays import columns_and_features
from flyannot.files.hdf5.writing import new_hdf5
from flyannot.terms.answers import ANSWERS, EVIDENCE, predictions_table, read_predicted

# A matrix of the file -> the field of GroupPredictions
_MATRICES = ("probability", "answer_threshold", "held_out", "model_probability", "decision_value")
_LAYERS = {name: name for name in _MATRICES} | {"answer": "answers"}


def write_predictions_parquet(stored, stage_ranges, path, *, ids=None):
    """One row for each group and term; the columns of the CSV, numbers as doubles."""
    columns, rows = predictions_table(stored, stage_ranges, ids, as_text=False)
    _write_parquet(stored, dict(zip(columns, zip(*rows))), path)


def write_features_parquet(stored, stage_ranges, path):
    """One row for each image: its columns, stage range, and a list of features."""
    columns, features = columns_and_features(stored, stage_ranges)
    _write_parquet(stored, columns | {"features": list(features)}, path)


def _write_parquet(stored, columns, path):
    arrow, parquet = optional_package("pyarrow", "parquet"), optional_package("pyarrow.parquet", "parquet")
    table = arrow.table({name: list(values) for name, values in columns.items()})
    parquet.write_table(table.replace_schema_metadata({"flyannot_digest": stored.digest}), path)


def write_predictions_anndata(stored, stage_ranges, path, *, ids=None):
    """X is the probability of every term (columns) for every group in a stage range (rows).

    `obs` has gene, fbgn, stage_range, group, in_training, unlikeness, quality_warnings and n_images; the
    layers are answer, a number of `uns["flyannot"]["answers"]`, answer_threshold, held_out, model_probability
    and decision_value; `var` has for every stage range, such as "auc 4-6", threshold, n_genes, auc, auc_low,
    auc_high and precision.  A term that no model knows in a
    stage range is NaN, as is an AUC that is untested.
    """
    read = [(s, *read_predicted(stored, s)) for s in stage_ranges]
    terms = sorted({term for _, _, predicted in read for term in predicted.terms})
    layers, obs, var = {name: [] for name in _LAYERS}, {}, {"name": terms}
    for s, groups, predicted in read:
        of_terms = [terms.index(term) for term in predicted.terms]
        for name, attribute in _LAYERS.items():
            whole = np.full((len(groups), len(terms)), np.nan)
            whole[:, of_terms] = getattr(predicted, attribute)
            layers[name].append(whole)
        for name, attribute in ({"threshold": "probability_threshold"} | {n: n for n in EVIDENCE}).items():
            var[f"{name} {s}"] = np.full(len(terms), np.nan)
            var[f"{name} {s}"][of_terms] = getattr(predicted, attribute)
        columns = {
            "name": [f"{s} {name}" for name in groups.name],
            "stage_range": [s] * len(groups),
            "gene": groups.gene,
            "fbgn": groups.fbgn,
            "group": groups.name,
            "in_training": predicted.in_training.tolist(),
            "unlikeness": predicted.unlikeness.tolist(),
            "quality_warnings": predicted.quality_warnings,
            "n_images": [len(images) for images in groups.rows],
        }
        for name, values in columns.items():
            obs.setdefault(name, []).extend(values)
    whole = {name: np.concatenate(blocks) for name, blocks in layers.items()}
    if ids:
        obs["stage_id"] = [ids.of("", s)[1] for s in obs["stage_range"]]
        var["term_id"] = [ids.of(term, stage_ranges[0])[0] for term in terms]
    _write_anndata(stored, whole.pop("probability"), obs, var, whole, path)


def write_features_anndata(stored, stage_ranges, path):
    """X is the feature vector of every image (rows); `obs` has the columns of the image."""
    columns, features = columns_and_features(stored, stage_ranges)
    names = [f"{s} {image}" for s, image in zip(columns["stage_range"], columns["image"])]
    var = {"name": [f"f{i}" for i in range(features.shape[1])]}
    _write_anndata(stored, features, {"name": names} | columns, var, {}, path)


def _write_anndata(stored, X, obs, var, layers, path):
    """`obs` and `var` are columns by name, of which `name` tells the rows or columns of X apart."""
    anndata, pandas = optional_package("anndata", "anndata"), optional_package("pandas", "anndata")

    def frame(columns):
        index = pandas.Index([str(name) for name in columns["name"]], dtype=object)
        return pandas.DataFrame({n: list(v) for n, v in columns.items() if n != "name"}, index=index)

    about = {"kind": stored.kind, "digest": stored.digest, "answers": list(ANSWERS)}
    made = anndata.AnnData(X, obs=frame(obs), var=frame(var), layers=layers, uns={"flyannot": about})
    with new_hdf5(path) as (file, _):  # through ours: HDF5 crashes where the disk is full
        optional_package("anndata.io", "anndata").write_elem(file, "/", made)
