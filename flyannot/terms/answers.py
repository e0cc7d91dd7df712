"""Answers about groups and terms, and the evidence for every term.

The table beside predictions.h5, the exports and the report get answers from here, each as an `Answer`.
predictions.h5 stores the answers of a stage range as arrays (`GroupPredictions`).
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from flyannot.base.text import pluralise
from flyannot.encode.groups import Groups
from flyannot.files.hdf5 import predictions as store
from flyannot.files.hdf5.model import read_classifier, read_classifier_name, read_terms
from flyannot.files.hdf5.reading import read_image_metadata
from flyannot.terms.model import LEAST_GENES, PER_TERM, build_model
from flyannot.terms.scorer import Scorer
from flyannot.terms.suggestions import answer_thresholds

ANSWERS = NO, YES, UNDETERMINED = ("no", "yes", "undetermined")
_TESTED = ("auc", "auc_low", "auc_high", "precision")  # from cross-validation
EVIDENCE = ("n_genes", *_TESTED)
_FORMATS = dict.fromkeys(("probability", "threshold", "decision_value", "model_probability"), ".9g")
_FORMATS |= dict.fromkeys((*_TESTED, "unlikeness"), ".4f")


@dataclass(kw_only=True)
class Answer:
    """The answer about one group and one term, with its evidence; None and "" are unknown.

    The fields are the columns of the tables, in their order.

    image : name of the image, if the gene is unknown
    probability : the probability behind the answer.  If cross-validation evaluated the group, it is by a
        model that did not learn from the gene; the final model did, and would be too optimistic
    threshold : the probability above which the answer is yes
    answer : one of ANSWERS; undetermined is at the threshold, or within the margin of `annotate`
    curated : yes or no, by the curators
    change : the change since the run before it learned with other curated terms, such as "no to yes"
    precision : the fraction of the yes answers about held-out genes that were right
    n_genes : number of genes with the term from which the model learned
    auc, auc_low, auc_high : of the term, cross-validated, with its 95% interval; None is untested
    caution : why the answer is a guess
    held_out : yes if the answer is by a model that did not learn from the gene, otherwise no
    unlikeness : the largest of the images of the group
    quality_warnings : of the images of the group, each with its name if there are several
    decision_value, model_probability : by the final model, which may have learned from the gene
    """

    gene: str = ""
    fbgn: str = ""
    image: str = ""
    group: str = ""
    stage_range: str = ""
    term: str
    probability: float | None = None
    threshold: float | None = None
    answer: str = ""
    curated: str = ""
    change: str = ""
    precision: float | None = None
    n_genes: int | None = None
    auc: float | None = None
    auc_low: float | None = None
    auc_high: float | None = None
    caution: str = ""
    held_out: str = ""
    unlikeness: float | None = None
    quality_warnings: str = ""
    decision_value: float | None = None
    model_probability: float | None = None


PREDICTION_COLUMNS = tuple(field.name for field in fields(Answer))


@dataclass(frozen=True)
class LearnedTerm:
    """One term of one stage range with its evidence.  A metric that is None was not evaluated.

    threshold : the probability above which the answer is yes; None if every group has its own
    is_learned : whether any two genes get different probabilities
    n_yes : number of groups with the answer yes; None for a model, which has no groups
    """

    term: str
    threshold: float | None
    is_learned: bool
    n_genes: int
    auc: float | None
    auc_low: float | None
    auc_high: float | None
    precision: float | None
    n_yes: int | None = None

    @property
    def evidence(self):
        """Return the values of EVIDENCE by name."""
        return {name: getattr(self, name) for name in EVIDENCE}

    @property
    def caution(self):
        """Return why an answer is a guess, or ""."""
        if self.n_genes < LEAST_GENES:
            return f"learned from {pluralise(self.n_genes, 'gene')}"
        return "untested" if self.auc is None else ""


@dataclass(frozen=True)
class GroupPredictions:
    """The answers about the groups of one stage range; matrices are (n_groups, n_terms).

    decision_value, model_probability : by the final model
    probability, answer_threshold, yes, undetermined : of the answer, which is by the final model, or if
        `held_out` by a model of cross-validation
    probability_threshold : (n_terms,), of the final model; None if terms have no threshold of their own
    is_learned : bool (n_terms,), False if the final model gives all groups one probability
    n_genes : (n_terms,), with the term, in the training set
    auc, auc_low, auc_high, precision : (n_terms,), cross-validated; nan is untested
    in_training : (n_groups,), whether the model learned from the gene
    unlikeness : (n_groups,), the largest of its images by NoveltyReference; nan is unknown
    quality_warnings : list of n_groups texts
    curated : whether curators gave the term; -1 is unknown
    answer_before : the index in ANSWERS of the answer before the run learned with other curated terms; -1 is
        unknown
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
    probability_threshold: np.ndarray | None
    is_learned: np.ndarray
    n_genes: np.ndarray
    auc: np.ndarray
    auc_low: np.ndarray
    auc_high: np.ndarray
    precision: np.ndarray
    unlikeness: np.ndarray
    quality_warnings: list
    curated: np.ndarray
    answer_before: np.ndarray

    @cached_property
    def answers(self):
        """Return the index in ANSWERS of every answer."""
        return np.where(self.undetermined, ANSWERS.index(UNDETERMINED), self.yes.astype(np.int8))

    @cached_property
    def learned(self):
        """Return a LearnedTerm for each term."""
        n_yes = (self.yes & ~self.undetermined).sum(axis=0).tolist()
        return _learned_terms(self.terms, self.probability_threshold, self.is_learned, self, n_yes)

    @cached_property
    def model_threshold(self):
        """Return the probability above which each answer of the final model is yes, (n_groups, n_terms)."""
        return answer_thresholds(self.model_probability, self.is_learned, self.probability_threshold)

    def known_unlikeness(self, g):
        """Return the unlikeness of one group, or None."""
        return _known_number(self.unlikeness[g])

    def change(self, g, j):
        """Return how the answer changed with the curated terms, such as "no to yes", or ""."""
        before, now = self.answer_before[g, j], self.answers[g, j]
        return "" if before in (-1, now) else f"{ANSWERS[before]} to {ANSWERS[now]}"


