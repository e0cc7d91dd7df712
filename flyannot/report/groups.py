"""The groups on the report page: model answers beside curated terms, and terms to review first.

A group is all images of one gene in one stage range. `ReviewSelector` marks terms of two kinds. In each group
it marks the three terms without a curator's answer whose verdicts should improve the model most, and three
that are drawn at random, which test the model. It also marks the 5% of curated answers that cross-validation
contradicts most strongly. Terms with a correction are not marked.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from flyannot.files.digest import json_digest
from flyannot.files.hdf5.pictures import ShownPicture
from flyannot.files.hdf5.reading import keep_files_open
from flyannot.jobs.executor import map_ordered
from flyannot.report.maps import ContributionMapper
from flyannot.report.nearest import PatternIndex
from flyannot.terms.answers import NO, UNDETERMINED, YES, Answer
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
DRAWN_TERMS = 3  # in one group, at random: verdicts on chosen terms alone cannot test a model
PART_TO_CHECK = 0.05  # of the terms that curators gave or left out


class ReviewMark(NamedTuple):
    """Why a curator should review a term.

    queue : str, the review list that contains the term: LOOK, CHECK, or "" for none
    worth : float, priority in that list, largest first
        It is the expected information (LOOK) or `curation_error_probability` (CHECK).
    chance : str, the probability with which the term was drawn at random; "" if it was chosen
    """

    queue: str = ""
    worth: float = 0.0
    chance: str = ""


@dataclass(frozen=True)
class DisplayedAnswer:
    """The model's answer to one term of one group, with what the page shows beside it.

    answer : Answer, whose `curated` includes the corrections
    review : ReviewMark
    map : dict, map of contributions as `ContributionMapper.draw_maps` returns it; None if there is no map
    """

    answer: Answer
    review: ReviewMark = ReviewMark()
    map: dict | None = None

    @property
    def term(self):
        """The name of the term."""
        return self.answer.term

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
        if self.answer.answer == UNDETERMINED:
            return UNDETERMINED
        return _STATUSES.get((self.answer.answer, self.answer.curated), ABSENT)

    @property
    def margin(self):
        """The absolute difference of probability and threshold; None if the model gives no probability."""
        if self.answer.probability is None:
            return None
        return abs(self.answer.probability - self.answer.threshold)

    @property
    def is_minor(self):
        """True if the page hides the term at first.

        This is so if the term is absent, or if the model learned nothing about it and curators did not give
        it. A term in a review list is never hidden.
        """
        says_little = self.status == ABSENT or (self.says_nothing and self.answer.curated != YES)
        return says_little and not self.review.queue

    @property
    def says_nothing(self):
        """True if the model learned nothing about the term: every group has the same probability."""
        return self.status == UNDETERMINED and self.margin == 0

    @cached_property
    def texts(self):
        """The probability and the threshold as two texts, with enough digits that they differ."""
        probability, threshold = self.answer.probability, self.answer.threshold
        if self.margin == 0:
            return f"{probability:.2f}", "at its threshold"
        for digits in (2, 3, 4, 6):
            texts = f"{probability:.{digits}f}", f"{threshold:.{digits}f}"
            if texts[0] != texts[1]:
                break
        return texts[0], f"yes above {texts[1]}"


@dataclass(frozen=True)
class ImageEntry:
    """One image of a group, as the page shows it.

    name : str
    view : str, lateral, dorsal or ventral; "" if unknown
    shown : ShownPicture; None if it is missing
    quality_warnings : tuple of QualityWarning
    digest : str, digest of its picture file; "" if unknown
    """

    name: str
    view: str = ""
    shown: ShownPicture | None = None
    quality_warnings: tuple = ()
    digest: str = ""


@dataclass(frozen=True)
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
    unlike : float, distance from the groups that come before it in the order of review, 0 if it is annotated;
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
    """The groups of the page of a `Run`, by stage range and then by name; entries are built on demand."""

    def __init__(self, run):
        self._image_files = run.image_files
        self._annotations = run.annotations
        self._pictures = run.pictures
        self._selector = ReviewSelector(run.scores)
        ranges = run.stage_ranges
        self._indexes = dict(zip(ranges, map_ordered(partial(PatternIndex, run), ranges)))
        self._maps = {s: ContributionMapper(run, s) for s in ranges}
        members = [(shown, g) for shown in run.shown_groups for g in range(len(shown.groups))]
        self._members = sorted(
            members, key=lambda one: (ranges.index(one[0].stage_range), one[0].groups.name[one[1]])
        )

    def __len__(self):
        return len(self._members)

    def why_no_maps(self, stage_range):
        """Return the reason why no maps can be drawn in a stage range, or "" if they can."""
        return self._maps[stage_range].why_not

    def __getitem__(self, number):
        """Build the GroupEntry of a group from its index on the page."""
        shown, g = self._members[number]
        groups, predicted, s = shown.groups, shown.predicted, shown.stage_range
        name, gene, fbgn = groups.name[g], groups.gene[g], groups.fbgn[g]
        with keep_files_open(self._image_files):
            images = [self._image_entry(shown, i) for i in groups.rows[g]]
            terms = self._list_terms(shown, g, images)
        is_annotated = self._annotations.terms_of(gene, s, fbgn) is not None
        given = [one.term for one in terms if one.answer.curated == YES]
        own = set(given if is_annotated else [one.term for one in terms if one.status == PREDICTED])
        index = self._indexes[s]
        nearest, alike = index.find(name, own)
        unlikeness = predicted.known_unlikeness(g) if predicted else None
        return GroupEntry(
            s,
            name,
            gene,
            fbgn,
            annotated=is_annotated,
            images=images,
            terms=terms,
            nearest=nearest,
            alike=alike,
            typical=index.typical_image(name),
            place=index.places.get(name),
            is_partly=(self._annotations.gene_id(gene, fbgn), s) in self._annotations.known_only,
            unusual=index.unusualness(name, nearest, unlikeness),
            unlike=None if predicted else index.review_distances.get(name, 0.0),
        )

    def _image_entry(self, shown, i):
        """Build the ImageEntry of the i-th image of some ShownGroups."""
        picture = self._pictures.find(shown.stage_range, shown.columns, i)
        name, view, *rest = (
            shown.columns[n][i] for n in ("image", "view", "quality_warnings", "picture_digest")
        )
        return ImageEntry(name, view, picture, *rest)

    def _list_terms(self, shown, g, images):
        """Return the DisplayedAnswers about one group: of the model, and of curators on unknown terms.

        Parameters
        ----------
        shown : ShownGroups
        g : int, the number of the group
        images : list of its ImageEntry
        """
        gene = shown.groups.gene[g], shown.stage_range
        fbgn = shown.groups.fbgn[g]
        curated = self._annotations.terms_of(*gene, fbgn)
        answers = shown.answers(g)
        learned = [answer.term for answer in answers]
        unknown = learned if curated is None else self._annotations.unknown_terms(*gene, learned, fbgn)
        said = {term: YES if term in curated else NO for term in learned if term not in unknown}
        answers = [replace(answer, curated=said.get(answer.term, "")) for answer in answers]
        answers += [Answer(term=term, curated=YES) for term in sorted((curated or set()) - {*learned})]
        plain = list(map(DisplayedAnswer, answers))
        gene_id = self._annotations.gene_id(shown.groups.gene[g], fbgn)
        marks = self._selector.choose(plain, self._annotations.reviewed.get((gene_id, shown.stage_range), ()))
        mapped = [one.answer for one in plain if one.status in (AGREED, MISSED, NEW, PREDICTED)]
        values = {answer.term: answer.decision_value for answer in mapped}
        maps = self._maps[shown.stage_range].draw_maps(images, values)
        terms = [DisplayedAnswer(a, marks.get(a.term, ReviewMark()), maps.get(a.term)) for a in answers]
        return sorted(terms, key=lambda t: (t.status == UNLEARNED, t.is_minor, -(t.answer.probability or 0)))


def expected_information(probability, n_genes):
    """Estimate how much a curator's verdict on a term would improve the model: p (1 - p) / n.

    p is `probability`; p (1 - p) is the variance of a yes-or-no answer. n is `n_genes`, the number of genes
    with the term in training, at least 1. Both are arrays of one shape, and so is the result.
    """
    return probability * (1 - probability) / np.maximum(n_genes, 1)


def draw_terms(answers):
    """Draw DRAWN_TERMS of the terms of a group at random, the same each time; return term -> chance as text.

    answers : list of the Answers of the model about the group, not empty
    """
    seed = int(json_digest([answers[0].group, answers[0].stage_range])[:12], 16)
    n = min(DRAWN_TERMS, len(answers))
    drawn = np.random.default_rng(seed).choice(sorted(answer.term for answer in answers), n, replace=False)
    return dict.fromkeys(drawn.tolist(), f"{n / len(answers):.4f}")


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

    def choose(self, terms, reviewed):
        """Choose the terms of one group that a curator should review.

        Parameters
        ----------
        terms : list of all DisplayedAnswers about the group
        reviewed : set of its terms that have a correction

        Returns
        -------
        dict, term -> ReviewMark
        """
        marks = {}
        new = [one for one in terms if one.term not in reviewed and one.answer.answer]
        for one in new:
            is_missed, is_new = one.status == MISSED, one.status == NEW
            if one.answer.held_out == YES and (is_missed or is_new):
                doubt = float(curation_error_probability(one.answer.probability, is_missed, is_new))
                if doubt >= self._least:
                    marks[one.term] = ReviewMark(CHECK, doubt)
        unanswered = [one.answer for one in new if not (one.answer.curated or one.says_nothing)]
        asked = [answer for answer in unanswered if answer.n_genes]
        values = np.array([(answer.probability, answer.n_genes) for answer in asked]).reshape(-1, 2)
        worth = expected_information(*values.T)
        chances = draw_terms([one.answer for one in terms if one.answer.n_genes]) if asked else {}
        chosen = np.argsort(-worth, kind="stable")[:TERMS_PER_REVIEW].tolist()
        for i, answer in enumerate(asked):
            if i in chosen or answer.term in chances:
                marks[answer.term] = ReviewMark(LOOK, float(worth[i]), chances.get(answer.term, ""))
        return marks
