"""A classifier with the thresholds and probabilities of its terms, and the evidence behind each of them."""

from dataclasses import dataclass

import numpy as np

from flyannot.base.errors import DataError
from flyannot.base.text import pluralise, short_repr
from flyannot.terms import CLASSIFIERS
from flyannot.terms.bootstrap import bootstrap_gene_weights, bootstrap_interval, weighted_aucs
from flyannot.terms.calibration import calibrate, choose_threshold, sigmoid
from flyannot.terms.scorer import FitOptions, OutOfFoldValues, Scorer, observed_mask, observed_rows

LEAST_GENES = 5  # with the term, and without it: of fewer there is no AUC, here and in `flyannot evaluate`
FEW_GENES = 20  # with the term: below, an AUC is mostly chance

PER_TERM = {  # as the arrays of a scorer: their types and dimensions
    "threshold": ("f", ("n_terms",)),
    "slope": ("f", ("n_terms",)),
    "offset": ("f", ("n_terms",)),
    "n_groups": ("i", ("n_terms",)),
    "n_positive": ("i", ("n_terms",)),
    "n_genes": ("i", ("n_terms",)),
    "auc": ("f", ("n_terms",)),
    "auc_low": ("f", ("n_terms",)),
    "auc_high": ("f", ("n_terms",)),
    "precision": ("f", ("n_terms",)),
}
_FIELDS = {"threshold": "decision_threshold"}  # of a Model, where a file has another name


@dataclass(frozen=True)
class Model:
    """A classifier, calibrated: value > decision_threshold is yes, probability = 1 / (1 + exp(-(slope value +
    offset))).

    method : its name; scorer : what gives the decision values
    decision_threshold, slope, offset : float64 (n_terms,)
    n_groups, n_positive : int32 (n_terms,), the groups that it was fitted on, and those with the term
    n_genes : int32 (n_terms,), the genes with the term
    auc, auc_low, auc_high : float64 (n_terms,), as `held_out_aucs`
    precision : float64 (n_terms,), how many of the yes answers to held-out groups were right; nan where the
        AUC is, and without a yes
    """

    method: str
    scorer: Scorer
    decision_threshold: np.ndarray
    slope: np.ndarray
    offset: np.ndarray
    n_groups: np.ndarray
    n_positive: np.ndarray
    n_genes: np.ndarray
    auc: np.ndarray
    auc_low: np.ndarray
    auc_high: np.ndarray
    precision: np.ndarray

    __repr__ = short_repr

    def decision_values(self, X, n_threads=1):
        """The decision value of every row for every term, as `Scorer`'s."""
        return self.scorer.decision_values(X, n_threads=n_threads)

    def probabilities(self, values):
        """Calibrated probabilities of decision values, of one shape with them.

        A few genes with a term are told apart by chance, and Platt's fit believes it: where n genes have it,
        fewer than LEAST_GENES, probabilities shrink by (n + 1) / (n + 2), Laplace's rule of succession.
        """
        few = self.n_genes < LEAST_GENES
        most = np.where(few, (self.n_genes + 1) / (self.n_genes + 2), 1.0)
        return most * sigmoid(self.slope * values + self.offset)

    def answers(self, values):
        """Yes or no, bool, for decision values, of one shape with them."""
        return values > self.decision_threshold

    @property
    def probability_threshold(self):
        """The probability above which the answer is yes, (n_terms,)."""
        return self.probabilities(self.decision_threshold)

    def near_threshold(self, values, margin):
        """Whether probabilities are at most `margin` from that at the term's threshold, bool, shape of
        values.

        A term of which nothing was learned (slope 0) has one probability: it is always near.
        """
        return np.abs(self.probabilities(values) - self.probability_threshold) <= margin

    def arrays(self):
        """All that the model is but its method, by name: integer and floating arrays, none of text or
        objects.

        The scorer's begin with "scorer/"; the others have one entry per term.
        """
        scorer = {f"scorer/{name}": array for name, array in self.scorer.arrays().items()}
        return scorer | {name: getattr(self, _FIELDS.get(name, name)) for name in PER_TERM}


def model_from_arrays(method, arrays):
    """The `Model` whose method and `arrays` these are."""
    scorer = {n.removeprefix("scorer/"): a for n, a in arrays.items() if n.startswith("scorer/")}
    return model_of_terms(method, CLASSIFIERS[method].from_arrays(scorer), arrays)


def model_of_terms(method, scorer, arrays):
    """The `Model` of a scorer, with the arrays by name that have one entry per term."""
    untested = {"precision": np.full(len(arrays["auc"]), np.nan)}  # models of version 0.9 and before
    arrays = untested | arrays
    per_term = {_FIELDS.get(name, name): np.asarray(arrays[name]) for name in PER_TERM}
    return Model(method, scorer, **per_term)


def schema_of(method):
    """The types and dimensions of the `arrays` of a model of that method."""
    scorer = {f"scorer/{name}": known for name, known in CLASSIFIERS[method].ARRAYS.items()}
    return PER_TERM | scorer


