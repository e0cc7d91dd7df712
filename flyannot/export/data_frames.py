"""Predictions and features as data frames of AnnData (package anndata)."""

import numpy as np

from flyannot.base.packages import import_optional
from flyannot.export.arrays import read_all_features
from flyannot.files.hdf5.header import describe_origin
from flyannot.files.hdf5.writing import create_hdf5
from flyannot.terms.answers import ANSWERS, EVIDENCE, read_group_predictions

_LAYERS = ("answer_threshold", "held_out", "model_probability", "decision_value")


def write_predictions_anndata(stored, stage_ranges, path, *, ids=None):
    """Write an AnnData of groups (rows) and terms (columns), whose X is the probability.

    `obs` has the columns of a group, such as gene, stage_range, in_training, unlikeness and quality_warnings.
    The layer `answer` holds places in `uns["flyannot"]["answers"]`. The other layers are answer_threshold,
    held_out, model_probability and decision_value. `var` has the evidence of each stage range in columns such
    as "auc 4-6". A term that no model knows in a stage range is NaN, and so is an AUC that is untested.
    """
    anndata = import_optional("anndata", "anndata")
    parts = []
    for s in stage_ranges:
        groups, predicted = read_group_predictions(stored, s)
        evidence = {f"threshold {s}": np.array([term.threshold for term in predicted.learned], float)}
        evidence |= {f"{name} {s}": getattr(predicted, name).astype(float) for name in EVIDENCE}
        evidence |= {f"measured_on {s}": predicted.measured_on}
        columns = {
            "stage_range": [s] * len(groups),
            "gene": groups.gene,
            "fbgn": groups.fbgn,
            "group": groups.name,
            "in_training": predicted.in_training,
            "unlikeness": predicted.unlikeness,
            "quality_warnings": predicted.quality_warnings,
            "n_images": [len(images) for images in groups.rows],
        }
        columns |= {"stage_id": [ids.look_up("", s)[1]] * len(groups)} if ids else {}
        obs = _frame([f"{s} {name}" for name in groups.name], columns)
        layers = {name: getattr(predicted, name).astype(float) for name in _LAYERS}
        layers["answer"] = predicted.answers.astype(float)
        var = _frame(predicted.terms, evidence)
        parts.append(anndata.AnnData(predicted.probability.astype(float), obs=obs, var=var, layers=layers))
    whole = anndata.concat(parts, join="outer", merge="first")
    whole = whole[:, sorted(whole.var_names)].copy()
    whole.var = whole.var.fillna({f"measured_on {s}": "" for s in stage_ranges})
    if ids:
        whole.var["term_id"] = [ids.look_up(term, stage_ranges[0])[0] for term in whole.var_names]
    _write_anndata(stored, whole, path, answers=list(ANSWERS))


def write_features_anndata(stored, stage_ranges, path):
    """Write an AnnData of images (rows), whose X are the features and whose `obs` are the image columns."""
    columns, features = read_all_features(stored, stage_ranges)
    names = [f"{s} {image}" for s, image in zip(columns["stage_range"], columns["image"])]
    var = _frame([f"f{i}" for i in range(features.shape[1])], {})
    whole = import_optional("anndata", "anndata").AnnData(features, obs=_frame(names, columns), var=var)
    _write_anndata(stored, whole, path)


def _frame(names, columns):
    pandas = import_optional("pandas", "anndata")
    return pandas.DataFrame(columns, index=pandas.Index(list(map(str, names)), dtype=object))


def _write_anndata(stored, whole, path, **more):
    whole.uns["flyannot"] = {"kind": stored.kind, "digest": stored.digest, **describe_origin(stored), **more}
    with create_hdf5(path) as (file, _):  # HDF5 by itself crashes if the disk is full
        import_optional("anndata.io", "anndata").write_elem(file, "/", whole)
