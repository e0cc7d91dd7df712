"""Formats that take a package of their own: Parquet (pyarrow) and AnnData (anndata)."""

from importlib import import_module

import numpy as np

from flyannot.errors import InputError
from flyannot.export.rows import Prediction, images_of_groups, prediction_rows
from flyannot.steps.predictions import read_predictions
from flyannot.store.features import read_features
from flyannot.store.image_columns import IMAGE_COLUMNS


def write_predictions_parquet(stored, stage_ranges, path, *, ids=None):
    """One row for each group and term; the columns of the CSV, numbers as doubles."""
    rows = list(prediction_rows(stored, stage_ranges))
    columns = dict(zip(Prediction._fields, zip(*rows)))
    if ids:
        columns |= dict(zip(ids.COLUMNS, zip(*(ids.of(row.term, row.stage_range) for row in rows))))
    _write_parquet(stored, columns, path)


def write_features_parquet(stored, stage_ranges, path):
    """One row for each image: its columns, stage range, and a list of features."""
    columns = {name: [] for name in (*IMAGE_COLUMNS, "stage_range", "features")}
    for s in stage_ranges:
        found, features, _ = read_features([stored], s)
        for name, values in (
            found | {"stage_range": [s] * len(features), "features": list(features)}
        ).items():
            columns[name] += values
    _write_parquet(stored, columns, path)


def _write_parquet(stored, columns, path):
    arrow, parquet = _package("pyarrow", "parquet"), _package("pyarrow.parquet", "parquet")
    table = arrow.table({name: list(values) for name, values in columns.items()})
    parquet.write_table(table.replace_schema_metadata({"flyannot_digest": stored.digest}), path)


def write_predictions_anndata(stored, stage_ranges, path, *, ids=None):
    """X is the probability of every term (columns) for every group in a stage range (rows).

    `obs` has gene, fbgn, stage_range, group, in_training and n_images; the layers are decision_value and
    yes.  A term that is not judged in a stage range is NaN there.
    """
    read = [(s, *read_predictions(stored, s)) for s in stage_ranges]
    terms = sorted({term for _, _, predicted in read for term in predicted.terms})
    place = {term: at for at, term in enumerate(terms)}
    layers = {name: [] for name in ("probability", "decision_value", "yes")}
    obs = []
    for s, groups, predicted in read:
        at = [place[term] for term in predicted.terms]
        for name, blocks in layers.items():
            block = np.full((len(groups), len(terms)), np.nan)
            block[:, at] = getattr(predicted, name)
            blocks.append(block)
        n_images = [len(images) for images in images_of_groups(stored, s, groups)]
        columns = groups.gene, groups.fbgn, groups.name, predicted.in_training.tolist(), n_images
        obs += [(f"{s} {row[2]}", s, *row) for row in zip(*columns)]
    names = ("name", "stage_range", "gene", "fbgn", "group", "in_training", "n_images")
    whole = {name: np.concatenate(blocks) for name, blocks in layers.items()}
    rows, var = dict(zip(names, zip(*obs))), {"name": terms}
    if ids:
        rows["stage_id"] = [ids.of("", s)[1] for s in rows["stage_range"]]
        var["term_id"] = [ids.of(term, stage_ranges[0])[0] for term in terms]
    _write_anndata(stored, whole.pop("probability"), rows, var, whole, path)


def write_features_anndata(stored, stage_ranges, path):
    """X is the feature vector of every image (rows); `obs` has the columns of the image."""
    blocks, obs = [], {name: [] for name in ("name", "stage_range", *IMAGE_COLUMNS)}
    for s in stage_ranges:
        columns, features, _ = read_features([stored], s)
        blocks.append(features)
        names = [f"{s} {image}" for image in columns["image"]]
        for name, values in (columns | {"name": names, "stage_range": [s] * len(names)}).items():
            obs[name] += values
    n_features = blocks[0].shape[1]
    var = {"name": [f"f{i}" for i in range(n_features)]}
    _write_anndata(stored, np.concatenate(blocks), obs, var, {}, path)


def _write_anndata(stored, X, obs, var, layers, path):
    """`obs` and `var` are columns by name, among them `name`, which tells the rows or columns of X apart."""
    anndata, pandas = _package("anndata", "anndata"), _package("pandas", "anndata")

    def frame(columns):
        index = pandas.Index([str(name) for name in columns["name"]], dtype=object)
        return pandas.DataFrame({n: list(v) for n, v in columns.items() if n != "name"}, index=index)

    anndata.AnnData(
        X,
        obs=frame(obs),
        var=frame(var),
        layers=layers,
        uns={"flyannot": {"kind": stored.kind, "digest": stored.digest}},
    ).write_h5ad(path)


def _package(name, extra):
    try:
        return import_module(name)
    except ImportError:
        raise InputError(
            f"this format needs the package {name.split('.')[0]}, which is not installed",
            fix=f"pip install 'flyannot[{extra}]'",
        ) from None
