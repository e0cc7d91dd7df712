"""predictions.csv: the table beside predictions.h5."""

import numpy as np

from flyannot.errors import InputError
from flyannot.runtime.csv_table import read_table, write_table
from flyannot.steps.predictions import read_predictions
from flyannot.store.reading import open_stored

COLUMNS = ("gene", "fbgn", "image", "stage_range", "term", "decision_value", "probability", "answer")
_STAGE_RANGE, _TERM = COLUMNS.index("stage_range"), COLUMNS.index("term")
_NEVER_EMPTY = ("stage_range", "term", "decision_value", "answer")


def check_table(out):
    """The table beside the output must not replace another one, such as images.csv."""
    table = out.with_suffix(".csv")
    if out == table:
        raise InputError(f"{out} is the name of a table", fix=f"name the output {out.with_suffix('.h5')}")
    if table.exists():
        try:
            next(read_table(table, _NEVER_EMPTY), None)
        except InputError as error:
            raise InputError(
                f"the table {table} would be replaced, and it does not hold predictions",
                fix="name another output with -o; its table gets the same name and ends in .csv",
            ) from error


def write_predictions_table(out, ids=None):
    """Write NAME.csv beside NAME.h5: one row per group and term, the most probable of a group first."""
    write_table(out.with_suffix(".csv"), *predictions_table(out, ids))


def predictions_table(out, ids=None):
    """The columns and the rows of the table."""
    with open_stored(out, "predictions") as stored:
        rows = [row for s in stored.stage_ranges for row in _rows(stored, s)]
    if ids:
        rows = [(*row, *ids.of(row[_TERM], row[_STAGE_RANGE])) for row in rows]
    return COLUMNS + (ids.COLUMNS if ids else ()), rows


def _rows(stored, stage_range):
    groups, predicted = read_predictions(stored, stage_range)
    for g in range(len(groups)):
        image = "" if groups.gene[g] else groups.name[g]
        for j in np.argsort(-predicted.probability[g], kind="stable"):
            yield (
                groups.gene[g],
                groups.fbgn[g],
                image,
                stage_range,
                predicted.terms[j],
                f"{predicted.decision_value[g, j]:.6g}",
                f"{predicted.probability[g, j]:.4f}",
                predicted.answer(g, j),
            )
