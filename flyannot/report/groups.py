"""The groups on the report page: model answers beside curated terms, and terms to review first.

A group is all images of one gene in one stage range. `ReviewSelector` marks terms of two kinds. In each group
it marks the three terms without a curator's answer whose verdicts should improve the model most. It also
marks the 5% of curated answers that cross-validation contradicts most strongly. Terms with a correction are
not marked.
"""

from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from flyannot.files.hdf5.pictures import ShownPicture
from flyannot.jobs.executor import map_ordered
from flyannot.report.maps import ContributionMapper
from flyannot.report.nearest import PatternIndex
from flyannot.terms.answers import NO, UNDETERMINED, YES, Answer, group_answers
from flyannot.terms.group_outcomes import is_cross_validated, outcomes_from_json

AGREED, MISSED, NEW, PREDICTED = "agreed", "missed", "new", "predicted"
UNLEARNED, ABSENT = "unlearned", "absent"
_STATUSES = {  # by the answer and by the curators
    (YES, YES): AGREED,
    (NO, YES): MISSED,
    (YES, NO): NEW,
    (YES, ""): PREDICTED,
    ("", YES): UNLEARNED,
}
LOOK, CHECK = "look", "check"
TERMS_PER_REVIEW = 3  # in one group, reviewed at once
PART_TO_CHECK = 0.05  # of the terms that curators gave or left out


@dataclass(kw_only=True)
class DisplayedAnswer(Answer):
    """The model's answer to one term of one group, with what the page shows beside it.

    An `Answer` with these additional fields. Its `curated` includes the corrections.

    reviewed : bool, True if a correction exists for the term
    queue : str, the review list that contains the answer: LOOK, CHECK, or "" for none
    worth : float, priority in that list, largest first
        It is the expected information (LOOK) or `curation_error_probability` (CHECK).
    map : dict, map of contributions as `ContributionMapper.draw_maps` returns it; None if there is no map
    """

    reviewed: bool = False
    queue: str = ""
    worth: float = 0.0
    map: dict | None = None

    @cached_property
    def status(self):
        """The answer compared with the curators.

        - agreed: the curators gave the term, and the model answers yes
        - missed: the curators gave the term, and the model answers no
        - new: the curators did not give the term, and the model answers yes
        - predicted: the curators did not answer, and the model answers yes
        - unlearned: the curators gave the term, and the model does not know it
        - absent: the model answers no, and the curators did not give the term
        - undetermined: the model does not answer
        """
        if self.answer == UNDETERMINED:
            return UNDETERMINED
        return _STATUSES.get((self.answer, self.curated), ABSENT)

    @property
    def margin(self):
        """The absolute difference of probability and threshold; None if the model gives no probability."""
        return None if self.probability is None else abs(self.probability - self.threshold)

    @property
    def is_minor(self):
        """True if the page hides the term at first.

        This is so if the term is absent, or if the model learned nothing about it and curators did not give
        it. A term in a review list is never hidden.
        """
        says_little = self.status == ABSENT or (self.says_nothing and self.curated != YES)
        return says_little and not self.queue

    @property
    def says_nothing(self):
        """True if the model learned nothing about the term: every group has the same probability."""
        return self.status == UNDETERMINED and self.margin == 0

    @property
    def texts(self):
        """The probability and the threshold as two texts, with enough digits that they differ."""
        if self.margin == 0:
            return f"{self.probability:.2f}", "at its threshold"
        for digits in (2, 3, 4, 6):
            texts = f"{self.probability:.{digits}f}", f"{self.threshold:.{digits}f}"
            if texts[0] != texts[1]:
                break
        return texts[0], f"yes above {texts[1]}"


@dataclass
class ImageEntry:
    """One image of a group, as the page shows it.

    name : str
    view : str, lateral, dorsal or ventral; "" if unknown
    shown : ShownPicture; None if it is missing
    quality_warnings : tuple of QualityWarning
    """

    name: str
    view: str = ""
    shown: ShownPicture | None = None
    quality_warnings: tuple = ()


@dataclass
class GroupEntry:
    """All images of one gene in one stage range, with the terms and similar groups that the page shows.

    annotated : bool, True if curators have given terms to the group
    images : list of ImageEntry
    terms : list of DisplayedAnswer, the most probable first
    nearest, alike : as `PatternIndex.find` returns
    typical : str, name of the image that is most similar to the average pattern of the group; "" if unknown
    place : pair of float in [0, 1], position on the map of patterns of the stage range; None without a map
    is_partly : bool, True if curators have answered some terms only
    unusual : float, 1 minus the similarity to the most similar group; without features the largest
        unlikeness of its images; None if both are unknown
    unlike : float, distance from the groups that come before it in the order of review, 0 if it is
        annotated;
        None if there are predictions for it
    """

    stage_range: str
    name: str
    gene: str = ""
    fbgn: str = ""
    annotated: bool = False
    images: list = field(default_factory=list)
    terms: list = field(default_factory=list)
    nearest: list = field(default_factory=list)
    alike: list = field(default_factory=list)
    typical: str = ""
    place: tuple | None = None
    is_partly: bool = False
    unusual: float | None = None
    unlike: float | None = None


