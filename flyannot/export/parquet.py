"""Predictions and features as Parquet; takes the package pyarrow."""

from flyannot.runtime.environment import optional_package
from flyannot.steps.predictions_table import COLUMNS, prediction_rows
from flyannot.store.features import read_features
from flyannot.store.schema import IMAGE_COLUMNS


def write_predictions(stored, stage_ranges, path, *, ids=None):
    """One row for each group and term; the columns of the CSV, numbers as doubles."""
    rows = list(prediction_rows(stored, stage_ranges))
    columns = dict(zip(COLUMNS, zip(*rows)))
    if ids:
        columns |= dict(zip(ids.COLUMNS, zip(*(ids.of(row.term, row.stage_range) for row in rows))))
    _write(stored, columns, path)


def write_features(stored, stage_ranges, path):
    """One row for each image: its columns, stage range, and a list of features."""
    columns = {name: [] for name in (*IMAGE_COLUMNS, "stage_range", "features")}
    for s in stage_ranges:
        found, features = read_features([stored], s)
        found = found | {"stage_range": [s] * len(features), "features": list(features)}
        for name, values in found.items():
            columns[name] += values
    _write(stored, columns, path)


def _write(stored, columns, path):
    arrow, parquet = optional_package("pyarrow", "parquet"), optional_package("pyarrow.parquet", "parquet")
    table = arrow.table({name: list(values) for name, values in columns.items()})
    parquet.write_table(table.replace_schema_metadata({"flyannot_digest": stored.digest}), path)
