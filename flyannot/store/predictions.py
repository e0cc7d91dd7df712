"""predictions.h5: decision values, probabilities and answers of every group and term."""

from dataclasses import dataclass

import numpy as np

from flyannot.groups import Groups
from flyannot.store.image_columns import write_image_columns
from flyannot.store.writing import write_array


@dataclass(frozen=True)
class Predicted:
    """What a model says of the groups of one stage range; matrices are (n_groups, n_terms)."""

    terms: list
    decision_value: np.ndarray
    probability: np.ndarray
    yes: np.ndarray
    in_training: np.ndarray  # (n_groups,): the model learned from this gene
    cannot_say: np.ndarray | None = None  # probabilities that are too near to that at the threshold


def write_predictions(file, stage_range, columns, groups, predicted):
    """Add one stage range: image columns, `flyannot.groups.Groups` and `Predicted`."""
    group = file.create_group(stage_range)
    write_image_columns(group, columns)
    write_array(group, "group_of_image", groups.of_image, dtype="i4")
    for name in ("name", "gene", "fbgn"):
        write_array(group, f"group_{name}", getattr(groups, name))
    write_array(group, "term", predicted.terms)
    write_array(group, "decision_value", predicted.decision_value, dtype="f8")
    write_array(group, "probability", predicted.probability, dtype="f8")
    write_array(group, "yes", predicted.yes, dtype="u1")
    write_array(group, "in_training", predicted.in_training, dtype="u1")
    if predicted.cannot_say is not None:
        write_array(group, "cannot_say", predicted.cannot_say, dtype="u1")


def read_predictions(stored, stage_range):
    """The groups and the `Predicted` that `write_predictions` took."""
    of_image = stored.array(stage_range, "group_of_image")
    names = [stored.array(stage_range, f"group_{name}") for name in ("name", "gene", "fbgn")]
    rows = [np.flatnonzero(of_image == g) for g in range(len(names[0]))]
    predicted = Predicted(
        stored.array(stage_range, "term"),
        stored.array(stage_range, "decision_value"),
        stored.array(stage_range, "probability"),
        stored.array(stage_range, "yes").astype(bool),
        stored.array(stage_range, "in_training").astype(bool),
        stored.array(stage_range, "cannot_say").astype(bool)
        if "cannot_say" in stored.group(stage_range)
        else None,
    )
    return Groups(*names, rows), predicted