class RunGroups:
    """The groups of the page of a run, sorted by stage range and then by name; entries are built on demand.

    Parameters
    ----------
    run : Run
    shown : dict from stage range to the list that `Run.shown_groups` returns
    queue : ReviewSelector, which marks the terms to review
    """

    def __init__(self, run, shown, queue):
        self._annotations = run.annotations
        self._pictures = run.pictures
        self._queue = queue
        self._indexes = dict(zip(shown, map_ordered(partial(PatternIndex, run), shown)))
        self._maps = {stage_range: ContributionMapper(run, stage_range) for stage_range in shown}
        self._places = dict(zip(shown, map_ordered(PatternIndex.places, self._indexes.values())))
        self._distances = {s: index.review_distances() for s, index in self._indexes.items()}
        self._members = []
        for stage_range, parts in shown.items():
            members = [(stage_range, part, g) for part in parts for g in range(len(part[1]))]
            self._members += sorted(members, key=lambda one: one[1][1].name[one[2]])

    def __len__(self):
        return len(self._members)

    def __getitem__(self, number):
        """Build the GroupEntry of a group from its index on the page."""
        stage_range, (columns, groups, predicted), g = self._members[number]
        similar = self._indexes[stage_range]
        entry = GroupEntry(stage_range, groups.name[g], groups.gene[g], groups.fbgn[g])
        for i in groups.rows[g]:
            shown = self._pictures.find(stage_range, columns, i)
            name, view, warnings = (columns[n][i] for n in ("image", "view", "quality_warnings"))
            entry.images.append(ImageEntry(name, view, shown, warnings))
        answers = list(group_answers(stage_range, groups, predicted, g)) if predicted else []
        _add_terms(entry, answers, self._annotations)
        self._queue.mark(entry.terms)
        entry.terms.sort(key=lambda t: (t.status == UNLEARNED, t.is_minor, -(t.probability or 0)))
        explained = [one for one in entry.terms if one.status in (AGREED, MISSED, NEW, PREDICTED)]
        drawn = self._maps[stage_range].draw_maps(
            entry.images, {one.term: one.decision_value for one in explained}
        )
        for one in entry.terms:
            one.map = drawn.get(one.term)
        entry.nearest, entry.alike = similar.find(entry)
        entry.unusual = similar.unusualness(entry, predicted.known_unlikeness(g) if predicted else None)
        entry.typical = similar.typical_image(entry)
        entry.place = self._places[stage_range].get(entry.name)
        if predicted is None:
            entry.unlike = self._distances[stage_range].get(entry.name, 0.0)
        return entry


def _add_terms(entry, answers, annotations):
    """Fill `entry.terms` with the model's answers, and with curated terms that the model does not know.

    Parameters
    ----------
    entry : GroupEntry, changed in place
    answers : answers of the model about this group
    annotations : Annotations, the curated terms
    """
    gene = entry.gene, entry.stage_range
    curated = annotations.terms_of(*gene, entry.fbgn)
    unknown = annotations.unknown_terms(*gene, [one.term for one in answers], entry.fbgn)
    reviewed = annotations.reviewed_terms(*gene, entry.fbgn)
    entry.annotated = curated is not None
    entry.is_partly = annotations.is_partly_known(*gene, entry.fbgn)
    for answer in answers:
        is_known = entry.annotated and answer.term not in unknown
        said = (YES if answer.term in curated else NO) if is_known else ""
        entry.terms.append(DisplayedAnswer(**vars(answer) | {"curated": said}))
    unlearned = (curated or set()) - {one.term for one in answers}
    entry.terms += [DisplayedAnswer(term=term, curated=YES) for term in sorted(unlearned)]
    for one in entry.terms:
        one.reviewed = one.term in reviewed


def expected_information(probability, n_genes):
    """Estimate how much a curator's verdict on a term would improve the model: p (1 - p) / n.

    p is `probability`; p (1 - p) is the variance of a yes-or-no answer. n is `n_genes`, the number of genes
    with the term in training, at least 1. Both are arrays of one shape, and so is the result.
    """
    return probability * (1 - probability) / np.maximum(n_genes, 1)


def curation_error_probability(probability, curated, yes):
    """Return the probability that the curators are wrong; 0 where the model agrees with them.

    Parameters
    ----------
    probability : float array, the probability of the term by models that were not trained on the gene
    curated : bool array of the same shape, True where curators gave the term
    yes : bool array of the same shape, True where the model answers yes
    """
    return np.where(curated == yes, 0.0, np.where(curated, 1 - probability, probability))


class ReviewSelector:
    """The rule that chooses terms for review: unanswered terms to look at first, and curated terms to check.

    Parameters
    ----------
    scores : dict or None
        Scores of the run. Cross-validated outcomes in it determine how large a doubt must be for a check.
    """

    def __init__(self, scores):
        doubts = []
        for evaluated in ((scores or {}).get("evaluated") or {}).values():
            if is_cross_validated(evaluated):
                outcome = outcomes_from_json(evaluated)
                doubt = curation_error_probability(outcome.probabilities, outcome.truth, outcome.yes)
                doubts.append(doubt[outcome.observed])
        self._least = float(np.quantile(np.concatenate(doubts), 1 - PART_TO_CHECK)) if doubts else np.inf

    def mark(self, answers):
        """Set `queue` and `worth` of those DisplayedAnswers in `answers` that a curator should review.

        `answers` is a list of all DisplayedAnswers about one group, changed in place.
        """
        new = [one for one in answers if not one.reviewed and one.answer]
        for one in new:
            if one.held_out == YES and one.status in (MISSED, NEW):
                doubt = float(
                    curation_error_probability(one.probability, one.curated == YES, one.answer == YES)
                )
                if doubt >= self._least:
                    one.queue = CHECK
                    one.worth = doubt
        asked = [one for one in new if not one.curated and not one.says_nothing and one.n_genes]
        worth = [float(expected_information(one.probability, one.n_genes)) for one in asked]
        for i in np.argsort(-np.array(worth), kind="stable")[:TERMS_PER_REVIEW]:
            asked[i].queue = LOOK
            asked[i].worth = worth[i]
