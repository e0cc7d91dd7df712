"""Predictions as rows, one for each group and term, numbers as numbers."""

from typing import NamedTuple

import numpy as np

from flyannot.steps.predictions import read_predictions
from flyannot.store.image_columns import read_image_columns


class Prediction(NamedTuple):
    """What a model says of one group and one term."""

    gene: str
    fbgn: str
    group: str
    stage_range: str
    term: str
    decision_value: float
    probability: float
    answer: str


def prediction_rows(stored, stage_ranges):
    """Every `Prediction`, stage range by stage range, each group's most probable terms first."""
    for stage_range in stage_ranges:
        groups, predicted = read_predictions(stored, stage_range)
        for g in range(len(groups)):
            for j in ranked(predicted.probability[g]):
                yield Prediction(
                    groups.gene[g],
                    groups.fbgn[g],
                    groups.name[g],
                    stage_range,
                    predicted.terms[j],
                    float(predicted.decision_value[g, j]),
                    float(predicted.probability[g, j]),
                    "yes" if predicted.yes[g, j] else "no",
                )


def ranked(probability):
    """The numbers of the terms, the most probable first."""
    return np.argsort(-probability, kind="stable").tolist()


def images_of_groups(stored, stage_range, groups):
    """The names of the images of every group: a list of lists."""
    names = read_image_columns(stored, stage_range)["image"]
    return [[names[i] for i in rows] for rows in groups.rows]
