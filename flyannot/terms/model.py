"""A classifier with calibrated probabilities and thresholds, and with the evidence for each of its terms."""

from dataclasses import dataclass, replace

import numpy as np

from flyannot.base.errors import DataError
from flyannot.base.text import pluralise
from flyannot.terms import CLASSIFIERS
from flyannot.terms.calibration import NO_ANSWERS, choose_threshold, fit_platt, reliability_bins, sigmoid
from flyannot.terms.metrics import LEAST_GENES, auc, auc_interval
from flyannot.terms.options import EXPECTED_F1
from flyannot.terms.scorer import FitOptions, OutOfFoldValues, Scorer, list_observed_rows, observed_mask
from flyannot.terms.suggestions import answer_thresholds

FEW_GENES = 20  # with the term; with fewer, an AUC is mostly chance

_COUNTS = ("n_groups", "n_positive", "n_genes")
TESTED = ("auc", "auc_low", "auc_high", "precision")  # from cross-validation
# The kind of number and the dimensions of each array, as in `Scorer.ARRAYS`.
PER_TERM: dict[str, tuple] = dict.fromkeys(("threshold", "slope", "offset"), ("f", ("n_terms",)))
PER_TERM |= dict.fromkeys(_COUNTS, ("i", ("n_terms",))) | dict.fromkeys(TESTED, ("f", ("n_terms",)))
PER_TERM["reliability"] = "f", ("n_terms", *NO_ANSWERS.shape)
_FIELDS = {"threshold": "decision_threshold"}  # names in a Model that differ from the names in files


@dataclass(frozen=True)
class Model:
    """A trained classifier of all terms of a stage range, with calibrated probabilities.

    The probability is 1 / (1 + exp(-(slope value + offset))).  The answer is yes if the decision value is
    above the threshold of the term.  Without thresholds, the answers of a group are chosen together: yes to
    the set of terms that maximises the expected F1 (`suggestion_thresholds`).

    method : name of the classifier in CLASSIFIERS
    scorer : Scorer, which computes the decision values
    decision_threshold : float64 (n_terms,), or None
    slope, offset : float64 (n_terms,), of the calibration
    n_groups : int32 (n_terms,), number of training groups for which it is known whether they have the term
    n_positive : int32 (n_terms,), number of training groups with the term
    n_genes : int32 (n_terms,), number of training genes with the term
    auc, auc_low, auc_high : float64 (n_terms,), cross-validated AUC with its interval; see `assess_terms`
    precision : float64 (n_terms,), fraction of the yes answers about held-out groups that were right
        It is nan if the AUC is nan, and if there was no such answer.
    reliability : float64 (n_terms, N_BINS, 4), `reliability_bins` of held-out answers; 0 if the AUC is nan
    """

    method: str
    scorer: Scorer
    decision_threshold: np.ndarray | None
    slope: np.ndarray
    offset: np.ndarray
    n_groups: np.ndarray
    n_positive: np.ndarray
    n_genes: np.ndarray
    auc: np.ndarray
    auc_low: np.ndarray
    auc_high: np.ndarray
    precision: np.ndarray
    reliability: np.ndarray

    def decision_values(self, X):
        """Return the decision value of every row for every term, float64 (n_rows, n_terms).

        X : float array (n_rows, n_features)
        """
        return self.scorer.decision_values(X)

    def logits(self, values):
        """Return the calibrated logits (logarithms of odds) of decision values, of the same shape."""
        return self.slope * values + self.offset

    def probabilities(self, values):
        """Return the calibrated probabilities of decision values, of the same shape.

        With few genes, chance alone separates those with the term from the others, and Platt's fit trusts the
        separation.  So if n genes have the term, fewer than LEAST_GENES, probabilities are multiplied by
        (n + 1) / (n + 2), Laplace's rule of succession.
        """
        few = self.n_genes < LEAST_GENES
        most = np.where(few, (self.n_genes + 1) / (self.n_genes + 2), 1.0)
        return most * sigmoid(self.logits(values))

    def answers(self, values, observed=True):
        """Return yes or no for the decision values of groups, bool (n_groups, n_terms).

        The answer is no for entries that are not in `observed`, a bool array of the same shape.
        """
        if self.decision_threshold is None:
            probability = np.where(observed, self.probabilities(values), 0.0)
            return probability > self.answer_thresholds(probability)
        return (values > self.decision_threshold) & observed

    @property
    def probability_threshold(self):
        """Return the probability above which the answer is yes, (n_terms,); None if terms have none."""
        return None if self.decision_threshold is None else self.probabilities(self.decision_threshold)

    @property
    def is_learned(self):
        """Return False for each term with slope 0: all groups get one probability, bool (n_terms,)."""
        return self.slope > 0

    def near_threshold(self, values, margin):
        """Return True for each answer whose probability is within `margin` of its threshold.

        All answers about a term of which nothing was learned are at their threshold.
        """
        probability = self.probabilities(values)
        return np.abs(probability - self.answer_thresholds(probability)) <= margin

    def answer_thresholds(self, probability):
        """Return the probability above which each answer is yes, float64 (n_groups, n_terms)."""
        return answer_thresholds(probability, self.is_learned, self.probability_threshold)

    def outcomes(self, values):
        """Return all that the model says of decision values, as a dict with fields of TermOutcomes."""
        probability = self.probabilities(values)
        known = {"values": values, "yes": self.answers(values), "probabilities": probability}
        return known | {"thresholds": self.answer_thresholds(probability)}

    def arrays(self):
        """Return all arrays of the model by name, for a file.

        Names that begin with "scorer/" belong to the scorer.  All other arrays have one row for each term.
        All are integers or floats.
        """
        scorer = {f"scorer/{name}": array for name, array in self.scorer.arrays().items()}
        of_terms = {name: getattr(self, _FIELDS.get(name, name)) for name in PER_TERM}
        return scorer | {name: values for name, values in of_terms.items() if values is not None}


