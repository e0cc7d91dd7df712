"""The base class of classifiers: a frozen dataclass of arrays that computes decision values.

It is not always known whether a group has a term.  `observed` is a bool array (n_rows, n_terms), True where
it is known; None stands for everywhere.  Y is False where it is not known.  The result of a classifier must
not depend on these entries.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import ClassVar

import numpy as np

from flyannot.base.errors import DataError
from flyannot.terms.metrics import concordant_pairs
from flyannot.terms.options import EXPECTED_F1


def _ignore_terms(n):
    """Do nothing with a number of trained terms: the default of `FitOptions.on_terms`."""


@dataclass(frozen=True)
class FitOptions:
    """Options for training any classifier.

    n_folds : largest number of inner folds (split by gene) that choose settings, thresholds and calibration
    n_threads : int
    operating_point : how answers are made of probabilities, as in `OperatingPointType`
    is_tested : bool, False for a model that needs no AUCs of its own, such as that of a fold
    on_terms : function for progress, called with the number of terms that were trained since the last call
    """

    n_folds: int = 3
    n_threads: int = 1
    operating_point: str | tuple = EXPECTED_F1
    is_tested: bool = True
    on_terms: Callable = field(default=_ignore_terms, compare=False)

    @classmethod
    def of_training(cls, options, n_threads, **more):
        """Return the FitOptions for some TrainOptions; `more` has other fields by name."""
        return cls(options.inner_folds, n_threads, options.operating_point, **more)


@dataclass(frozen=True)
class OutOfFoldValues:
    """Decision values of the training rows, each by a classifier that was not trained on the gene of the row.

    All arrays have the shape (n_rows, n_terms).

    values : float, by the setting that is best on all folds; for thresholds and probabilities
    scored : float, by the setting that is best on the other folds; for the AUC
        The best of several settings on all folds would have too large an AUC.
    folds : int, the inner fold of each row for each term
    """

    values: np.ndarray
    scored: np.ndarray
    folds: np.ndarray


@dataclass(frozen=True)
class Scorer:
    """The base class of classifiers of all terms, which are linear: X @ weights.T + intercept.

    A subclass defines `fit`, and has no `__repr__` of its own, which would print all numbers.

    weights : float (n_terms, n_features)
    intercept : float (n_terms,)
    """

    weights: np.ndarray
    intercept: np.ndarray

    # Name -> (kinds of type, dimensions), as in `schema`; n_terms, n_features are known.
    ARRAYS: ClassVar[dict[str, tuple[str, tuple]]] = {
        "weights": ("f", ("n_terms", "n_features")),
        "intercept": ("f", ("n_terms",)),
    }

    @classmethod
    def fit(cls, X, Y, genes, *, rng, options, observed):
        """Train a classifier of all terms, and compute out-of-fold decision values.

        Parameters
        ----------
        X : float array (n_rows, n_features), one row for each group
        Y : bool array (n_rows, n_terms)
        genes : array (n_rows,), the gene of each row
        rng : numpy Generator, for the inner folds and for the classifier
        options : FitOptions
        observed : bool array (n_rows, n_terms), True where Y is known
            The out-of-fold values of other entries have no meaning.

        Returns
        -------
        scorer : an object of this class, trained on all rows
        held_out : OutOfFoldValues
        """
        raise NotImplementedError

    def decision_values(self, X):
        """Return the decision value of every row for every term, float64 (n_rows, n_terms).

        Raises
        ------
        DataError
            If X has another number of columns than the scorer was fitted on.
        """
        return check_columns(X, self.weights.shape[1]) @ self.weights.T + self.intercept

    def arrays(self):
        """Return the fields of the dataclass, which are arrays, as a dict by name."""
        return {array.name: getattr(self, array.name) for array in fields(self)}

    @classmethod
    def from_arrays(cls, arrays):
        """Build a scorer of this class from the dict that `arrays` returned."""
        return cls(**{array.name: np.asarray(arrays[array.name]) for array in fields(cls)})

    def linear_form(self, X, term):
        """Return the linear form of a term: its decision values are rows @ weights + intercept.

        Parameters
        ----------
        X : float array (n_rows, n_features)
        term : int, the number of the term

        Returns
        -------
        weights : float array (n_features,)
        intercept : float
        rows : float array (n_rows, n_features)
        """
        return self.weights[term], self.intercept[term], X


def check_columns(X, n_features):
    """Return X as an array (n_rows, n_features).

    Raises
    ------
    DataError
        If X has another number of dimensions or of columns.
    """
    X = np.asarray(X)
    if X.ndim != 2 or X.shape[1] != n_features:
        fix = "make the features with the dictionary and the pooling that the model was trained on"
        raise DataError(f"the features have {X.shape[-1]} columns, the model {n_features}", fix=fix)
    return X


def choose_setting(candidates, Y, folds, *, margin=0.0, observed=None):
    """Choose the setting of a classifier with the best mean AUC within folds.

    Parameters
    ----------
    candidates : list of float arrays (n_rows, n_terms), one for each setting
        Out-of-fold decision values: each row is scored by a classifier that was trained on the other folds.
    Y : bool array (n_rows, n_terms)
    folds : int array (n_rows,)
    margin : float; another setting than the first must be better than the first by more than this
    observed : bool array (n_rows, n_terms), True where Y is known; None for everywhere

    Returns
    -------
    chosen : int, the number of the setting; of equally good settings the first
    held_out : OutOfFoldValues
    """
    observed = observed_mask(observed, Y.shape)
    # For every setting, concordant pairs and all pairs, (2, n_folds, n_terms).
    counts = [np.array(concordant_pairs(values, Y, folds, observed)) for values in candidates]
    chosen = _best_setting(counts, margin)
    scored = np.empty(Y.shape)
    for number, fold in enumerate(np.unique(folds)):
        others = _best_setting([np.delete(of_setting, number, axis=1) for of_setting in counts], margin)
        scored[folds == fold] = candidates[others][folds == fold]
    return chosen, OutOfFoldValues(candidates[chosen], scored, np.repeat(folds[:, None], Y.shape[1], axis=1))


def _best_setting(counts, margin):
    """Return the number of the setting with the best mean AUC.

    Parameters
    ----------
    counts : list with an array (2, n_folds, n_terms) for each setting: concordant pairs and all pairs
    margin : float that is added to the AUC of the first setting
    """
    areas = [_mean_auc(*of_setting.sum(axis=1)) for of_setting in counts]
    return int(np.argmax([areas[0] + margin, *areas[1:]]))


def _mean_auc(ordered, n_pairs):
    """Return the mean AUC over the terms that have a pair in some fold; 0 if no term has.

    Parameters
    ----------
    ordered : float array (n_terms,), numbers of concordant pairs
    n_pairs : float array (n_terms,), numbers of all pairs
    """
    has = n_pairs > 0
    return float(np.mean(ordered[has] / n_pairs[has])) if has.any() else 0.0


def observed_mask(observed, shape):
    """Return `observed` as a bool array of this shape; None becomes an array of True."""
    return np.ones(shape, bool) if observed is None else np.asarray(observed, bool)


def list_observed_rows(observed):
    """Return a list with an index for each term: the rows for which it is known whether they have the term.

    observed : bool array (n_rows, n_terms)
    """
    return [slice(None) if column.all() else np.flatnonzero(column) for column in observed.T]


def group_observed_terms(observed):
    """Group the terms that are known for the same rows, so that they can be trained at once.

    Terms that are known for no row are left out.

    Parameters
    ----------
    observed : bool array (n_rows, n_terms)

    Returns
    -------
    blocks : list of (rows, terms), two int arrays
    """
    if observed.all():
        return [(slice(None), slice(None))]
    patterns, number = np.unique(observed, axis=1, return_inverse=True)
    blocks = [(np.flatnonzero(rows), np.flatnonzero(number == k)) for k, rows in enumerate(patterns.T)]
    return [(rows, terms) for rows, terms in blocks if len(rows)]
