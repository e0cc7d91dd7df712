"""Answers about groups and terms, and the evidence for every term.

The table beside predictions.h5, the exports and the report get answers from here, each as an `Answer`.
predictions.h5 stores the answers of a stage range as arrays (`GroupPredictions`).
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from flyannot.base.quality_warnings import format_warnings
from flyannot.base.text import pluralise
from flyannot.encode.groups import Groups
from flyannot.files.hdf5 import predictions as store
from flyannot.files.hdf5.header import ORIGIN, describe_origin
from flyannot.files.hdf5.model import read_classifier, read_classifier_name, read_terms
from flyannot.files.hdf5.reading import read_image_metadata
from flyannot.files.hdf5.supplied import measured_on
from flyannot.terms.model import FEW_GENES, LEAST_GENES, PER_TERM, TESTED, build_model
from flyannot.terms.suggestions import answer_thresholds

ANSWERS = NO, YES, UNDETERMINED = ("no", "yes", "undetermined")
EVIDENCE = ("n_genes", *TESTED)
_FORMATS = dict.fromkeys(("probability", "threshold", "decision_value", "model_probability"), ".9g")
_FORMATS |= dict.fromkeys((*TESTED, "unlikeness"), ".4f") | {"n_genes": "d"}


@dataclass(kw_only=True)
class Answer:
    """The answer about one term for one group (all images of one gene in one stage range), with its evidence.

    The fields are the first columns of predictions.csv and of the exports, in their order; ORIGIN follows.
    None or "" means unknown.

    image : name of the image, only if its gene is unknown
    probability : probability that a curator would give the term.  If the group was cross-validated, it is by
        a model that was not trained on the gene, because the final model would be too optimistic
    threshold : the answer is yes if the probability is above it
    answer : "yes", "no" or "undetermined".  It is undetermined if the probability is at its threshold, or
        nearer to it than the option `abstain_margin`
    curated : "yes" or "no", the answer of the curators
    change : how the answer changed since the previous run, which was trained on other curated terms; for
        example
        "no to yes"
    precision : fraction of the yes answers about held-out genes that were right, for this term
    n_genes : number of training genes with the term
    auc, auc_low, auc_high : cross-validated AUC of the term, with its 95% interval; None if it was not
        tested
    measured_on : the genes, and the pictures of a supplied model, on which precision and AUC were measured
    caution : reason why the answer is little more than a guess, or ""
    held_out : "yes" if the model behind `probability` was not trained on the gene, otherwise "no"
    unlikeness : largest unlikeness (0 to 1) of the images of the group, see `NoveltyReference`
    quality_warnings : warnings about the images.  If the group has several, each has the name of its image
    decision_value, model_probability : values by the final model, which may have been trained on the gene
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
    measured_on: str = ""
    caution: str = ""
    held_out: str = ""
    unlikeness: float | None = None
    quality_warnings: str = ""
    decision_value: float | None = None
    model_probability: float | None = None


_FIELDS = tuple(field.name for field in fields(Answer))
_FORM_OF_COLUMN = [_FORMATS.get(name, "") for name in _FIELDS]
PREDICTION_COLUMNS = _FIELDS + ORIGIN


