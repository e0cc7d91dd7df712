"""The predictions of one stage range: what a model says of groups of images."""

from dataclasses import dataclass

import numpy as np

from flyannot.features.groups import Groups
from flyannot.store import predictions as store

ANSWERS = ("no", "yes", "undetermined")


@dataclass(frozen=True)
class Predicted:
    """What a model says of the groups of one stage range; matrices are (n_groups, n_terms)."""

    terms: list
    decision_value: np.ndarray
    probability: np.ndarray
    yes: np.ndarray
    undetermined: np.ndarray  # probabilities that are too near to that at the threshold
    in_training: np.ndarray  # (n_groups,): the model learned from this gene

    def answer(self, g, j):
        """One of ANSWERS, for one group and one term."""
        return ANSWERS[2 if self.undetermined[g, j] else int(self.yes[g, j])]


def write_predictions(file, stage_range, columns, groups, predicted):
    """Add one stage range to an open file: image columns, Groups and Predicted."""
    named = {name: getattr(groups, name) for name in ("name", "gene", "fbgn")}
    matrices = {name: value for name, value in vars(predicted).items() if name != "terms"}
    store.write_predictions(
        file, stage_range, columns, groups.of_image, named, matrices | {"term": predicted.terms}
    )


def read_predictions(stored, stage_range):
    """The Groups and the Predicted that `write_predictions` took."""
    of_image, groups, predicted = store.read_predictions(stored, stage_range)
    rows = [np.flatnonzero(of_image == g) for g in range(len(groups["name"]))]
    return Groups(**groups, rows=rows), Predicted(terms=predicted.pop("term"), **predicted)
