"""What a run says of groups and terms: answers, thresholds, probabilities, and the evidence behind each term.

All who show or write an answer read it here: the table beside predictions.h5, the exports, the page and the
queue.  predictions.h5 holds it of every group and term (`Predicted`, and row by row `Prediction`).  Where
cross-validation evaluated a group of a run for a term, it is the answer of a model that had not seen the gene
(`HeldOutAnswers`); the final model, which learned from the gene, would flatter: what it says stands beside.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from flyannot.classifiers.model import LEAST_GENES, PER_TERM, model_of_terms
from flyannot.classifiers.scorer import Scorer
from flyannot.features.groups import Groups
from flyannot.runtime.wording import pluralise
from flyannot.scores.group_outcomes import outcomes_of_groups
from flyannot.store import predictions as store
from flyannot.store.model import read_classifier, read_method, read_terms
from flyannot.store.reading import read_image_columns

ANSWERS = NO, YES, UNDETERMINED = ("no", "yes", "undetermined")

_NUMBERS = ("probability", "threshold", "decision_value", "model_probability")
_AREAS = ("auc", "auc_low", "auc_high")


@dataclass(frozen=True)
class Predicted:
    """What is predicted of the groups of one stage range; matrices are (n_groups, n_terms).

    decision_value, model_probability : of the model itself
    probability, answer_threshold, yes, undetermined : of the answer, which is the model's own but where
        `held_out`: there it is that of a model of cross-validation.  Yes is above the threshold;
        undetermined, too near to it
    probability_threshold : (n_terms,), of the model itself
    n_genes : (n_terms,), with the term, in the training set
    auc, auc_low, auc_high, precision : (n_terms,), cross-validated; nan is untested
    in_training : (n_groups,), whether the model learned from the gene
    unlikeness : (n_groups,), the largest of its images by `flyannot.classifiers.unlikeness.KnownImages`; nan,
        which is unknown, if it is of one
    quality_warnings : (n_groups,) texts, as `quality_warnings_of_groups`
    curated : whether curators gave the term; answer_before : that of the run before it learned with other
        curated terms, as its place in ANSWERS; both -1 where that is not known
    """

    terms: list
    decision_value: np.ndarray
    model_probability: np.ndarray
    probability: np.ndarray
    answer_threshold: np.ndarray
    yes: np.ndarray
    undetermined: np.ndarray
    held_out: np.ndarray
    in_training: np.ndarray
    probability_threshold: np.ndarray
    n_genes: np.ndarray
    auc: np.ndarray
    auc_low: np.ndarray
    auc_high: np.ndarray
    precision: np.ndarray
    unlikeness: np.ndarray
    quality_warnings: list
    curated: np.ndarray
    answer_before: np.ndarray

    def known_unlikeness(self, g):
        """That of one group; None is unknown."""
        return None if np.isnan(self.unlikeness[g]) else float(self.unlikeness[g])

    @property
    def answers(self):
        """The place in ANSWERS of every answer."""
        return np.where(self.undetermined, ANSWERS.index(UNDETERMINED), self.yes.astype(np.int8))

    def answer(self, g, j):
        """One of ANSWERS, for one group and one term."""
        return ANSWERS[2 if self.undetermined[g, j] else int(self.yes[g, j])]

    def change(self, g, j):
        """What became of the answer since the curated terms changed, such as "no to yes"; "" if nothing."""
        before, now = self.answer_before[g, j], self.answer(g, j)
        return "" if before < 0 or ANSWERS[before] == now else f"{ANSWERS[before]} to {now}"


def quality_warnings_of_groups(columns, groups):
    """What may be wrong with the pictures of each group, in words; of several pictures each is named."""
    images, warnings = columns["image"], columns["quality_warnings"]
    return [
        "; ".join(
            f"{images[i]}: {warnings[i]}" if len(rows) > 1 else warnings[i] for i in rows if warnings[i]
        )
        for rows in groups.rows
    ]


def write_predicted(file, stage_range, columns, groups, predicted):
    """Add one stage range to an open file: image columns, with quality warnings and unlikeness, Groups, and
    what a model says of them, a dict with those of the fields of Predicted that a model knows."""
    named = {name: getattr(groups, name) for name in ("name", "gene", "fbgn")}
    renamed = {"term": predicted["terms"], "threshold": predicted["probability_threshold"]}
    arrays = predicted | renamed | {"unlikeness": columns["unlikeness"]}
    store.write_predictions(file, stage_range, columns, groups.of_image, named, arrays)


def read_predicted(stored, stage_range):
    """The Groups and the Predicted of one stage range of an open file."""
    of_image, named, arrays = store.read_predictions(stored, stage_range)
    ends = np.cumsum(np.bincount(of_image, minlength=len(named["name"])))
    groups = Groups(**named, rows=np.split(np.argsort(of_image, kind="stable"), ends[:-1]))
    warnings = quality_warnings_of_groups(read_image_columns(stored, stage_range), groups)
    renamed = {"terms": arrays.pop("term"), "probability_threshold": arrays.pop("threshold")}
    arrays["unlikeness"] = np.array([arrays["unlikeness"][rows].max() for rows in groups.rows], float)
    return groups, Predicted(**renamed, **arrays, quality_warnings=warnings)


class Prediction(NamedTuple):
    """What is predicted of one group and one term, and what stands behind it.

    image : named where the gene is not known
    answer : yes above the threshold, no below; undetermined at it, or as near as the margin says
    threshold : the probability above which the answer is yes
    curated : yes or no, as curators say, or ""; change : as `Predicted.change`
    precision : how many of the yes answers to held-out genes were right, and
    auc, auc_low, auc_high : of the term, cross-validated, with its 95 % interval; None is untested
    n_genes : genes with the term that it was learned from; caution : as `caution_of_term`
    held_out : yes if the answer is by a model that had not learned from this gene, else no
    unlikeness : the largest of the group's images; None is unknown
    quality_warnings : of the group's images, each named where there are several
    decision_value, model_probability : by the final model, which may have learned from this gene
    """

    gene: str
    fbgn: str
    image: str
    group: str
    stage_range: str
    term: str
    probability: float
    threshold: float
    answer: str
    curated: str
    change: str
    precision: float | None
    n_genes: int
    auc: float | None
    auc_low: float | None
    auc_high: float | None
    caution: str
    held_out: str
    unlikeness: float | None
    quality_warnings: str
    decision_value: float
    model_probability: float

    def texts(self):
        """The cells of a table of text: numbers to nine digits, an AUC to four decimals, unknown empty."""
        texts: Any = {name: f"{getattr(self, name):.9g}" for name in _NUMBERS}
        parts = (*_AREAS, "precision", "unlikeness")
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
            float(predicted.probability[g, j]),
            float(predicted.answer_threshold[g, j]),
            predicted.answer(g, j),
            (NO, YES, "")[predicted.curated[g, j]],
            predicted.change(g, j),
            **(evidence := evidence_of_term(predicted, j)),
            caution=caution_of_term(evidence),
            held_out=YES if predicted.held_out[g, j] or not predicted.in_training[g] else NO,
            unlikeness=predicted.known_unlikeness(g),
            quality_warnings=predicted.quality_warnings[g],
            decision_value=float(predicted.decision_value[g, j]),
            model_probability=float(predicted.model_probability[g, j]),
        )


def predictions_table(stored, stage_ranges, ids=None, *, as_text=True):
    """The columns and the rows of the table, as texts or as they are; rows are made as they are asked for.

    With `flyannot.dataset.ontology.IdColumns`, ids of terms and stages too.
    """
    rows = prediction_rows(stored, stage_ranges)
    rows = (row.texts() for row in rows) if as_text else rows
    if ids:
        rows = ((*row, *ids.of(row.term, row.stage_range)) for row in rows)
    return PREDICTION_COLUMNS + (ids.COLUMNS if ids else ()), rows


def evidence_of_term(learned, j):
    """What stands behind a term of a Predicted or a Model: n_genes, auc, auc_low, auc_high, precision; None
    is untested."""
    numbers = {name: float(getattr(learned, name)[j]) for name in (*_AREAS, "precision")}
    tested: Any = {name: None if np.isnan(number) else number for name, number in numbers.items()}
    return {"n_genes": int(learned.n_genes[j])} | tested


def caution_of_term(evidence):
    """Why an answer is a guess, in words, from what `evidence_of_term` returns; "" if it is none."""
    if evidence["n_genes"] < LEAST_GENES:
        return f"learned from {pluralise(evidence['n_genes'], 'gene')}"
    return "untested" if evidence["auc"] is None else ""


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
    precision: float | None
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
    is_learned = (predicted.model_probability != predicted.probability_threshold).any(axis=0)
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


def precision_of_yes(learned):
    """How many of the answers yes are right by the precision of LearnedTerms; None if none was tested."""
    tested = [term for term in learned if term.precision is not None and term.n_yes]
    n_right = sum(term.precision * term.n_yes for term in tested)
    return n_right / sum(term.n_yes for term in tested) if tested else None


def is_cross_validated(evaluated):
    """Whether what scores.json holds of a stage range are answers by models of the other folds."""
    return bool(evaluated["probability"]) and evaluated["fold"] is not None


class HeldOutAnswers:
    """What models that had not seen the gene answered of the groups of one stage range.

    `scores` are as in scores.json.
    """

    def __init__(self, scores, stage_range):
        evaluated = scores["evaluated"].get(stage_range)
        self._groups, self._rows, self._outcome = {}, {}, None
        if evaluated and is_cross_validated(evaluated):
            self._outcome = outcomes_of_groups(evaluated)
            self._groups = {group: i for i, group in enumerate(evaluated["group"])}
            self._rows = {row["term"]: row for row in scores["terms"] if row["stage_range"] == stage_range}

    def of_groups(self, names, terms):
        """Probability and threshold, float64 (n_groups, n_terms), of groups by name; nan where one was not
        evaluated for a term."""
        answers = np.full((2, len(names), len(terms)), np.nan)
        if self._outcome is not None and self._outcome.thresholds is not None:
            columns = {term: j for j, term in enumerate(self._outcome.terms)}
            rows = [g for g, name in enumerate(names) if name in self._groups]
            kept = [j for j, term in enumerate(terms) if term in columns]
            evaluated = np.ix_([self._groups[names[g]] for g in rows], [columns[terms[j]] for j in kept])
            for of_groups, matrix in zip(answers, (self._outcome.probabilities, self._outcome.thresholds)):
                of_groups[np.ix_(rows, kept)] = matrix[evaluated]
        return answers

    def of_terms(self, terms):
        """auc, auc_low, auc_high and precision, float64 (n_terms,) by name; nan of what was not evaluated."""
        found = {name: np.full(len(terms), np.nan) for name in (*_AREAS, "precision")}
        for j, term in enumerate(terms):
            row = self._rows.get(term)
            if row is not None and not row["reason"]:
                low, high = row.get("auc_interval") or (np.nan, np.nan)
                for name, value in zip(found, (row["auc"], low, high, row.get("precision"))):
                    found[name][j] = np.nan if value is None else value
        return found
