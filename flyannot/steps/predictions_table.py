"""The table of predictions: predictions.csv beside predictions.h5, and what is exported and reported."""

from typing import Any, NamedTuple

import numpy as np

from flyannot.errors import InputError
from flyannot.runtime.atomic_file import sweep_leftover_files
from flyannot.runtime.tables import read_table, write_table
from flyannot.steps.predictions import read_predictions
from flyannot.store.reading import open_stored

_NUMBERS, _AREAS = ("decision_value", "probability", "threshold"), ("auc", "auc_low", "auc_high")
_NEVER_EMPTY = ("stage_range", "term", "decision_value", "answer")


class Prediction(NamedTuple):
    """What a model says of one group and one term, and what stands behind it.

    image : named where the gene is not known
    answer : yes above the threshold, no below; undetermined at it, or as near as the margin says
    threshold : the probability above which the answer is yes
    n_genes : genes with the term that it was learned from
    auc, auc_low, auc_high : of the term, cross-validated, with its 95 % interval; None is untested
    in_training : yes if the model learned from this gene, else no
    quality_warnings : of the group's images, each named where there are several
    """

    gene: str
    fbgn: str
    image: str
    group: str
    stage_range: str
    term: str
    decision_value: float
    probability: float
    threshold: float
    answer: str
    n_genes: int
    auc: float | None
    auc_low: float | None
    auc_high: float | None
    in_training: str
    quality_warnings: str

    def texts(self):
        """The cells of a table of text: numbers to nine digits, an AUC to four decimals, untested empty."""
        texts: Any = {name: f"{getattr(self, name):.9g}" for name in _NUMBERS}
        texts |= {name: "" if (x := getattr(self, name)) is None else f"{x:.4f}" for name in _AREAS}
        return self._replace(**texts)


COLUMNS = Prediction._fields


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


def predictions_table(stored, stage_ranges, ids=None):
    """The columns and the rows of the table as texts; rows are made as they are asked for."""
    rows = (row.texts() for row in prediction_rows(stored, stage_ranges))
    if ids:
        rows = ((*row, *ids.of(row.term, row.stage_range)) for row in rows)
    return COLUMNS + (ids.COLUMNS if ids else ()), rows


def prediction_rows(stored, stage_ranges):
    """Every `Prediction` of an open file, stage range by stage range, group by group."""
    for stage_range in stage_ranges:
        groups, predicted = read_predictions(stored, stage_range)
        for g in range(len(groups)):
            yield from rows_of_group(stage_range, groups, predicted, g)


def evidence_of_term(predicted, j):
    """What stands behind a term: a dict of n_genes, auc, auc_low, auc_high; None is untested."""
    found: Any = {"n_genes": int(predicted.n_genes[j])}
    areas = {name: float(getattr(predicted, name)[j]) for name in _AREAS}
    return found | {name: None if np.isnan(area) else area for name, area in areas.items()}


def rows_of_group(stage_range, groups, predicted, g):
    """The `Prediction`s of one group, the most probable first."""
    image = "" if groups.gene[g] else groups.name[g]
    for j in np.argsort(-predicted.probability[g], kind="stable").tolist():
        yield Prediction(
            groups.gene[g],
            groups.fbgn[g],
            image,
            groups.name[g],
            stage_range,
            predicted.terms[j],
            float(predicted.decision_value[g, j]),
            float(predicted.probability[g, j]),
            float(predicted.threshold[j]),
            predicted.answer(g, j),
            **evidence_of_term(predicted, j),
            in_training="yes" if predicted.in_training[g] else "no",
            quality_warnings=predicted.quality_warnings[g],
        )
