"""The answers about every group beside the curated terms, and what a curator should look at first.

`Queue` marks two kinds of terms.  To look at first are three terms of each group of which no curator has said
anything, those that are expected to teach the model most.  To check are curated terms, given or left out,
that models which had not seen the gene contradict most strongly: the first 5 %.  A term with a correction has
no mark.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from flyannot.report.maps import MapMaker
from flyannot.report.nearest import Nearest
from flyannot.terms.answers import NO, UNDETERMINED, YES, Answer, answers_of_group
from flyannot.terms.group_outcomes import is_cross_validated, outcomes_of_groups

AGREED, MISSED, NEW, PREDICTED = "agreed", "missed", "new", "predicted"
UNLEARNED, ABSENT = "unlearned", "absent"
_STATUSES = {  # by the answer, and by what the curators say
    (YES, YES): AGREED,
    (NO, YES): MISSED,
    (YES, NO): NEW,
    (YES, ""): PREDICTED,
    ("", YES): UNLEARNED,
}
LOOK, CHECK = "look", "check"
TERMS_PER_REVIEW = 3  # of one group, looked at in one go
PART_TO_CHECK = 0.05  # of the curated terms, and of those left out


@dataclass(kw_only=True)
class ShownAnswer(Answer):
    """An `Answer` as the page shows it.

    curated : as the table of the data set and its corrections say now
    reviewed : whether a correction is of it
    queue, worth : LOOK, CHECK or "", and how much it is worth there
    map : as `MapMaker.maps_of` returns, or None
    """

    reviewed: bool = False
    queue: str = ""
    worth: float = 0.0
    map: dict | None = None

    @property
    def status(self):
        """The answer compared with the curators.

        agreed is given by the curators and predicted, missed is only given, and new is only predicted.
        predicted has no curated answer, unlearned is given but not known to the model, and absent is
        answered no.  Otherwise it is undetermined.
        """
        if self.answer == UNDETERMINED:
            return UNDETERMINED
        return _STATUSES.get((self.answer, self.curated), ABSENT)

    @property
    def margin(self):
        """The distance of the probability from the threshold; None without an answer."""
        return None if self.probability is None else abs(self.probability - self.threshold)

    @property
    def is_minor(self):
        """Whether the page folds it away: no, or a term of which nothing was learned, and not curated."""
        says_little = self.status == ABSENT or (self.says_nothing and self.curated != YES)
        return says_little and not self.queue

    @property
    def says_nothing(self):
        """Whether nothing was learned of the term: every group has the same probability."""
        return self.status == UNDETERMINED and self.margin == 0

    @property
    def texts(self):
        """Probability and threshold in words, with as many digits as tell them apart."""
        if self.margin == 0:
            return f"{self.probability:.2f}", "at its threshold"
        for digits in (2, 3, 4, 6):
            texts = f"{self.probability:.{digits}f}", f"{self.threshold:.{digits}f}"
            if texts[0] != texts[1]:
                break
        return texts[0], f"yes above {texts[1]}"


@dataclass
class ImageEntry:
    """One image of a group; its path is None if it is unknown."""

    name: str
    view: str = ""
    path: Path | None = None
    quality_warnings: str = ""


@dataclass
class GroupEntry:
    """All images of one gene in one stage range, its terms, the most probable first, and its look-alikes.

    annotated : whether curators said of its terms; is_partly : of some only, and of others nothing is known
    terms : list of ShownAnswer
    typical : the name of the image that is most like its pattern, or ""
    place : where it lies on the map of its stage range, two numbers from 0 to 1; None without a map
    unlike : if nothing is predicted, how far it is from those to look at before it (`Nearest.unlike`), 0
        if it is annotated; None if something is predicted
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


