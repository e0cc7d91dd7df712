"""What every classifier is: a frozen dataclass of arrays that gives decision values.

Not every entry of the table of groups and terms is known.  `observed` is a bool array (n_rows, n_terms); an
argument that is None stands for all entries.  What was not observed takes no part in anything: a classifier
gets a Y that is false there, and must give the same for any other Y there.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar

import numpy as np

from flyannot.base.text import short_repr
from flyannot.terms.feature_rows import checked_columns
from flyannot.terms.folds import inner_folds
from flyannot.terms.metrics import pair_counts_by_fold


def _nobody_counts(n):
    """Of terms."""


@dataclass(frozen=True)
class FitOptions:
    """How a classifier is fitted, whatever it is.

    n_folds: inner folds at most, split by gene, that choose settings, thresholds and calibration.
    operating_point: what a threshold is for, as in `flyannot.terms.calibration.choose_threshold`.
    on_terms: called with a number of terms whenever so many more are fitted.
    elsewhere: function (work, shared, tasks, on_done) to the results of work(shared, task) of every task, in
        their order, on other machines; None where there are none.
    """

    n_folds: int = 3
    n_threads: int = 1
    operating_point: tuple | None = None
    on_terms: Callable = field(default=_nobody_counts, compare=False)
    elsewhere: Callable | None = field(default=None, compare=False)

    def sent(self):
        """The same for a task on another machine, which has one thread and nobody to tell."""
        return replace(self, n_threads=1, on_terms=_nobody_counts, elsewhere=None)


@dataclass(frozen=True)
class OutOfFoldValues:
    """Decision values of the training rows by scorers that did not learn from their genes.

    All (n_rows, n_terms).
    values : by the setting that was chosen; for thresholds and probabilities
    scored : in each fold by the setting that the other folds alone would choose; for the AUC, because that of
        the best of several settings is flattered by chance
    folds : int, the inner fold of each row
    """

    values: np.ndarray
    scored: np.ndarray
    folds: np.ndarray


@dataclass(frozen=True)
class Scorer:
    """The base of all classifiers: a subclass has `settings` and `fit_setting`, or a `fit` of its own."""

    is_linear: ClassVar[bool] = False  # then `linear_form` splits every decision value
    # name -> (kinds of type, dimensions) as in `flyannot.files.hdf5.schema`; n_terms, n_features known
    ARRAYS: ClassVar[dict[str, tuple[str, tuple]]] = {}

    def __init_subclass__(cls):
        cls.__repr__ = short_repr  # type: ignore[method-assign]  # a dataclass would make its own: all numbers

    @staticmethod
    def settings(n_rows):
        """What inner folds choose from, the preferred first: of equally good ones it wins."""
        raise NotImplementedError

    @classmethod
    def fit_setting(cls, X, Y, setting, *, rng, n_threads=1, observed=None):
        """The scorer of one setting, fitted on all rows."""
        raise NotImplementedError

    @classmethod
    def fit(cls, X, Y, genes, *, rng, options, observed=None):
        """Fit all terms, and tell `options.on_terms` of each.

        Here inner folds choose one setting for all terms, by the mean AUC over the terms.

        Parameters
        ----------
        X : float array (n_rows, n_features); a row is a group
        Y : bool array (n_rows, n_terms)
        genes : array (n_rows,), the gene of each row
        rng : numpy Generator, for the inner folds and for what the method draws
        options : FitOptions
        observed : which entries of Y were; what is held out of others is nobody's

        Returns
        -------
        scorer : an object of this class, fitted on all rows
        held_out : OutOfFoldValues
        """
        observed = observed_mask(observed, Y.shape)
        folds = inner_folds(genes, options.n_folds, rng)
        fold_rngs, rng = rng.spawn(int(folds.max()) + 1), rng.spawn(1)[0]
        settings = cls.settings(len(X) - np.bincount(folds).max())
        candidates = [
            cls._held_out_values(setting, (X, Y, observed), folds, fold_rngs, options.n_threads)
            for setting in settings
        ]
        chosen, held_out = choose_held_out(candidates, Y, folds, observed=observed)
        more = {"rng": rng, "n_threads": options.n_threads, "observed": observed}
        scorer = cls.fit_setting(X, Y, settings[chosen], **more)
        options.on_terms(Y.shape[1])
        return scorer, held_out

    @classmethod
    def _held_out_values(cls, setting, rows, folds, rngs, n_threads):
        """The decision values of every row by the scorer that was fitted without the row's fold."""
        X, Y, observed = rows
        values = np.empty(Y.shape)
        for fold, rng in enumerate(rngs):
            out = folds == fold
            more = {"rng": rng, "n_threads": n_threads, "observed": observed[~out]}
            scorer = cls.fit_setting(X[~out], Y[~out], setting, **more)
            values[out] = scorer.decision_values(X[out], n_threads=n_threads)
        return values

    @classmethod
    def pass_draws(cls, genes, *, rng, options):
        """Draw from `rng` what `fit` draws from it: the fit is made elsewhere, with a copy."""
        folds = inner_folds(genes, options.n_folds, rng)
        rng.spawn(int(folds.max()) + 2)

    def decision_values(self, X, n_threads=1):
        """The decision value of every row for every term, float64 (n_rows, n_terms).

        Raises
        ------
        DataError
            If X has another number of columns than the scorer was fitted on.
        """
        raise NotImplementedError

    def arrays(self):
        """The arrays by name."""
        return {array.name: getattr(self, array.name) for array in fields(self)}

    @classmethod
    def from_arrays(cls, arrays):
        """What `arrays` gave, as a scorer again."""
        return cls(**{array.name: np.asarray(arrays[array.name]) for array in fields(cls)})


