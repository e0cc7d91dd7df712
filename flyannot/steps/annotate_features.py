"""model.h5 and features.h5 to predictions: where the features were made, by us or by another program."""

from functools import partial

import numpy as np

from flyannot.dataset.ontology import IdColumns, read_ontology
from flyannot.errors import DataError
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.steps.annotate import predict_groups, summary_of_annotate
from flyannot.steps.engine.inputs import chosen_stage_ranges
from flyannot.steps.engine.task import Outcome, carry_out, file_task
from flyannot.steps.loaded_model import load_model
from flyannot.steps.predictions_table import check_table, write_predictions_table
from flyannot.store.features import read_features
from flyannot.store.header import Header
from flyannot.store.model import read_atoms, read_terms
from flyannot.store.reading import open_stored
from flyannot.store.writing import create_stored, option_changes


def annotate_features(model, features, out, options, execution, *, stage_ranges=()):
    """Predict the terms of every group of a features file.

    Parameters
    ----------
    model : Path of the model file
    features : Path of features that were made as those that the model learned from
    out : Path of the predictions file; the table NAME.csv is written beside it
    options : flyannot.steps.options.AnnotateOptions
    execution : flyannot.steps.engine.task.Execution
    stage_ranges : those that are annotated; empty for all of which the model knows terms

    Raises
    ------
    DataError
        If the features were made in another way than those of the model.
    """
    check_table(out)
    ids = IdColumns(read_ontology(*options.ontology)) if options.ontology else None
    with open_stored(model, "model") as known, open_stored(features, "features") as stored:
        _check_fit(known, stored)
        chosen = [
            s for s in chosen_stage_ranges([stored], stage_ranges)
            if s in known.stage_ranges and read_terms(known, s)
        ]  # fmt: skip
        annotated = options.as_header() | {"model_seed": known.seed}
        inputs = {"model": [known.digest], "features": [stored.digest]}
        header = Header("predictions", known.options | {"annotate": annotated}, inputs)

    def make(execution):
        with create_stored(out, header) as file, open_stored(features, "features") as stored:
            for s in (s for s in STAGE_RANGES if s in chosen):
                columns, X = read_features([stored], s)
                predict_groups(file, s, load_model(model, inputs["model"][0], s), columns, X, header)
        return Outcome(out, True, summary_of_annotate(out))

    write_beside = partial(write_predictions_table, out, ids)
    return carry_out(file_task(out, header, make, [model, features], write_beside=write_beside), execution)


def _check_fit(model, features):
    """Refuse features that were made in another way than those that the model learned from."""
    made = [
        {name: {k: v for k, v in table.items() if k != "stage_ranges"} for name, table in one.options.items()
         if name in ("import", "extract", "learn", "pool")} for one in (model, features)
    ]  # fmt: skip
    changes = "; ".join(option_changes(*made))
    for s in (s for s in features.stage_ranges if s in model.stage_ranges and not changes):
        if not np.array_equal(read_atoms(model, s), features.array(s, "D")):
            changes = f"of {s} another dictionary"
    if changes:
        raise DataError(
            f"{features.path} was made in another way than what {model.path} learned from: {changes}",
            fix="make the features again in that way, or train a model on them",
        )