def write_group_predictions(file, stage_range, columns, groups, predicted):
    """Add one stage range to an open predictions file.

    Parameters
    ----------
    file : open file
    stage_range : str
    columns : image columns, with quality warnings and unlikeness
    groups : Groups
    predicted : dict with the fields of GroupPredictions that a model knows
    """
    named = {name: getattr(groups, name) for name in ("name", "gene", "fbgn")}
    renamed = {"term": predicted["terms"], "threshold": predicted["probability_threshold"]}
    arrays = predicted | renamed | {"unlikeness": columns["unlikeness"]}
    store.write_predictions(file, stage_range, columns, groups.group_numbers, named, arrays)


def read_group_predictions(stored, stage_range):
    """Return the Groups and the GroupPredictions of one stage range of an open file."""
    of_image, named, arrays = store.read_predictions(stored, stage_range)
    ends = np.cumsum(np.bincount(of_image, minlength=len(named["name"])))
    groups = Groups(**named, rows=np.split(np.argsort(of_image, kind="stable"), ends[:-1]))
    warnings = _quality_warnings(read_image_metadata(stored, stage_range), groups)
    threshold = arrays.pop("threshold", None)
    renamed = {"terms": arrays.pop("term"), "probability_threshold": threshold}
    if "is_learned" not in arrays:  # version 1.0 and before
        arrays["is_learned"] = (arrays["model_probability"] != threshold).any(axis=0)
    arrays["unlikeness"] = np.array([arrays["unlikeness"][rows].max() for rows in groups.rows], float)
    return groups, GroupPredictions(**renamed, **arrays, quality_warnings=warnings)


def _quality_warnings(columns, groups):
    """Join the warnings of the images of each group; each image is named if there are several."""
    texts = []
    for rows in groups.rows:
        named = [(columns["image"][i], columns["quality_warnings"][i]) for i in rows]
        shown = [f"{name}: {text}" if len(rows) > 1 else text for name, text in named if text]
        texts.append("; ".join(shown))
    return texts