@dataclass(frozen=True)
class LearnedTerm:
    """One term that a model knows in one stage range, and the evidence for its answers.

    A metric that is None was not evaluated.

    term : name of the term
    threshold : the answer is yes if the probability is above it; None if every group has its own threshold
    is_learned : False if the model gives all groups the same probability
    n_genes : number of training genes with the term
    auc, auc_low, auc_high : cross-validated AUC, with its 95% interval
    precision : fraction of the yes answers about held-out genes that were right
    n_yes : number of groups with the answer yes; None if the terms are from a model, which has no groups
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

    @cached_property
    def evidence(self):
        """The number of genes, the AUC with its interval, and the precision, as a dict by name."""
        return {name: getattr(self, name) for name in EVIDENCE}

    @cached_property
    def caution(self):
        """The reason why an answer about the term is little more than a guess, or ""."""
        if self.n_genes < LEAST_GENES:
            return f"learned from {pluralise(self.n_genes, 'gene')}"
        return "untested" if self.auc is None else ""


@dataclass(frozen=True)
class GroupPredictions:
    """The predictions for all groups of one stage range, as arrays.

    Matrices have the shape (n_groups, n_terms).

    terms : list of n_terms names
    decision_value, model_probability : float matrices, by the final model
    probability, answer_threshold : float matrices.  The answer is yes if the probability is above the
        threshold.
        Both are by the final model, or by a model of cross-validation where `held_out` is True
    yes, undetermined : bool matrices, the answers; undetermined overrides yes
    held_out : bool matrix, True if the answer is by a model that was not trained on the gene
    in_training : bool (n_groups,), True if the final model was trained on the gene
    probability_threshold : float (n_terms,), thresholds of the final model; None if terms have no threshold
        of their own
    is_learned : bool (n_terms,), False if the final model gives all groups one probability
    n_genes : int (n_terms,), number of training genes with the term
    auc, auc_low, auc_high, precision : float (n_terms,), cross-validated; nan is untested
    unlikeness : float (n_groups,), the largest unlikeness of the images of the group; nan is unknown
    quality_warnings : list of n_groups texts
    curated : int matrix, 1 if curators gave the term, 0 if not, -1 if unknown
    answer_before : int matrix, the answer of the previous run as an index in ANSWERS; -1 is unknown
    model_measured_on : the genes on which the final model was measured
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
    model_measured_on: str = ""

    @cached_property
    def measured_on(self):
        """A list with the genes on which the precision and the AUC of each term were measured, or ""."""
        here = np.where(self.held_out.any(axis=0), "held-out genes of the run", self.model_measured_on)
        return np.where(np.isnan(self.auc), "", here).tolist()

    @cached_property
    def answers(self):
        """The answer about every group and term as an index in ANSWERS, int matrix."""
        return np.where(self.undetermined, ANSWERS.index(UNDETERMINED), self.yes.astype(np.int8))

    @cached_property
    def learned(self):
        """A list with the LearnedTerm of every term."""
        n_yes = (self.yes & ~self.undetermined).sum(axis=0).tolist()
        return model_terms(self.terms, self, n_yes)

    @cached_property
    def model_threshold(self):
        """Return the probability above which each answer of the final model is yes, (n_groups, n_terms)."""
        return answer_thresholds(self.model_probability, self.is_learned, self.probability_threshold)

    def known_unlikeness(self, g):
        """Return the unlikeness of group number `g`, from 0 to 1, or None if it is unknown."""
        return _known_number(self.unlikeness[g])

    def change(self, g, j):
        """Return how an answer changed since the previous run, such as "no to yes"; "" if it did not.

        Parameters
        ----------
        g, j : the numbers of the group and of the term
        """
        before, now = self.answer_before[g, j], self.answers[g, j]
        return "" if before in (-1, now) else f"{ANSWERS[before]} to {ANSWERS[now]}"


def write_group_predictions(file, stage_range, columns, groups, predicted):
    """Write the predictions for one stage range to an open predictions.h5.

    Parameters
    ----------
    file : h5py.File, open for writing
    stage_range : str
    columns : dict of the columns of the images, with quality_warnings and unlikeness
    groups : Groups of these images
    predicted : dict with the fields of GroupPredictions that do not need a run
    """
    named = {name: getattr(groups, name) for name in ("name", "gene", "fbgn")}
    renamed = {"term": predicted["terms"], "threshold": predicted["probability_threshold"]}
    arrays = predicted | renamed | {"unlikeness": columns["unlikeness"]}
    store.write_predictions(file, stage_range, columns, groups.group_numbers, named, arrays)


def read_group_predictions(stored, stage_range):
    """Read the Groups and the GroupPredictions of one stage range from an open predictions.h5."""
    of_image, named, arrays = store.read_predictions(stored, stage_range)
    ends = np.cumsum(np.bincount(of_image, minlength=len(named["name"])))
    groups = Groups(**named, rows=np.split(np.argsort(of_image, kind="stable"), ends[:-1]))
    warnings = _quality_warnings(read_image_metadata(stored, stage_range), groups)
    renamed = {"terms": arrays.pop("term"), "probability_threshold": arrays.pop("threshold", None)}
    arrays["unlikeness"] = np.array([arrays["unlikeness"][rows].max() for rows in groups.rows], float)
    where = measured_on(stored).removeprefix(" on ") or "held-out genes that the model learned from"
    return groups, GroupPredictions(**renamed, **arrays, quality_warnings=warnings, model_measured_on=where)


def _quality_warnings(columns, groups):
    """Return one text for each group with the quality warnings of its images.

    The name of the image stands before its warnings if the group has several images.

    columns : dict of the columns of the images; groups : Groups of these images
    """
    texts = []
    for rows in groups.rows:
        named = [(columns["image"][i], format_warnings(columns["quality_warnings"][i])) for i in rows]
        shown = [f"{name}: {text}" if len(rows) > 1 else text for name, text in named if text]
        texts.append("; ".join(shown))
    return texts


