"""What a run says of groups and terms: answers, thresholds, probabilities, and the evidence behind each term.

All who show or write an answer read it here: the table beside predictions.h5, the exports, the page and the
queue.  A model says of every group and term what predictions.h5 holds (`Predicted`, and row by row
`Prediction`).  Where cross-validation evaluated a group for a term, scores.json holds what a model said that
had not seen the gene (`HeldOutAnswers`); the other one, which learned from the gene, would flatter.  The page
and the queue show `shown_answer`, the table and the exports the model's own.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from flyannot.classifiers.model import PER_TERM, model_of_terms
from flyannot.classifiers.scorer import Scorer
from flyannot.features.groups import Groups
from flyannot.scores.group_outcomes import outcomes_of_groups
from flyannot.store import predictions as store
from flyannot.store.model import read_classifier, read_method, read_terms
from flyannot.store.reading import read_image_columns

ANSWERS = NO, YES, UNDETERMINED = ("no", "yes", "undetermined")

_NUMBERS, _AREAS = ("decision_value", "probability", "threshold"), ("auc", "auc_low", "auc_high")


@dataclass(frozen=True)
class Predicted:
    """What a model says of the groups of one stage range; matrices are (n_groups, n_terms)."""

    terms: list
    decision_value: np.ndarray
    probability: np.ndarray
    yes: np.ndarray
    undetermined: np.ndarray  # probabilities that are too near to that at the threshold
    in_training: np.ndarray  # (n_groups,): the model learned from this gene
    probability_threshold: np.ndarray  # (n_terms,) and those below: above it the answer is yes
    n_genes: np.ndarray  # with the term, in the training set
    auc: np.ndarray  # cross-validated, with its 95 % interval; nan is untested
    auc_low: np.ndarray
    auc_high: np.ndarray
    unlikeness: np.ndarray  # (n_groups,), as `unlikeness_of_groups`
    quality_warnings: list  # (n_groups,) texts, as `quality_warnings_of_groups`

    def known_unlikeness(self, g):
        """That of one group; None is unknown."""
        return None if np.isnan(self.unlikeness[g]) else float(self.unlikeness[g])

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


def unlikeness_of_groups(of_images, groups):
    """The largest of each group's images, as `flyannot.classifiers.unlikeness.KnownImages` ranks them; nan,
    which is unknown, if it is of one."""
    return np.array([of_images[rows].max() for rows in groups.rows], float)


def write_predicted(file, stage_range, columns, groups, predicted):
    """Add one stage range to an open file: image columns, with quality warnings and unlikeness, Groups and
    Predicted."""
    named = {name: getattr(groups, name) for name in ("name", "gene", "fbgn")}
    arrays = vars(predicted) | {"term": predicted.terms, "threshold": predicted.probability_threshold}
    arrays["unlikeness"] = columns["unlikeness"]
    store.write_predictions(file, stage_range, columns, groups.of_image, named, arrays)


def read_predicted(stored, stage_range):
    """The Groups and the Predicted that `write_predicted` took."""
    of_image, named, arrays = store.read_predictions(stored, stage_range)
    ends = np.cumsum(np.bincount(of_image, minlength=len(named["name"])))
    groups = Groups(**named, rows=np.split(np.argsort(of_image, kind="stable"), ends[:-1]))
    warnings = quality_warnings_of_groups(read_image_columns(stored, stage_range), groups)
    renamed = {"terms": arrays.pop("term"), "probability_threshold": arrays.pop("threshold")}
    arrays["unlikeness"] = unlikeness_of_groups(arrays["unlikeness"], groups)
    return groups, Predicted(**renamed, **arrays, quality_warnings=warnings)


class Prediction(NamedTuple):
    """What a model says of one group and one term, and what stands behind it.

    image : named where the gene is not known
    answer : yes above the threshold, no below; undetermined at it, or as near as the margin says
    threshold : the probability above which the answer is yes
    n_genes : genes with the term that it was learned from
    auc, auc_low, auc_high : of the term, cross-validated, with its 95 % interval; None is untested
    in_training : yes if the model learned from this gene, else no
    unlikeness : the largest of the group's images; None is unknown
    quality_warnings : of the group's images, each named where there are several
    """

    gene: str
    fbgn: str
    image: str
    group: str
    stage_range: str
    term: str
    decision_value: float
    probability: float
    threshold: float
    answer: str
    n_genes: int
    auc: float | None
    auc_low: float | None
    auc_high: float | None
    in_training: str
    unlikeness: float | None
    quality_warnings: str

    def texts(self):
        """The cells of a table of text: numbers to nine digits, an AUC to four decimals, unknown empty."""
        texts: Any = {name: f"{getattr(self, name):.9g}" for name in _NUMBERS}
        parts = (*_AREAS, "unlikeness")
        texts |= {name: "" if (x := getattr(self, name)) is None else f"{x:.4f}" for name in parts}
        return self._replace(**texts)


PREDICTION_COLUMNS = Prediction._fields


def prediction_rows(stored, stage_ranges):
    """Every `Prediction` of an open file, stage range by stage range, group by group."""
    for stage_range in stage_ranges:
        groups, predicted = read_predicted(stored, stage_range)
        for g in range(len(groups)):
            yield from predictions_of_group(stage_range, groups, predicted, g)


def predictions_of_group(stage_range, groups, predicted, g):
    """The `Prediction`s of one group, the most probable first."""
    image = "" if groups.gene[g] else groups.name[g]
    for j in np.argsort(-predicted.probability[g], kind="stable").tolist():
        yield Prediction(
            groups.gene[g],
            groups.fbgn[g],
            image,
            groups.name[g],
            stage_range,
            predicted.terms[j],
            float(predicted.decision_value[g, j]),
            float(predicted.probability[g, j]),
            float(predicted.probability_threshold[j]),
            predicted.answer(g, j),
            **evidence_of_term(predicted, j),
            in_training="yes" if predicted.in_training[g] else "no",
            unlikeness=predicted.known_unlikeness(g),
            quality_warnings=predicted.quality_warnings[g],
        )


def predictions_table(stored, stage_ranges, ids=None):
    """The columns and the rows of the table as texts; rows are made as they are asked for.

    With `flyannot.dataset.ontology.IdColumns`, ids of terms and stages too.
    """
    rows = (row.texts() for row in prediction_rows(stored, stage_ranges))
    if ids:
        rows = ((*row, *ids.of(row.term, row.stage_range)) for row in rows)
    return PREDICTION_COLUMNS + (ids.COLUMNS if ids else ()), rows


def evidence_of_term(learned, j):
    """What stands behind a term of a Predicted or a Model: n_genes, auc, auc_low, auc_high; None is
    untested."""
    areas = {name: float(getattr(learned, name)[j]) for name in _AREAS}
    tested: Any = {name: None if np.isnan(area) else area for name, area in areas.items()}
    return {"n_genes": int(learned.n_genes[j])} | tested


@dataclass(frozen=True)
class LearnedTerm:
    """One term of one stage range; an AUC that is None is untested.

    threshold : the probability above which the answer is yes
    is_learned : whether any two genes get different probabilities
    """

    term: str
    threshold: float
    is_learned: bool
    n_genes: int
    auc: float | None
    auc_low: float | None
    auc_high: float | None
    n_yes: int | None = None  # groups, of predictions


def terms_of_model(terms, model):
    """A LearnedTerm for each of the terms of a `flyannot.classifiers.model.Model`."""
    thresholds = model.probability_threshold
    return [
        LearnedTerm(term, float(thresholds[j]), bool(model.slope[j] > 0), **evidence_of_term(model, j))
        for j, term in enumerate(terms)
    ]


def learned_terms(stored, stage_range):
    """The LearnedTerms of an open file of a model or of predictions."""
    if stored.kind == "model":  # its scorer, which may be large, stays in the file
        per_term = read_classifier(stored, stage_range, PER_TERM, 0)
        model = model_of_terms(read_method(stored, stage_range), Scorer(), per_term)
        return terms_of_model(read_terms(stored, stage_range), model)
    _, predicted = read_predicted(stored, stage_range)
    is_yes = predicted.yes & ~predicted.undetermined
    is_learned = (predicted.probability != predicted.probability_threshold).any(axis=0)
    return [
        LearnedTerm(
            term,
            float(predicted.probability_threshold[j]),
            bool(is_learned[j]),
            **evidence_of_term(predicted, j),
            n_yes=int(is_yes[:, j].sum()),
        )
        for j, term in enumerate(predicted.terms)
    ]


@dataclass(frozen=True)
class Answer:
    """What a run says of one group and one term, and how well it tells the term apart.

    answer : of ANSWERS; probability_threshold : the probability above which it is yes, or None
    auc, auc_interval : of the term, and (low, high); None where it is untested
    held_out : whether it is that of a model that had not seen the gene
    """

    answer: str
    probability: float
    probability_threshold: float | None
    auc: float | None
    auc_interval: tuple | None
    held_out: bool


def shown_answer(prediction, held_out):
    """The Answer to show of a group and a term: `held_out`, or where it is None that of the Prediction."""
    if held_out is not None:
        return held_out
    row, interval = prediction, None
    if row.auc_low is not None:
        interval = row.auc_low, row.auc_high
    return Answer(row.answer, row.probability, row.threshold, row.auc, interval, held_out=False)


def is_cross_validated(evaluated):
    """Whether what scores.json holds of a stage range are answers by models of the other folds."""
    return bool(evaluated["probability"]) and evaluated["fold"] is not None


class HeldOutAnswers:
    """What models that had not seen the gene answered of the groups of one stage range.

    scores : as in scores.json, or None: then there are no answers
    images : the names of those that were evaluated, or None where that is not known
    """

    def __init__(self, scores, stage_range, images=None):
        self._images, self._groups = images, {}
        evaluated = ((scores or {}).get("evaluated") or {}).get(stage_range)
        if evaluated and is_cross_validated(evaluated):
            self._outcome = outcomes_of_groups(evaluated)
            self._groups = {group: i for i, group in enumerate(evaluated["group"])}
            self._terms = {r["term"]: r for r in scores["terms"] if r["stage_range"] == stage_range}

    def of_group(self, name, images):
        """Term -> Answer, of the evaluated ones; empty for a group of other images than were evaluated."""
        i = self._groups.get(name)
        if i is None or (self._images is not None and not self._images.issuperset(images)):
            return {}
        return {term: self._answer(i, j, term) for j, term in enumerate(self._outcome.terms)}

    def _answer(self, i, j, term):
        outcome, row = self._outcome, self._terms[term]
        threshold = None if outcome.thresholds is None else float(outcome.thresholds[i, j])
        probability = float(outcome.probabilities[i, j])
        answer = YES if outcome.yes[i, j] else NO
        if probability == threshold:  # nothing was learned: every group has this probability
            answer = UNDETERMINED
        interval = row.get("auc_interval")
        return Answer(answer, probability, threshold, row.get("auc"), interval and tuple(interval), True)
