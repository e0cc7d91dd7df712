"""The base class of classifiers: a frozen dataclass of arrays that computes decision values.

Not every entry of the table of groups and terms is known.  `observed` is a bool array (n_rows, n_terms); None
stands for all entries.  Entries that were not observed are never used.  A classifier gets a Y that is false
there, and its results must not depend on these entries.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import ClassVar

import numpy as np

from flyannot.base.text import short_repr
from flyannot.terms.feature_rows import check_columns
from flyannot.terms.folds import inner_folds
from flyannot.terms.metrics import concordant_pairs
from flyannot.terms.options import EXPECTED_F1


def _ignore_terms(n):
    """Ignore a number of terms."""


@dataclass(frozen=True)
class FitOptions:
    """Options of fitting any classifier.

    n_folds : largest number of inner folds, split by gene, that choose settings, thresholds and calibration
    n_threads : int
    operating_point : how answers are made of probabilities, as in `OperatingPoint`
    on_terms : function that is called with the number of terms that were fitted since the last call
    """

    n_folds: int = 3
    n_threads: int = 1
    operating_point: str | tuple = EXPECTED_F1
    on_terms: Callable = field(default=_ignore_terms, compare=False)


@dataclass(frozen=True)
class OutOfFoldValues:
    """Decision values of the training rows, by scorers that did not learn from their genes.

    All arrays are (n_rows, n_terms).

    values : by the chosen setting; for thresholds and probabilities
    scored : in each fold by the setting that the other folds alone would choose; for the AUC, because the AUC
        of the best of several settings is too optimistic
    folds : int, the inner fold of each row
    """

    values: np.ndarray
    scored: np.ndarray
    folds: np.ndarray


@dataclass(frozen=True)
class Scorer:
    """The base of all classifiers: a subclass has `settings` and `fit_setting`, or its own `fit`."""

    is_linear: ClassVar[bool] = False  # whether `linear_form` splits decision values
    # Name -> (kinds of type, dimensions), as in `schema`; n_terms, n_features are known.
    ARRAYS: ClassVar[dict[str, tuple[str, tuple]]] = {}

    def __init_subclass__(cls):
        cls.__repr__ = short_repr  # type: ignore[method-assign]  # a dataclass would print all numbers

    @staticmethod
    def settings(n_rows):
        """Return the settings to choose from, the preferred first: of equally good ones it wins."""
        raise NotImplementedError

    @classmethod
    def fit_setting(cls, X, Y, setting, *, rng, n_threads=1, observed=None):
        """Return the scorer of one setting, fitted on all rows."""
        raise NotImplementedError

    @classmethod
    def fit(cls, X, Y, genes, *, rng, options, observed=None):
        """Fit all terms, and report each to `options.on_terms`.

        The inner folds choose one setting for all terms, by the mean AUC over the terms.

        Parameters
        ----------
        X : float array (n_rows, n_features); a row is a group
        Y : bool array (n_rows, n_terms)
        genes : array (n_rows,), the gene of each row
        rng : numpy Generator, for the inner folds and for the draws of the method
        options : FitOptions
        observed : which entries of Y were observed; the out-of-fold values of the others have no meaning

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
        chosen, held_out = choose_setting(candidates, Y, folds, observed=observed)
        more = {"rng": rng, "n_threads": options.n_threads, "observed": observed}
        scorer = cls.fit_setting(X, Y, settings[chosen], **more)
        options.on_terms(Y.shape[1])
        return scorer, held_out

    @classmethod
    def _held_out_values(cls, setting, rows, folds, rngs, n_threads):
        """Return the values of every row by the scorer fitted without the fold of the row."""
        X, Y, observed = rows
        values = np.empty(Y.shape)
        for fold, rng in enumerate(rngs):
            out = folds == fold
            more = {"rng": rng, "n_threads": n_threads, "observed": observed[~out]}
            scorer = cls.fit_setting(X[~out], Y[~out], setting, **more)
            values[out] = scorer.decision_values(X[out], n_threads=n_threads)
        return values

    def decision_values(self, X, n_threads=1):
        """Return the decision value of every row for every term, float64 (n_rows, n_terms).

        Raises
        ------
        DataError
            If X has another number of columns than the scorer was fitted on.
        """
        raise NotImplementedError

    def arrays(self):
        """Return the arrays by name."""
        return {array.name: getattr(self, array.name) for array in fields(self)}

    @classmethod
    def from_arrays(cls, arrays):
        """Return the scorer with these `arrays`."""
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
        """Return X w + b."""
        return check_columns(X, self.weights.shape[1]) @ self.weights.T + self.intercept

    def linear_form(self, X, term):
        """Return weights (n_features,), intercept and rows.

        The values of X are rows @ weights + intercept.
        """
        return self.weights[term], self.intercept[term], X


def choose_setting(candidates, Y, folds, *, margin=0.0, observed=None):
    """Choose the setting with the best mean AUC within folds.

    Parameters
    ----------
    candidates : list of float arrays (n_rows, n_terms), one for each setting
        Out-of-fold decision values: each row is scored by a scorer that was fitted on the other folds.
    Y : bool array (n_rows, n_terms)
    folds : int array (n_rows,)
    margin : the first setting is kept unless another is better by more than this
    observed : bool array (n_rows, n_terms), which entries of Y were observed; None for all

    Returns
    -------
    chosen : int, the index of the setting; of equally good settings the first
    held_out : OutOfFoldValues
    """
    observed = observed_mask(observed, Y.shape)
    counts = [  # for every setting, ordered pairs and all pairs, (n_terms, 2, n_folds)
        np.array([concordant_pairs(v, t, folds, k) for v, t, k in zip(values.T, Y.T, observed.T)])
        for values in candidates
    ]
    chosen = _best_setting(counts, margin)
    scored = np.empty(Y.shape)
    for number, fold in enumerate(np.unique(folds)):
        others = _best_setting([np.delete(of_setting, number, axis=2) for of_setting in counts], margin)
        scored[folds == fold] = candidates[others][folds == fold]
    return chosen, OutOfFoldValues(candidates[chosen], scored, np.repeat(folds[:, None], Y.shape[1], axis=1))


def _best_setting(counts, margin):
    """Return the number of the setting with the best mean AUC; the first gets the margin."""
    areas = [_mean_auc(*of_setting.sum(axis=2).T) for of_setting in counts]
    return int(np.argmax([areas[0] + margin, *areas[1:]]))


def _mean_auc(ordered, n_pairs):
    """Return the mean AUC over the terms with both classes in some fold; 0 if there are none."""
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

    Terms that were not observed in any row are left out.
    """
    if observed.all():
        return [(slice(None), slice(None))]
    patterns, number = np.unique(observed, axis=1, return_inverse=True)
    blocks = [(np.flatnonzero(rows), np.flatnonzero(number == k)) for k, rows in enumerate(patterns.T)]
    return [(rows, terms) for rows, terms in blocks if len(rows)]