def group_answers(stage_range, groups, predicted, g):
    """Yield the `Answer`s about one group, one for each term, the most probable term first.

    Parameters
    ----------
    stage_range : str
    groups : Groups
    predicted : GroupPredictions of these groups
    g : int, the number of the group
    """
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
            measured_on=predicted.measured_on[j],
            caution=learned.caution,
            held_out=YES if predicted.held_out[g, j] or not predicted.in_training[g] else NO,
            decision_value=float(predicted.decision_value[g, j]),
            model_probability=float(predicted.model_probability[g, j]),
            **learned.evidence,
            **of_group,
        )


def predictions_table(stored, stage_ranges, ids=None, *, as_text=True):
    """Return the column names of the table of predictions, and an iterator over its rows.

    Parameters
    ----------
    stored : StoredFile, an open predictions.h5
    stage_ranges : sequence of str, the stage ranges to include
    ids : IdColumns, which adds columns with the ontology identifiers of terms and stages; None for none
    as_text : bool
        If True, rows contain texts: numbers with nine digits, evidence with four decimals, and "" for None.
        Otherwise they contain the values.
    """

    origin = tuple(map(describe_origin(stored).get, ORIGIN))

    def rows():
        for stage_range in stage_ranges:
            groups, predicted = read_group_predictions(stored, stage_range)
            for g in range(len(groups)):
                for answer in group_answers(stage_range, groups, predicted, g):
                    values = vars(answer).values()
                    more = ids.look_up(answer.term, stage_range) if ids else ()
                    cells = map(_as_text, _FORM_OF_COLUMN, values) if as_text else values
                    yield (*cells, *origin, *more)

    return PREDICTION_COLUMNS + (ids.COLUMNS if ids else ()), rows()


def _as_text(form, value):
    """Return a value as text for a table; `form` is the format of a number, or "" to keep the value."""
    return value if not form else "" if value is None else format(value, form)


def model_terms(terms, model, n_yes=None):
    """Return a list with the LearnedTerm of every term.

    Parameters
    ----------
    terms : list of the names of the terms, in the order of the model
    model : Model, or GroupPredictions by it, which has the same arrays for the terms
    n_yes : list of the numbers of groups with the answer yes, or None
    """
    learned = []
    thresholds = model.probability_threshold
    for j, term in enumerate(terms):
        tested = {name: _known_number(getattr(model, name)[j]) for name in TESTED}
        tested |= {"n_genes": int(model.n_genes[j]), "n_yes": None if n_yes is None else n_yes[j]}
        threshold = None if thresholds is None else float(thresholds[j])
        learned.append(LearnedTerm(term, threshold, bool(model.is_learned[j]), **tested))
    return learned


def _known_number(number):
    """Return a number as float; None if it is nan."""
    return None if np.isnan(number) else float(number)


def learned_terms(stored, stage_range):
    """Return the LearnedTerms of one stage range of an open model.h5 or predictions.h5."""
    if stored.kind != "model":
        return read_group_predictions(stored, stage_range)[1].learned
    per_term = read_classifier(stored, stage_range, PER_TERM, 0)  # without the scorer, which may be large
    model = build_model(read_classifier_name(stored, stage_range), None, per_term)
    return model_terms(read_terms(stored, stage_range), model)


def expected_precision(learned):
    """Return the expected fraction of yes answers that are right; None if no term was tested.

    It is the mean precision of the terms, weighted by their numbers of yes answers.

    learned : list of LearnedTerm
    """
    tested = [term for term in learned if term.precision is not None and term.n_yes]
    n_right = sum(term.precision * term.n_yes for term in tested)
    return n_right / sum(term.n_yes for term in tested) if tested else None


def describe_weak_terms(learned):
    """Say in words how many terms are unreliable, and why; "" if none is.

    learned : list of LearnedTerm
    """
    few = sum(term.n_genes < FEW_GENES for term in learned)
    untested = sum(term.auc is None for term in learned)
    unlearned = sum(not term.is_learned for term in learned)
    parts = []
    if few:
        parts.append(f"{few} of {pluralise(len(learned), 'term')} learned from fewer than {FEW_GENES} genes")
    if untested:
        parts.append(f"{untested} untested, because fewer than {LEAST_GENES} genes have the term or lack it")
    if unlearned:
        parts.append(f"nothing was learned of {unlearned}: every gene gets the same probability")
    return "; ".join(parts)