@dataclass(frozen=True)
class LinearScorer(Scorer):
    """A scorer with `weights` (n_terms, n_features) and `intercept` (n_terms,)."""

    weights: np.ndarray
    intercept: np.ndarray

    is_linear = True
    LINEAR_ARRAYS: ClassVar[dict[str, tuple[str, tuple]]] = {
        "weights": ("f", ("n_terms", "n_features")),
        "intercept": ("f", ("n_terms",)),
    }

    def decision_values(self, X, n_threads=1):
        """X w + b."""
        return checked_columns(X, self.weights.shape[1]) @ self.weights.T + self.intercept

    def linear_form(self, X, term):
        """weights (n_features,), intercept and rows, such that rows weights + intercept are the values of
        X."""
        return self.weights[term], self.intercept[term], X


def choose_held_out(candidates, Y, folds, *, margin=0.0, observed=None):
    """The setting with the best mean AUC within folds.

    Parameters
    ----------
    candidates : list of float arrays (n_rows, n_terms), for every setting the values of rows by the scorer
        that was fitted without the row's fold
    Y : bool array (n_rows, n_terms)
    folds : int array (n_rows,)
    margin : the first setting stays unless another is better by more than this
    observed : which entries of Y were

    Returns
    -------
    chosen : int, the number of the setting; of equally good ones the first
    held_out : OutOfFoldValues
    """
    observed = observed_mask(observed, Y.shape)
    counts = [  # of every setting ordered pairs and all pairs, (n_terms, 2, n_folds)
        np.array([pair_counts_by_fold(v, t, folds, k) for v, t, k in zip(values.T, Y.T, observed.T)])
        for values in candidates
    ]
    chosen, scored = _best_setting(counts, margin), np.empty(Y.shape)
    for number, fold in enumerate(np.unique(folds)):
        others = _best_setting([np.delete(of_setting, number, axis=2) for of_setting in counts], margin)
        scored[folds == fold] = candidates[others][folds == fold]
    return chosen, OutOfFoldValues(candidates[chosen], scored, np.repeat(folds[:, None], Y.shape[1], axis=1))


def _best_setting(counts, margin):
    areas = [_mean_auc(*of_setting.sum(axis=2).T) for of_setting in counts]
    return int(np.argmax([areas[0] + margin, *areas[1:]]))


def _mean_auc(ordered, n_pairs):
    """Over the terms for which some fold has both classes; 0 if there is none."""
    has = n_pairs > 0
    return float(np.mean(ordered[has] / n_pairs[has])) if has.any() else 0.0


def observed_mask(observed, shape):
    """Return which entries of the table of groups and terms were observed; None stands for all."""
    return np.ones(shape, bool) if observed is None else np.asarray(observed, bool)


def observed_rows(observed):
    """Return for every term an index of the rows in which it was observed."""
    return [slice(None) if column.all() else np.flatnonzero(column) for column in observed.T]


def observed_blocks(observed):
    """Return (rows, terms) for all terms that were observed in the same rows, to be fitted at once.

    Terms that were observed nowhere are left out.
    """
    if observed.all():
        return [(slice(None), slice(None))]
    patterns, number = np.unique(observed, axis=1, return_inverse=True)
    blocks = [(np.flatnonzero(rows), np.flatnonzero(number == k)) for k, rows in enumerate(patterns.T)]
    return [(rows, terms) for rows, terms in blocks if len(rows)]
