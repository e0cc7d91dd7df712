"""The predicted terms of every group beside the curated ones, group by group.

Where cross-validation evaluated a group for a term, its answer comes from the model that had not seen the
gene; that of the final model, which learned from the gene, would flatter.
"""

from dataclasses import dataclass, field
from pathlib import Path

from flyannot.report.maps import MapMaker, TermMap
from flyannot.report.templates import render
from flyannot.scores.group_outcomes import outcome_of
from flyannot.steps.predictions import read_predictions
from flyannot.steps.predictions_table import rows_of_group
from flyannot.store.image_columns import read_image_columns

AGREED, MISSED, NEW, PREDICTED, UNLEARNED, ABSENT, UNDETERMINED = (
    "agreed", "missed", "new", "predicted", "unlearned", "absent", "undetermined",
)  # fmt: skip
STATUSES = (AGREED, MISSED, NEW, PREDICTED, UNLEARNED, UNDETERMINED)  # in the order of the page
_OF_ANSWERS = {  # (is the gene annotated, with this term, is the answer yes)
    (False, False, True): PREDICTED,
    (False, False, False): ABSENT,
    (True, True, True): AGREED,
    (True, True, False): MISSED,
    (True, False, True): NEW,
    (True, False, False): ABSENT,
}


@dataclass
class TermEntry:
    """One term of one group.

    status : agreed (curated and predicted), missed (curated only), new (predicted, the gene is annotated
    without it), predicted (the gene is not annotated), unlearned (curated, and no model knows it),
    undetermined, or absent
    probability : of the answer, by a model that had not seen the gene if `held_out`; None if unlearned
    final : probability by the final model, or None
    threshold : the probability from which that model answers yes
    n_genes : that the term was learned from
    auc, auc_interval : of models that had not seen the gene, and (low, high); None where it is untested
    """

    term: str
    status: str
    probability: float | None = None
    held_out: bool = False
    final: float | None = None
    threshold: float | None = None
    n_genes: int | None = None
    auc: float | None = None
    auc_interval: tuple | None = None
    map: TermMap | None = None

    @property
    def margin(self):
        """How far the probability is from the threshold; None where there is none."""
        if self.probability is None or self.threshold is None:
            return None
        return abs(self.probability - self.threshold)


@dataclass
class ImageEntry:
    """One image of a group; path None where it is not known."""

    name: str
    view: str = ""
    path: Path | None = None
    quality_warnings: str = ""


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
            held_out = _held_out((run.scores or {}).get("evaluated", {}).get(stage_range))
            maps = MapMaker(run, stage_range)
            for g in range(len(groups)):
                entry = GroupEntry(
                    stage_range, groups.name[g], groups.gene[g], groups.fbgn[g],
                    in_training=bool(predicted.in_training[g]),
                )  # fmt: skip
                for i in groups.rows[g]:
                    name = columns["image"][i]
                    path, warnings = run.pictures.paths.get(name), columns["quality_warnings"][i]
                    entry.images.append(ImageEntry(name, columns["view"][i], path, warnings))
                rows = list(rows_of_group(stage_range, groups, predicted, g))
                _fill(entry, rows, run.annotations, held_out, maps)
                yield entry


def _fill(entry, rows, annotations, held_out, maps):
    """Add the terms: `rows` are the `flyannot.steps.predictions_table.Prediction`s of the group."""
    curated = annotations and annotations.terms_of(entry.gene, entry.stage_range, entry.fbgn)
    entry.annotated = curated is not None
    terms = [_term_entry(row, curated, held_out.get((entry.name, row.term))) for row in rows]
    terms += [TermEntry(term, UNLEARNED) for term in sorted((curated or set()) - {r.term for r in rows})]
    terms.sort(key=lambda one: (one.status == UNLEARNED, one.status == ABSENT, -(one.probability or 0)))
    entry.terms += terms
    shown = entry.with_status(AGREED, MISSED, NEW, PREDICTED)
    drawn = maps.maps_of(entry, {row.term: row.decision_value for row in rows if row.term in shown})
    for one in terms:
        one.map = drawn.get(one.term)


def _term_entry(row, curated, held_out):
    if held_out is None and row.answer == UNDETERMINED:
        return TermEntry(row.term, UNDETERMINED, row.probability, False, row.probability)
    yes, probability = held_out or (row.answer == "yes", row.probability)
    status = _OF_ANSWERS[curated is not None, row.term in (curated or ()), yes]
    return TermEntry(row.term, status, probability, held_out is not None, row.probability)


def _held_out(evaluated):
    """What cross-validation predicted: (group, term) -> (yes, probability)."""
    if not evaluated or evaluated["probability"] is None or evaluated["fold"] is None:
        return {}
    outcome = outcome_of(evaluated)
    return {
        (group, term): (bool(outcome.yes[i, j]), float(outcome.probabilities[i, j]))
        for i, group in enumerate(evaluated["group"])
        for j, term in enumerate(evaluated["term"])
    }


def groups_section(stages, *, held_out, why_no_maps):
    """The section of the groups without its list, which the page's script fills.

    Parameters
    ----------
    stages : list of (number, stage range)
    held_out : whether there are values of cross-validation
    why_no_maps : "" or why there are none
    """
    return render("groups.html", stages=stages, held_out=held_out, why_no_maps=why_no_maps)