def model_from_arrays(method, arrays):
    """Rebuild a Model from the name of its classifier and the dict that `Model.arrays` returned."""
    scorer = {n.removeprefix("scorer/"): a for n, a in arrays.items() if n.startswith("scorer/")}
    return build_model(method, CLASSIFIERS[method].from_arrays(scorer), arrays)


def build_model(method, scorer, arrays):
    """Build a Model from its scorer and from arrays that have one row for each term.

    Parameters
    ----------
    method : name in CLASSIFIERS
    scorer : Scorer
    arrays : dict, name in PER_TERM -> array (n_terms, ...)
    """
    known = {_FIELDS.get(name, name): np.asarray(arrays[name]) for name in PER_TERM if name in arrays}
    threshold = known.pop("decision_threshold", None)
    return Model(method, scorer, decision_threshold=threshold, **known)


def array_schema(method):
    """Return the types and dimensions of the arrays of a model, by name, to check a file.

    method : name in CLASSIFIERS
    """
    scorer = {f"scorer/{name}": known for name, known in CLASSIFIERS[method].ARRAYS.items()}
    return PER_TERM | scorer


def fit_model(method, X, Y, genes, *, rng, options=None, observed=None):
    """Train a classifier of all terms, and calibrate it on out-of-fold decision values.

    Parameters
    ----------
    method : name in CLASSIFIERS
    X : float array (n_rows, n_features), one row for each group
    Y : bool array (n_rows, n_terms), True if the group has the term; each term must have no
        `untrainable_reason`
    genes : sequence (n_rows,), the gene of each row
    rng : numpy Generator, for the inner folds and for the classifier
    options : FitOptions
    observed : bool array (n_rows, n_terms), True where Y is known; None for everywhere

    Returns
    -------
    model : Model

    Raises
    ------
    InputError
        If the method is unknown.
    DataError
        If X has a nan or an infinity.
    FlyannotError
        If there is too little memory, or a solver does not converge.
    """
    scorer_class = CLASSIFIERS[method]
    options = options or FitOptions()
    X, Y, genes = np.asarray(X), np.asarray(Y, bool), np.asarray(genes)
    observed = observed_mask(observed, Y.shape)
    Y = Y & observed
    if not np.isfinite(X).all():
        row = int(np.flatnonzero(~np.isfinite(X).all(axis=1))[0])
        raise DataError(f"the features of row {row} are not finite", fix="make the features file again")
    scorer, held_out = scorer_class.fit(X, Y, genes, rng=rng, options=options, observed=observed)
    rows = list_observed_rows(observed)
    pairs = [(v[known], t[known]) for v, t, known in zip(held_out.values.T, Y.T, rows)]
    slope, offset = np.array([fit_platt(v, t) for v, t in pairs]).reshape(-1, 2).T
    n_groups = np.array([len(truth) for _, truth in pairs], np.int32)
    n_positive = Y.sum(axis=0).astype(np.int32)
    n_genes, _ = count_genes(Y, genes, observed)
    areas, reliability = assess_terms(held_out, Y, genes, observed & options.is_tested)
    decision_threshold = None
    if options.operating_point != EXPECTED_F1:
        decision_threshold = np.array([choose_threshold(*p, options.operating_point) for p in pairs], float)
    of_terms = slope, offset, n_groups, n_positive, n_genes, *areas, areas[0], reliability
    model = Model(method, scorer, decision_threshold, *of_terms)
    answered = [truth[yes] for truth, yes in zip(Y.T, model.answers(held_out.values, observed).T)]
    precision = np.array([truth.mean() if len(truth) else np.nan for truth in answered], float)
    precision[np.isnan(areas[0])] = np.nan
    return replace(model, precision=precision)


