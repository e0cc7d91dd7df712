"""predictions.csv: the table beside predictions.h5."""

from contextlib import ExitStack

import numpy as np

from flyannot.errors import InputError
from flyannot.runtime.csv_table import read_table, write_table
from flyannot.store.predictions import read_predictions
from flyannot.store.reading import open_stored

_COLUMNS = ("gene", "fbgn", "image", "stage_range", "term", "decision_value", "probability", "answer")
_SECOND_COLUMNS = ("second_opinion", "second_probability")  # where the model has a second opinion
_STAGE_RANGE, _TERM = _COLUMNS.index("stage_range"), _COLUMNS.index("term")
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


def table_is_stale(out):
    """Whether a run ended between the writing of `out` and that of its table."""
    table = out.with_suffix(".csv")
    return not table.exists() or table.stat().st_mtime_ns < out.stat().st_mtime_ns


def write_predictions_table(out, ids=None):
    """Write NAME.csv beside NAME.h5: one row per group and term, the most probable of a group first."""
    with ExitStack() as stack:
        stored = stack.enter_context(open_stored(out, "predictions"))
        rows = [row for s in stored.stage_ranges for row in _rows(stored, s)]
        has_second = any("second_yes" in stored.group(s) for s in stored.stage_ranges)
    columns = _COLUMNS + (_SECOND_COLUMNS if has_second else ())
    rows = [row[: len(columns)] for row in rows]
    if ids:
        rows = [(*row, *ids.of(row[_TERM], row[_STAGE_RANGE])) for row in rows]
    write_table(out.with_suffix(".csv"), columns + (ids.COLUMNS if ids else ()), rows)


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
                _answer(predicted, g, j),
                *_second_opinion(predicted, g, j),
            )


def _answer(predicted, g, j):
    if predicted.cannot_say is not None and predicted.cannot_say[g, j]:
        return "cannot say"
    return "yes" if predicted.yes[g, j] else "no"


def _second_opinion(predicted, g, j):
    """The cells of _SECOND_COLUMNS."""
    said = predicted.second_opinion(g, j)
    return ("yes" if said[0] else "no", f"{said[1]:.4f}") if said else ("", "")
