"""The predicted terms of every group beside the curated ones, group by group.

Where cross-validation judged a group for a term, its answer comes from the model that had not seen the gene;
that of the final model, which learned from the gene, would flatter.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from flyannot.report.maps import MapMaker
from flyannot.scores.group_outcomes import outcome_of
from flyannot.steps.predictions import read_predictions
from flyannot.store.image_columns import read_image_columns

AGREED, MISSED, NEW, PREDICTED, UNLEARNED, ABSENT = (
    "agreed",
    "missed",
    "new",
    "predicted",
    "unlearned",
    "absent",
)


OPEN = "open"  # the model was told to leave what is too near to the threshold


@dataclass
class TermEntry:
    """One term of one group.

    status : agreed (curated and predicted), missed (curated only), new (predicted, the gene is annotated
    without it), predicted (the gene is not annotated), unlearned (curated, and no model knows it), open, or
    absent
    probability : of the answer, by a model that had not seen the gene if `held_out`; None if unlearned
    final : probability by the final model, or None
    map : flyannot.report.maps.TermMap or None
    second : whether a second opinion says yes; None where there is none
    """

    term: str
    status: str
    probability: float | None = None
    held_out: bool = False
    final: float | None = None
    map: object = None
    second: bool | None = None


@dataclass
class ImageEntry:
    """One image of a group; path None where it is not known, jpeg None where it cannot be read."""

    name: str
    view: str = ""
    path: Path | None = None


@dataclass
class GroupEntry:
    """All images of one gene in one stage range, and its terms, the most probable first."""

    stage_range: str
    name: str
    gene: str = ""
    fbgn: str = ""
    annotated: bool = False
    in_training: bool = False
    images: list = field(default_factory=list)
    terms: list = field(default_factory=list)

    def with_status(self, *statuses):
        """The names of the terms with one of these statuses."""
        return [one.term for one in self.terms if one.status in statuses]


def group_entries(run, stage_ranges):
    """Every group of the predictions, stage range by stage range, by name.

    Parameters
    ----------
    run : flyannot.report.run_folder.Run
    stage_ranges : in order

    Yields
    ------
    entry : GroupEntry
    """
    for stage_range in stage_ranges:
        stored = run.stored("predictions", stage_range)
        if stored is not None:
            groups, predicted = read_predictions(stored, stage_range)
            columns = read_image_columns(stored, stage_range)
            held_out = _HeldOut((run.scores or {}).get("evaluated", {}).get(stage_range))
            maps = MapMaker(run, stage_range)
            for g in range(len(groups)):
                yield _entry(run, stage_range, g, (groups, predicted, columns, held_out, maps))


def _entry(run, stage_range, g, of_range):
    groups, predicted, columns, held_out, maps = of_range
    gene, fbgn, rows = groups.gene[g], groups.fbgn[g], groups.rows[g]
    curated = run.annotations.terms_of(gene, stage_range, fbgn) if run.annotations else None
    images = [
        ImageEntry(columns["image"][i], columns["view"][i], run.paths.get(columns["image"][i])) for i in rows
    ]
    terms = [
        _term_entry(term, predicted, g, j, curated, held_out.told(groups.name[g], term))
        for j, term in enumerate(predicted.terms)
    ]
    terms += [TermEntry(term, UNLEARNED) for term in sorted((curated or set()) - set(predicted.terms))]
    terms.sort(key=lambda one: (one.status == UNLEARNED, one.status == ABSENT, -(one.probability or 0)))
    entry = GroupEntry(
        stage_range, groups.name[g], gene, fbgn, curated is not None, bool(predicted.in_training[g]),
        images, terms,
    )  # fmt: skip
    shown = [one.term for one in terms if one.status not in (UNLEARNED, ABSENT, OPEN)]
    values = {term: predicted.decision_value[g, predicted.terms.index(term)] for term in shown}
    drawn = maps.maps_of(groups.name[g], gene, fbgn, [i.name for i in images], values)
    for one in terms:
        one.map = drawn.get(one.term)
    return entry


def _term_entry(term, predicted, g, j, curated, told):
    final = float(predicted.probability[g, j])
    if told is None and predicted.undetermined[g, j]:
        return TermEntry(term, OPEN, final, False, final)
    yes, probability = told or (bool(predicted.yes[g, j]), final)
    if curated is None:
        status = PREDICTED if yes else ABSENT
    elif term in curated:
        status = AGREED if yes else MISSED
    else:
        status = NEW if yes else ABSENT
    return TermEntry(term, status, probability, told is not None, final)


class _HeldOut:
    """What cross-validation said of a group and a term."""

    def __init__(self, judged):
        self._rows, self._terms, self._outcome = {}, {}, None
        if judged and judged["probability"] is not None and judged["fold"] is not None:
            self._outcome = outcome_of(judged)
            self._rows = {name: i for i, name in enumerate(judged["group"])}
            self._terms = {term: j for j, term in enumerate(judged["term"])}

    def told(self, group, term):
        """(yes, probability), or None where it was not judged."""
        i, j = self._rows.get(group), self._terms.get(term)
        if i is None or j is None:
            return None
        return bool(self._outcome.yes[i, j]), float(self._outcome.probabilities[i, j])


def count_by_status(entries):
    """How many terms of all the groups have each status: a dict."""
    statuses = [one.status for entry in entries for one in entry.terms]
    return dict(zip(*(a.tolist() for a in np.unique(statuses, return_counts=True)))) if statuses else {}
