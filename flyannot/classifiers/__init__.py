"""The table of classifiers.  To add one: its class, and a line here.

`fit` turns rows and terms into a `Fitted`, the same thing for every method: decision values, and for each
term a threshold and the slope and offset of its probability, all chosen on values that inner folds held
out.  No gene is in two folds.

    fitted = fit("siso", X, Y, genes, rng=rng)             X (n_rows, n_features), Y (n_rows, n_terms)
    values = fitted.decision_values(X_new)                 (n_rows, n_terms); merge the images of a group
    values = merge_images(values, bags, options.merge)     with flyannot.classifiers.linear_svm.merge_images
    if rows are images
    fitted.probabilities(values), fitted.answers(values)
    from_arrays(fitted.method, fitted.arrays())            the same again: a flat dict of numeric arrays

A method other than the linear SVMs is a class like those of `flyannot.classifiers.propagation`.  Its
`settings` are
judged by the mean AUC over the terms within the inner folds; the first of equally good ones wins, and the
model is fitted again on all rows.  One setting serves all terms: the methods look at all terms together.
`svm` and `undersampled-svm` choose C for each term in folds of the term's own
(`flyannot.classifiers.linear_svm`), and a class
with a method `choose` (`flyannot.classifiers.coupled_ridge`) does its own choosing within the inner folds.
"""

from dataclasses import dataclass, replace
from importlib import import_module

import numpy as np

from flyannot.classifiers.calibration import calibrate, sigmoid, threshold_at
from flyannot.classifiers.folds import gene_folds
from flyannot.classifiers.linear import linear_values
from flyannot.classifiers.linear_svm import TrainOptions, merge_images, train_terms, untrainable
from flyannot.errors import DataError, InputError
from flyannot.runtime.validation import chosen
from flyannot.scores.metrics import auc_within_folds

_WHERE = {
    "svm": ":LinearSvm",
    "undersampled-svm": ":LinearSvm",
    "coupled-ridge": "coupled_ridge:CoupledRidge",
    "rbf-svm": "rbf_svm:RbfSvm",
    "siso": "propagation:Siso",
    "hash-siso": "propagation:HashSiso",
    "knn": "propagation:Neighbours",
    "ridge": "propagation:Ridge",
}

CLASSIFIERS = tuple(_WHERE)

N_MEMBERS = {"svm": None, "undersampled-svm": 15}  # SVMs that vote on a term, where they do

_PER_TERM = ("threshold", "slope", "offset", "n_groups", "n_positive")


@dataclass(frozen=True)
class Fitted:
    """A classifier of the table, calibrated.

    method : its name; scorer : what gives the decision values
    threshold, slope, offset : float64 (n_terms,); n_groups, n_positive : int32 (n_terms,)
    """

    method: str
    scorer: object
    threshold: np.ndarray
    slope: np.ndarray
    offset: np.ndarray
    n_groups: np.ndarray
    n_positive: np.ndarray

    def decision_values(self, X, n_threads=1):
        """The decision value of every row for every term, float64 (n_rows, n_terms).

        Raises
        ------
        DataError
            If X has another number of columns than the model was fitted on.
        """
        return self.scorer.decision_values(X, n_threads=n_threads)

    def probabilities(self, values):
        """Calibrated probabilities of decision values, of one shape with them."""
        return sigmoid(self.slope * values + self.offset)

    def answers(self, values):
        """Yes or no, bool, for decision values, of one shape with them."""
        return values > self.threshold

    def near_threshold(self, values, width):
        """Whether probabilities are at most `width` from that at the term's threshold, bool, shape of values.

        A term of which nothing was learned (slope 0) has one probability: it is always near.
        """
        return np.abs(self.probabilities(values) - self.probabilities(self.threshold)) <= width

    def arrays(self):
        """All that the classifier is, by name: integer and floating arrays, none of text or objects.

        The scorer's begin with "scorer/"; the others have one entry per term.
        """
        scorer = {f"scorer/{name}": array for name, array in self.scorer.arrays().items()}
        return scorer | {name: getattr(self, name) for name in _PER_TERM}


def from_arrays(method, arrays):
    """The `Fitted` whose `arrays` these are."""
    mine = {n.removeprefix("scorer/"): a for n, a in arrays.items() if n.startswith("scorer/")}
    return Fitted(
        method, _scorer_class(method).from_arrays(mine), *(np.asarray(arrays[name]) for name in _PER_TERM)
    )