def group_entries(run, shown, queue):
    """Yield the GroupEntry of every group of the page, stage range by stage range, by name.

    Parameters
    ----------
    run : Run
    shown : dict from stage range to what `Run.shown_groups` returns
    queue : Queue
    """
    for stage_range, parts in shown.items():
        maps, nearest = MapMaker(run, stage_range), Nearest(run, stage_range)
        places, unlike = nearest.places(), nearest.unlike()
        members = [(part, g) for part in parts for g in range(len(part[1]))]
        for (columns, groups, predicted), g in sorted(members, key=lambda one: one[0][1].name[one[1]]):
            entry = GroupEntry(stage_range, groups.name[g], groups.gene[g], groups.fbgn[g])
            for i in groups.rows[g]:
                name = columns["image"][i]
                path, warnings = run.pictures.paths.get(name), columns["quality_warnings"][i]
                entry.images.append(ImageEntry(name, columns["view"][i], path, warnings))
            answers = list(answers_of_group(stage_range, groups, predicted, g)) if predicted else []
            _add_terms(entry, answers, run.annotations)
            queue.mark(entry.terms)
            entry.terms.sort(key=lambda t: (t.status == UNLEARNED, t.is_minor, -(t.probability or 0)))
            explained = [one for one in entry.terms if one.status in (AGREED, MISSED, NEW, PREDICTED)]
            drawn = maps.maps_of(entry, {one.term: one.decision_value for one in explained})
            for one in entry.terms:
                one.map = drawn.get(one.term)
            entry.nearest, entry.typical = nearest.of_group(entry), nearest.typical_image(entry)
            entry.place = places.get(entry.name)
            entry.unlike = unlike.get(entry.name, 0.0) if predicted is None else None
            yield entry


def _add_terms(entry, answers, annotations):
    """Add the answers about a group, and the curated terms that no model knows."""
    gene = entry.gene, entry.stage_range
    curated = annotations.terms_of(*gene, entry.fbgn)
    unknown = annotations.unknown_terms(*gene, [one.term for one in answers], entry.fbgn)
    entry.annotated, entry.is_partly = curated is not None, annotations.is_partly_known(*gene, entry.fbgn)
    for answer in answers:
        is_known = entry.annotated and answer.term not in unknown
        said = (YES if answer.term in curated else NO) if is_known else ""
        entry.terms.append(ShownAnswer(**vars(answer) | {"curated": said}))
    unlearned = (curated or set()) - {one.term for one in answers}
    entry.terms += [ShownAnswer(term=term, curated=YES) for term in sorted(unlearned)]
    reviewed = annotations.reviewed_terms(*gene, entry.fbgn)
    for one in entry.terms:
        one.reviewed = one.term in reviewed


def information_of_verdict(probability, n_genes):
    """Return how much a verdict is expected to teach: the variance of the answer over the genes with the
    term, p (1 - p) / n, of arrays p and n of one shape."""
    return probability * (1 - probability) / np.maximum(n_genes, 1)


def doubt_of_answer(probability, curated, yes):
    """Return how likely the curators are wrong, by models that had not seen the gene: the probability of
    the opposite, and 0 if the answer is theirs.  Arrays of one shape."""
    return np.where(curated == yes, 0.0, np.where(curated, 1 - probability, probability))


class Queue:
    """Marks what a curator should look at first, and curated terms to check."""

    def __init__(self, scores):
        """Take the scores of a run, or None."""
        doubts = []
        for evaluated in ((scores or {}).get("evaluated") or {}).values():
            if is_cross_validated(evaluated):
                outcome = outcomes_of_groups(evaluated)
                doubt = doubt_of_answer(outcome.probabilities, outcome.truth, outcome.yes)
                doubts.append(doubt[outcome.observed])
        self._least = float(np.quantile(np.concatenate(doubts), 1 - PART_TO_CHECK)) if doubts else np.inf

    def mark(self, answers):
        """Set `queue` and `worth` of the ShownAnswers about one group."""
        new = [one for one in answers if not one.reviewed and one.answer]
        for one in new:
            if one.held_out == YES and one.status in (MISSED, NEW):
                doubt = float(doubt_of_answer(one.probability, one.curated == YES, one.answer == YES))
                if doubt >= self._least:
                    one.queue, one.worth = CHECK, doubt
        asked = [one for one in new if not one.curated and not one.says_nothing and one.n_genes]
        worth = [float(information_of_verdict(one.probability, one.n_genes)) for one in asked]
        for i in np.argsort(-np.array(worth), kind="stable")[:TERMS_PER_REVIEW]:
            asked[i].queue, asked[i].worth = LOOK, worth[i]
