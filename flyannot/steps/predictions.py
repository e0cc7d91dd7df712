"""The predictions of one stage range: what a model says of groups of images."""

from dataclasses import dataclass

import numpy as np

from flyannot.features.groups import Groups
from flyannot.store import predictions as store
from flyannot.store.reading import read_image_columns

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
    threshold: np.ndarray  # (n_terms,) and those below: the probability above which the answer is yes
    n_genes: np.ndarray  # with the term, in the training set
    auc: np.ndarray  # cross-validated, with its 95 % interval; nan is untested
    auc_low: np.ndarray
    auc_high: np.ndarray
    quality_warnings: list  # (n_groups,) texts, as `quality_warnings_of_groups`

    def answer(self, g, j):
        """One of ANSWERS, for one group and one term."""
        return ANSWERS[2 if self.undetermined[g, j] else int(self.yes[g, j])]


def quality_warnings_of_groups(columns, groups):
    """What may be wrong with the pictures of each group, in words; of several pictures each is named."""
    images, warnings = columns["image"], columns["quality_warnings"]
    return [
        "; ".join(
            f"{images[i]}: {warnings[i]}" if len(rows) > 1 else warnings[i] for i in rows if warnings[i]
        )
        for rows in groups.rows
    ]


def write_predictions(file, stage_range, columns, groups, predicted):
    """Add one stage range to an open file: image columns, which have the quality warnings, Groups and
    Predicted."""
    named = {name: getattr(groups, name) for name in ("name", "gene", "fbgn")}
    store.write_predictions(
        file, stage_range, columns, groups.of_image, named, vars(predicted) | {"term": predicted.terms}
    )


def read_predictions(stored, stage_range):
    """The Groups and the Predicted that `write_predictions` took."""
    of_image, groups, predicted = store.read_predictions(stored, stage_range)
    ends = np.cumsum(np.bincount(of_image, minlength=len(groups["name"])))
    rows = np.split(np.argsort(of_image, kind="stable"), ends[:-1])
    found = Groups(**groups, rows=rows)
    warnings = quality_warnings_of_groups(read_image_columns(stored, stage_range), found)
    return found, Predicted(terms=predicted.pop("term"), **predicted, quality_warnings=warnings)
