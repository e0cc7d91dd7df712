"""Predictions and features for data frames: Parquet (package pyarrow) and AnnData (package anndata)."""

from flyannot.base.packages import optional_package
from flyannot.export.arrays import columns_and_features
from flyannot.files.hdf5.writing import new_hdf5
from flyannot.terms.answers import ANSWERS, EVIDENCE, predictions_table, read_predicted

_LAYERS = ("answer_threshold", "held_out", "model_probability", "decision_value")


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
    anndata, parts = optional_package("anndata", "anndata"), []
    for s in stage_ranges:
        groups, predicted = read_predicted(stored, s)
        evidence = {f"threshold {s}": predicted.probability_threshold.astype(float)}
        evidence |= {f"{name} {s}": getattr(predicted, name).astype(float) for name in EVIDENCE}
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
        columns |= {"stage_id": [ids.of("", s)[1]] * len(groups)} if ids else {}
        obs = _frame([f"{s} {name}" for name in groups.name], columns)
        layers = {name: getattr(predicted, name).astype(float) for name in _LAYERS}
        layers["answer"] = predicted.answers.astype(float)
        var = _frame(predicted.terms, evidence)
        parts.append(anndata.AnnData(predicted.probability.astype(float), obs=obs, var=var, layers=layers))
    whole = anndata.concat(parts, join="outer", merge="first")
    whole = whole[:, sorted(whole.var_names)].copy()
    if ids:
        whole.var["term_id"] = [ids.of(term, stage_ranges[0])[0] for term in whole.var_names]
    _write_anndata(stored, whole, path)


def write_features_anndata(stored, stage_ranges, path):
    """X is the feature vector of every image (rows); `obs` has the columns of the image."""
    columns, features = columns_and_features(stored, stage_ranges)
    names = [f"{s} {image}" for s, image in zip(columns["stage_range"], columns["image"])]
    var = _frame([f"f{i}" for i in range(features.shape[1])], {})
    whole = optional_package("anndata", "anndata").AnnData(features, obs=_frame(names, columns), var=var)
    _write_anndata(stored, whole, path)


def _frame(names, columns):
    pandas = optional_package("pandas", "anndata")
    return pandas.DataFrame(columns, index=pandas.Index(list(map(str, names)), dtype=object))


def _write_anndata(stored, whole, path):
    whole.uns["flyannot"] = {"kind": stored.kind, "digest": stored.digest, "answers": list(ANSWERS)}
    with new_hdf5(path) as (file, _):  # through ours: HDF5 crashes where the disk is full
        optional_package("anndata.io", "anndata").write_elem(file, "/", whole)