def fit(method, X, Y, genes, *, rng, bags=None, options=None):
    """Fit one method of CLASSIFIERS on all terms.

    Parameters
    ----------
    method : of CLASSIFIERS
    X : float array (n_rows, n_features)
    Y : bool array (n_rows, n_terms)
    genes : sequence (n_rows,), the gene of each row
    rng : numpy Generator, for the inner folds and for what the method draws
    bags : None if every row is a group; else (n_rows,) the group of each row, an image
    options : flyannot.classifiers.linear_svm.TrainOptions; its Cs concern the linear SVMs only

    Returns
    -------
    fitted : Fitted

    Raises
    ------
    InputError
        If the method is unknown or a term is untrainable.
    DataError
        If X has a nan or an infinity, or the lengths differ.
    """
    options = options or TrainOptions()
    scorer_class = _scorer_class(method)
    X, Y, genes = np.asarray(X), np.asarray(Y, bool), np.asarray(genes)
    if method in N_MEMBERS:
        options = replace(options, n_members=N_MEMBERS[method])
        models = train_terms(X, Y, genes, rng=rng, bags=bags, options=options)
        return _wrap(method, models, X.shape[1])
    bags = np.arange(len(X)) if bags is None else np.asarray(bags)
    _check(X, Y, genes, bags)
    first = np.unique(bags, return_index=True)[1]
    truth = Y[first]
    n_folds = min(options.n_folds, len(np.unique(genes)))
    folds = gene_folds(genes, n_folds, rng)
    if hasattr(scorer_class, "choose"):
        scorer, held_out = scorer_class.choose(X, Y, folds, bags, options.merge)
        return Fitted(method, scorer, *_calibration(held_out, truth, options.at))
    fold_rngs, rng = rng.spawn(n_folds), rng.spawn(1)[0]
    best, setting, held_out = -1.0, None, None
    for candidate in scorer_class.settings(len(X) - np.bincount(folds).max()):
        values = _held_out_values(scorer_class, (X, Y), folds, candidate, fold_rngs, options)
        values = merge_images(values, bags, options.merge)
        area = _mean_auc(values, truth, folds[first])
        if area > best:
            best, setting, held_out = area, candidate, values
    scorer = scorer_class.fit(X, Y, setting, rng=rng, n_threads=options.n_threads)
    return Fitted(method, scorer, *_calibration(held_out, truth, options.at))


def _scorer_class(method):
    module, _, name = _WHERE[chosen("classifier", method, CLASSIFIERS)].partition(":")
    return getattr(import_module(f"flyannot.classifiers.{module}".rstrip(".")), name)


def _check(X, Y, genes, bags):
    if not len(X) == len(Y) == len(genes) == len(bags):
        lengths = f"{len(X)}, {len(Y)}, {len(genes)} and {len(bags)} rows"
        raise DataError(f"features, terms, genes and groups have {lengths}; wrong files?")
    if not np.isfinite(X).all():
        raise DataError("the features are not finite", fix="make the features file again")
    for j, positive in enumerate(Y.T):
        reason = untrainable(positive, genes)
        if reason:
            raise InputError(f"term number {j} cannot be trained: {reason}", fix="leave this term out")


def _held_out_values(scorer_class, rows, folds, setting, rngs, options):
    """The decision values of every row by the model that was fitted without the row's fold."""
    X, Y = rows
    values = np.empty(Y.shape)
    for fold, rng in enumerate(rngs):
        out = folds == fold
        scorer = scorer_class.fit(X[~out], Y[~out], setting, rng=rng, n_threads=options.n_threads)
        values[out] = scorer.decision_values(X[out], n_threads=options.n_threads)
    return values


def _mean_auc(values, truth, folds):
    """Over the terms for which some fold has both classes; 0 if there is none."""
    areas = [auc_within_folds(v, t, folds) for v, t in zip(values.T, truth.T)]
    areas = [area for area in areas if area is not None]
    return float(np.mean(areas)) if areas else 0.0


def _calibration(values, truth, at):
    """threshold, slope, offset, n_groups, n_positive of every term, from held-out values of groups."""
    pairs = list(zip(values.T, truth.T))
    slope, offset = np.array([calibrate(v, t) for v, t in pairs]).reshape(-1, 2).T
    threshold = np.array([threshold_at(v, t, at) for v, t in pairs], float)
    n_groups = np.full(len(pairs), len(truth), np.int32)
    return threshold, slope, offset, n_groups, truth.sum(axis=0).astype(np.int32)


@dataclass(frozen=True)
class LinearSvm:
    """The models of `flyannot.classifiers.linear_svm` side by side: weights (n_terms, n_features),
    intercept, C (n_terms,)."""

    weights: np.ndarray
    intercept: np.ndarray
    C: np.ndarray

    def decision_values(self, X, n_threads=1):
        """X w + b."""
        return linear_values(X, self.weights, self.intercept)

    def arrays(self):
        """The fields by name."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays):
        """What `arrays` gave, as a model again."""
        return cls(arrays["weights"], arrays["intercept"], arrays["C"])


def of_no_terms(n_features):
    """The classifier of a stage range in which no term can be trained."""
    return _wrap("svm", [], n_features)


def _wrap(method, models, n_features):
    """A `Fitted` from a list of `flyannot.classifiers.linear_svm.TermModel`."""
    columns = {
        n: np.array([getattr(m, n) for m in models], float)
        for n in ("intercept", "C", "threshold", "slope", "offset")
    }
    counts = [np.array([getattr(m, n) for m in models], np.int32) for n in ("n_groups", "n_positive")]
    weights = np.array([m.weights for m in models]).reshape(len(models), n_features)
    scorer = LinearSvm(weights, columns["intercept"], columns["C"])
    return Fitted(method, scorer, columns["threshold"], columns["slope"], columns["offset"], *counts)