def fit_model(method, X, Y, genes, *, rng, options=None, observed=None):
    """Fit one method of CLASSIFIERS on all terms, each of which is trainable (`untrainable`).

    Parameters
    ----------
    method : of CLASSIFIERS
    X : float array (n_rows, n_features); a row is a group
    Y : bool array (n_rows, n_terms)
    genes : sequence (n_rows,), the gene of each row
    rng : numpy Generator, for the inner folds and for what the method draws
    options : FitOptions
    observed : bool array (n_rows, n_terms), which entries of Y were observed; None for all

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
        If the memory does not suffice, or a solver does not converge.
    """
    scorer_class, options = CLASSIFIERS[method], options or FitOptions()
    X, Y, genes = np.asarray(X), np.asarray(Y, bool), np.asarray(genes)
    observed = observed_mask(observed, Y.shape)
    Y = Y & observed
    if not np.isfinite(X).all():
        row = int(np.flatnonzero(~np.isfinite(X).all(axis=1))[0])
        raise DataError(f"the features of row {row} are not finite", fix="make the features file again")
    scorer, held_out = scorer_class.fit(X, Y, genes, rng=rng, options=options, observed=observed)
    rows = observed_rows(observed)
    pairs = [(v[known], t[known]) for v, t, known in zip(held_out.values.T, Y.T, rows)]
    slope, offset = np.array([calibrate(v, t) for v, t in pairs]).reshape(-1, 2).T
    decision_threshold = np.array([choose_threshold(v, t, options.operating_point) for v, t in pairs], float)
    n_groups = np.array([len(truth) for _, truth in pairs], np.int32)
    n_positive = Y.sum(axis=0).astype(np.int32)
    n_genes, _ = genes_of_terms(Y, genes, observed)
    areas = held_out_aucs(held_out, Y, genes, observed)
    answered = [truth[values > cut] for (values, truth), cut in zip(pairs, decision_threshold)]
    precision = np.array([truth.mean() if len(truth) else np.nan for truth in answered], float)
    precision[np.isnan(areas[0])] = np.nan
    of_terms = slope, offset, n_groups, n_positive, n_genes, *areas, precision
    return Model(method, scorer, decision_threshold, *of_terms)


def genes_of_terms(Y, genes, observed):
    """How many genes carry each term and how many do not: two int32 arrays (n_terms,).

    Parameters
    ----------
    Y : bool array (n_rows, n_terms)
    genes : sequence (n_rows,)
    observed : as in `flyannot.terms.scorer`; a gene that is nowhere known counts for neither
    """
    names, number = np.unique(genes, return_inverse=True)
    carries = np.zeros((len(names), Y.shape[1]), bool)
    np.logical_or.at(carries, number, Y)
    n_genes = carries.sum(axis=0).astype(np.int32)
    known = np.zeros(carries.shape, bool)
    np.logical_or.at(known, number, observed)
    return n_genes, known.sum(axis=0).astype(np.int32) - n_genes


def held_out_aucs(held_out: OutOfFoldValues, Y, genes, observed):
    """The cross-validated AUC of every term within folds, and its 95 % interval by a bootstrap over genes.

    Parameters
    ----------
    held_out : OutOfFoldValues
    Y : bool array (n_rows, n_terms)
    genes : sequence (n_rows,)
    observed : as in `flyannot.terms.scorer`

    Returns
    -------
    auc, low, high : float64 (n_terms,); nan, which is untested, for a term that fewer than LEAST_GENES genes
        carry or lack, or where no fold has both classes
    """
    (weights,) = bootstrap_gene_weights(genes)
    areas = np.full((3, Y.shape[1]), np.nan)
    rows = observed_rows(observed)
    for j in np.flatnonzero(np.minimum(*genes_of_terms(Y, genes, observed)) >= LEAST_GENES):
        values, truth, folds = (column[rows[j], j] for column in (held_out.scored, Y, held_out.folds))
        area, *samples = weighted_aucs(values, truth, folds, weights[:, rows[j]])
        if np.isfinite(area):
            areas[:, j] = area, *(bootstrap_interval(np.array(samples)) or (np.nan, np.nan))
    return areas


def model_of_no_terms(n_features):
    """The model of a stage range in which no term can be trained: a linear SVM of none."""
    scorer = CLASSIFIERS["svm"](np.zeros((0, n_features)), np.zeros(0), np.zeros(0))
    none = {name: np.zeros(0, np.int32 if kind == "i" else float) for name, (kind, _) in PER_TERM.items()}
    return model_of_terms("svm", scorer, none)


def untrainable(positive, genes, needed=2):
    """Why a term cannot be trained or evaluated, or "" if it can.

    Parameters
    ----------
    positive : bool array (n_rows,)
    genes : sequence (n_rows,)
    needed : int >= 2, the least number of genes with the term, and of genes without it
    """
    positive = np.asarray(positive, bool)[:, None]
    counts = genes_of_terms(positive, genes, np.ones_like(positive))
    for (n,), sign in zip(counts, ("positive", "negative")):
        if n < needed:
            return f"{pluralise(n, f'{sign} gene')}, {needed} needed"
    return ""