def group_answers(stage_range, groups, predicted, g):
    """Yield the `Answer`s about one group, by its number, the most probable first."""
    of_group = {
        "gene": groups.gene[g],
        "fbgn": groups.fbgn[g],
        "image": "" if groups.gene[g] else groups.name[g],
        "group": groups.name[g],
        "stage_range": stage_range,
        "unlikeness": predicted.known_unlikeness(g),
        "quality_warnings": predicted.quality_warnings[g],
    }
    for j in np.argsort(-predicted.probability[g], kind="stable").tolist():
        learned = predicted.learned[j]
        yield Answer(
            term=learned.term,
            probability=float(predicted.probability[g, j]),
            threshold=float(predicted.answer_threshold[g, j]),
            answer=ANSWERS[predicted.answers[g, j]],
            curated=(NO, YES, "")[predicted.curated[g, j]],
            change=predicted.change(g, j),
            caution=learned.caution,
            held_out=YES if predicted.held_out[g, j] or not predicted.in_training[g] else NO,
            decision_value=float(predicted.decision_value[g, j]),
            model_probability=float(predicted.model_probability[g, j]),
            **learned.evidence,
            **of_group,
        )


def predictions_table(stored, stage_ranges, ids=None, *, as_text=True):
    """Return the columns of the table of predictions, and an iterator of its rows.

    Parameters
    ----------
    stored : open predictions file
    stage_ranges : sequence of str
    ids : IdColumns, which adds the identifiers of terms and stages, or None
    as_text : write numbers with nine digits, evidence with four decimals, and None as ""
    """

    def rows():
        for stage_range in stage_ranges:
            groups, predicted = read_group_predictions(stored, stage_range)
            for g in range(len(groups)):
                for answer in group_answers(stage_range, groups, predicted, g):
                    values = vars(answer)
                    more = ids.look_up(answer.term, stage_range) if ids else ()
                    yield (*(_as_text(values) if as_text else values.values()), *more)

    return PREDICTION_COLUMNS + (ids.COLUMNS if ids else ()), rows()


def _as_text(values):
    """Yield the values of an answer as they are written to a table."""
    for name, value in values.items():
        if name in _FORMATS:
            yield "" if value is None else format(value, _FORMATS[name])
        else:
            yield value


def _learned_terms(terms, thresholds, is_learned, evidence, n_yes=None):
    """Return a LearnedTerm for each term; `evidence` has the arrays of EVIDENCE as attributes."""
    learned = []
    for j, term in enumerate(terms):
        tested = {name: _known_number(getattr(evidence, name)[j]) for name in _TESTED}
        tested["n_yes"] = None if n_yes is None else n_yes[j]
        threshold = None if thresholds is None else float(thresholds[j])
        learned.append(LearnedTerm(term, threshold, bool(is_learned[j]), int(evidence.n_genes[j]), **tested))
    return learned


def _known_number(number):
    """Return a float, or None for nan."""
    return None if np.isnan(number) else float(number)


def model_terms(terms, model):
    """Return a LearnedTerm for each term of a `Model`."""
    return _learned_terms(terms, model.probability_threshold, model.is_learned, model)


def learned_terms(stored, stage_range):
    """Return a LearnedTerm for each term of an open file of a model or of predictions."""
    if stored.kind != "model":
        return read_group_predictions(stored, stage_range)[1].learned
    per_term = read_classifier(stored, stage_range, PER_TERM, 0)  # without the scorer, which may be large
    model = build_model(read_classifier_name(stored, stage_range), Scorer(), per_term)
    return model_terms(read_terms(stored, stage_range), model)


def yes_precision(learned):
    """Return the expected fraction of yes answers that are right, from LearnedTerms; None if untested."""
    tested = [term for term in learned if term.precision is not None and term.n_yes]
    n_right = sum(term.precision * term.n_yes for term in tested)
    return n_right / sum(term.n_yes for term in tested) if tested else None
