"""predictions.h5: decision values, probabilities and answers of every group and term."""

from dataclasses import dataclass

import numpy as np

from flyannot.features.groups import Groups
from flyannot.store.image_columns import write_image_columns
from flyannot.store.writing import write_array

_OPTIONAL = {"cannot_say": "u1", "second_probability": "f8", "second_yes": "u1"}


@dataclass(frozen=True)
class Predicted:
    """What a model says of the groups of one stage range; matrices are (n_groups, n_terms)."""

    terms: list
    decision_value: np.ndarray
    probability: np.ndarray
    yes: np.ndarray
    in_training: np.ndarray  # (n_groups,): the model learned from this gene
    cannot_say: np.ndarray | None = None  # probabilities that are too near to that at the threshold
    second_probability: np.ndarray | None = None  # what a second opinion says
    second_yes: np.ndarray | None = None

    def second_opinion(self, g, j):
        """(yes, probability) of the second opinion on a group and a term; None where there is none, or its
        model has learned from the gene: one that passes terms on then finds the gene's own."""
        if self.second_yes is None or self.in_training[g]:
            return None
        return bool(self.second_yes[g, j]), float(self.second_probability[g, j])


def write_predictions(file, stage_range, columns, groups, predicted):
    """Add one stage range: image columns, `flyannot.features.groups.Groups` and `Predicted`."""
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
    for name, dtype in _OPTIONAL.items():
        if getattr(predicted, name) is not None:
            write_array(group, name, getattr(predicted, name), dtype=dtype)


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
        *(_read_optional(stored, stage_range, name) for name in _OPTIONAL),
    )
    return Groups(*names, rows), predicted


def _read_optional(stored, stage_range, name):
    """A matrix that a file may lack, or None; what is stored as 0 and 1 as bool."""
    if name not in stored.group(stage_range):
        return None
    found = stored.array(stage_range, name)
    return found.astype(bool) if _OPTIONAL[name] == "u1" else found