def count_genes(Y, genes, observed):
    """Count the genes with each term, and the genes without it.

    Parameters
    ----------
    Y : bool array (n_rows, n_terms)
    genes : sequence (n_rows,), the gene of each row
    observed : bool array (n_rows, n_terms); a gene for which no entry of a term is known counts for neither

    Returns
    -------
    n_with, n_without : int32 arrays (n_terms,)
    """
    names, number = np.unique(genes, return_inverse=True)
    of_genes = np.zeros((2, len(names), Y.shape[1]), bool)
    for of_gene, of_row in zip(of_genes, (Y, observed)):
        np.logical_or.at(of_gene, number, of_row)
    n_genes, n_known = of_genes.sum(axis=1).astype(np.int32)
    return n_genes, n_known - n_genes


def assess_terms(held_out: OutOfFoldValues, Y, genes, observed):
    """Return the AUC of every term from out-of-fold decision values, and the reliability of probabilities.

    Parameters
    ----------
    held_out : OutOfFoldValues
    Y : bool array (n_rows, n_terms)
    genes : sequence (n_rows,), the gene of each row
    observed : bool array (n_rows, n_terms), True where Y is known

    Returns
    -------
    areas : float64 array (3, n_terms), the AUC and the ends of its 95% interval.
        All three are nan (untested) if fewer than LEAST_GENES genes have the term or lack it, or if no fold
        has both classes.
    reliability : float64 array (n_terms, N_BINS, 4), `reliability_bins`; 0 if untested.
        The probabilities of a fold are calibrated on the values of the other folds.
    """
    areas = np.full((3, Y.shape[1]), np.nan)
    reliability = np.zeros((Y.shape[1], *NO_ANSWERS.shape))
    rows = list_observed_rows(observed)
    number = np.unique(genes, return_inverse=True)[1]
    for j in range(Y.shape[1]):
        values, truth, folds = (column[rows[j], j] for column in (held_out.scored, Y, held_out.folds))
        if interval := auc_interval(values, truth, folds=folds, genes=number[rows[j]]):
            areas[:, j] = auc(values, truth, folds), *interval
            for out in (folds == fold for fold in np.unique(folds)):
                slope, offset = fit_platt(values[~out], truth[~out])
                reliability[j] += reliability_bins(sigmoid(slope * values[out] + offset), truth[out])
    return areas, reliability


def empty_model(n_features):
    """Return the model of a stage range without trainable terms: a linear SVM without terms."""
    scorer = CLASSIFIERS["svm"](np.zeros((0, n_features)), np.zeros(0), np.zeros(0))
    none = {name: np.zeros((0, *shape[1:]), kind) for name, (kind, shape) in PER_TERM.items()}
    return build_model("svm", scorer, none)


def untrainable_reason(positive, genes, needed=2):
    """Return the reason why a term cannot be trained or evaluated, or "".

    Parameters
    ----------
    positive : bool array (n_rows,)
    genes : sequence (n_rows,)
    needed : int >= 2, the least number of genes with the term, and of genes without it
    """
    positive = np.asarray(positive, bool)[:, None]
    counts = count_genes(positive, genes, np.ones_like(positive))
    for (n,), sign in zip(counts, ("positive", "negative")):
        if n < needed:
            return f"{pluralise(n, f'{sign} gene')}, {needed} needed"
    return ""
