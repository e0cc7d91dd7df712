"""The predicted terms of every group beside the curated ones, group by group."""

from dataclasses import dataclass, field
from pathlib import Path

from flyannot.classifiers.answers import UNDETERMINED, YES, predictions_of_group
from flyannot.report.maps import MapMaker, TermMap
from flyannot.report.nearest import Nearest

AGREED, MISSED, NEW, PREDICTED = "agreed", "missed", "new", "predicted"
UNLEARNED, ABSENT = "unlearned", "absent"
STATUSES = (AGREED, MISSED, NEW, PREDICTED, UNLEARNED, UNDETERMINED)  # in the order of the page
_OF_ANSWERS = {  # (is the gene annotated, with this term, is the answer yes)
    (False, False, True): PREDICTED,
    (False, False, False): ABSENT,
    (True, True, True): AGREED,
    (True, True, False): MISSED,
    (True, False, True): NEW,
    (True, False, False): ABSENT,
}
_OF_PREDICTIONS = ("term", "probability", "threshold", "n_genes", "auc", "precision", "caution", "change")


@dataclass
class TermEntry:
    """One term of one group.

    status : agreed (curated and predicted), missed (curated only), new (predicted, the gene is annotated
    without it), predicted (the gene is not annotated), unlearned (curated, and no model knows it),
    undetermined, or absent
    curated : whether the curators gave the term; known : whether they gave it or left it out; reviewed :
    whether a correction is of it
    probability : of the answer, by a model that had not learned from the gene if `held_out`; None if
        unlearned
    final : probability by the final model, or None
    precision : how many of the yes answers to held-out genes were right; None where it is untested
    caution : why the answer is a guess, or ""
    change : what became of the answer since the curated terms changed, such as "no to yes", or ""
    threshold : the probability above which that model answers yes
    n_genes : that the term was learned from
    auc, auc_interval : of models that had not seen the gene, and (low, high); None where it is untested
    queue, worth : the list of `flyannot.report.queue` that it is on, or "", and how much it is worth there
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
    precision: float | None = None
    caution: str = ""
    change: str = ""
    curated: bool = False
    known: bool = False
    reviewed: bool = False
    queue: str = ""
    worth: float = 0.0
    map: TermMap | None = None

    @property
    def margin(self):
        """How far the probability is from the threshold; None where there is none."""
        if self.probability is None or self.threshold is None:
            return None
        return abs(self.probability - self.threshold)

    @property
    def is_minor(self):
        """Whether the page folds it away: no, or a term of which nothing was learned, and not curated."""
        if self.queue:
            return False
        return self.status == ABSENT or (self.says_nothing and not self.curated)

    @property
    def is_contradicted(self):
        """Whether the model says the opposite of the curators."""
        return self.status in (MISSED, NEW)

    @property
    def says_nothing(self):
        """Whether nothing was learned of the term: every group has the same probability."""
        return self.status == UNDETERMINED and self.margin == 0

    @property
    def texts(self):
        """Probability and threshold in words, with as many digits as tell them apart."""
        if self.threshold is None:
            return f"{self.probability:.2f}", ""
        if self.margin == 0:
            return f"{self.probability:.2f}", "at its threshold"
        for digits in (2, 3, 4, 6):
            texts = f"{self.probability:.{digits}f}", f"{self.threshold:.{digits}f}"
            if texts[0] != texts[1]:
                break
        return texts[0], f"yes above {texts[1]}"


@dataclass
class ImageEntry:
    """One image of a group; path None where it is not known."""

    name: str
    view: str = ""
    path: Path | None = None
    quality_warnings: str = ""


@dataclass
class GroupEntry:
    """All images of one gene in one stage range, its terms, the most probable first, and what looks alike.

    annotated : whether curators said of its terms; is_partly : of some only, and of others nothing is known
    typical : the name of the image that is most like its pattern, or ""
    place : where it lies on the map of its stage range, two numbers from 0 to 1; None without a map
    unlike : where nothing is predicted, how far it is from those to look at before it (`Nearest.unlike`), 0
    if it is annotated; None where something is predicted
    """

    stage_range: str
    name: str
    gene: str = ""
    fbgn: str = ""
    annotated: bool = False
    images: list = field(default_factory=list)
    terms: list = field(default_factory=list)
    nearest: list = field(default_factory=list)
    typical: str = ""
    place: tuple | None = None
    is_partly: bool = False
    unlike: float | None = None

    def with_status(self, *statuses):
        """The names of the terms with one of these statuses."""
        return [term.term for term in self.terms if term.status in statuses]


def group_entries(run, stage_ranges, queue):
    """Yield the GroupEntry of every group of the page, stage range by stage range, by name.

    `run` is a `flyannot.report.run_folder.Run`, `queue` a `flyannot.report.queue.Queue`.
    """
    for stage_range in stage_ranges:
        maps, nearest = MapMaker(run, stage_range), Nearest(run, stage_range)
        places, unlike = nearest.places(), nearest.unlike()
        for entry, values in entries_of_terms(run, stage_range, queue):
            shown = entry.with_status(AGREED, MISSED, NEW, PREDICTED)
            drawn = maps.maps_of(entry, {term: values[term] for term in shown})
            for term in entry.terms:
                term.map = drawn.get(term.term)
            entry.nearest, entry.typical = nearest.of_group(entry), nearest.typical_image(entry)
            entry.place = places.get(entry.name)
            if entry.unlike is not None:
                entry.unlike = unlike.get(entry.name, 0.0)
            yield entry


def entries_of_terms(run, stage_range, queue):
    """Yield every group of one stage range, by name, with neither maps nor what looks alike, as a GroupEntry
    and a dict, term -> decision value."""
    shown = [(part, g) for part in run.shown_groups(stage_range) for g in range(len(part[1]))]
    for (columns, groups, predicted), g in sorted(shown, key=lambda one: one[0][1].name[one[1]]):
        entry = GroupEntry(stage_range, groups.name[g], groups.gene[g], groups.fbgn[g])
        entry.unlike = 0.0 if predicted is None else None
        for i in groups.rows[g]:
            name = columns["image"][i]
            path, warnings = run.pictures.paths.get(name), columns["quality_warnings"][i]
            entry.images.append(ImageEntry(name, columns["view"][i], path, warnings))
        rows = list(predictions_of_group(stage_range, groups, predicted, g)) if predicted else []
        _add_terms(entry, rows, run.annotations)
        queue.mark(entry.terms)
        entry.terms.sort(key=lambda t: (t.status == UNLEARNED, t.is_minor, -(t.probability or 0)))
        yield entry, {row.term: row.decision_value for row in rows}


def _add_terms(entry, rows, annotations):
    """`rows` are the group's Predictions."""
    curated, unknown, reviewed = None, (), ()
    if annotations:
        gene = entry.gene, entry.stage_range
        curated = annotations.terms_of(*gene, entry.fbgn)
        reviewed = annotations.reviewed_terms(*gene, entry.fbgn)
        if curated is not None:
            unknown = annotations.unknown_terms(*gene, [row.term for row in rows], entry.fbgn)
        entry.is_partly = annotations.is_partly_known(*gene, entry.fbgn)
    entry.annotated = curated is not None
    for row in rows:
        known = None if row.term in unknown else curated
        is_curated, status = row.term in (known or ()), UNDETERMINED
        if row.answer != UNDETERMINED:
            status = _OF_ANSWERS[known is not None, is_curated, row.answer == YES]
        term = TermEntry(
            status=status,
            held_out=row.held_out == YES,
            final=row.model_probability,
            auc_interval=None if row.auc_low is None else (row.auc_low, row.auc_high),
            curated=is_curated,
            **{name: getattr(row, name) for name in _OF_PREDICTIONS},
        )
        entry.terms.append(term)
    unlearned = (curated or set()) - {row.term for row in rows}
    entry.terms += [TermEntry(term, UNLEARNED, curated=True) for term in sorted(unlearned)]
    for term in entry.terms:
        term.known = entry.annotated and term.term not in unknown
        term.reviewed = term.term in reviewed
