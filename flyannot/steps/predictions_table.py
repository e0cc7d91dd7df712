"""predictions.csv, the table beside predictions.h5."""

from flyannot.classifiers.answers import predictions_table
from flyannot.errors import InputError
from flyannot.runtime.atomic_file import sweep_leftover_files
from flyannot.runtime.tables import read_table, write_table
from flyannot.store.reading import open_stored

_NEVER_EMPTY = ("stage_range", "term", "decision_value", "answer")


def check_table(out):
    """The table beside the output must not replace another one, such as images.csv."""
    table = out.with_suffix(".csv")
    if out.suffix != ".h5":
        raise InputError(
            f"the output {out} does not end in .h5: its table would be {table}, as that of other outputs",
            fix=f"name the output {out.with_suffix('.h5')}; flyannot export writes other formats",
        )
    if table.exists():
        try:
            next(read_table(table, _NEVER_EMPTY), None)
        except InputError as error:
            raise InputError(
                f"the table {table} would be replaced, and it does not hold predictions",
                fix="name another output with -o; its table gets the same name and ends in .csv",
            ) from error


def write_predictions_table(out, ids=None):
    """Write NAME.csv beside NAME.h5, whose lock is held; with `flyannot.dataset.ontology.IdColumns`, ids
    of terms and stages too."""
    table = out.with_suffix(".csv")
    sweep_leftover_files(table)
    with open_stored(out, "predictions") as stored:
        write_table(table, *predictions_table(stored, stored.stage_ranges, ids))
