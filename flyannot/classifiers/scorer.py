"""What every classifier is: a frozen dataclass of arrays that gives decision values."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar

import numpy as np

from flyannot.classifiers.folds import inner_folds
from flyannot.classifiers.linear_values import linear_values
from flyannot.runtime.wording import short_repr


def _nobody_counts(n):
    """Of terms."""


@dataclass(frozen=True)
class FitOptions:
    """How a classifier is fitted, whatever it is.

    n_folds: inner folds at most, split by gene, that choose settings, thresholds and calibration.
    operating_point: what a threshold is for, as in `flyannot.classifiers.calibration.threshold_at`.
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
class HeldOut:
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
    """The base of all classifiers."""

    is_linear: ClassVar[bool] = False  # then `linear_form` splits every decision value
    # name -> (kinds of type, dimensions) as in `flyannot.store.schema`; n_terms, n_features known
    ARRAYS: ClassVar[dict[str, tuple[str, tuple]]] = {}

    def __init_subclass__(cls):
        cls.__repr__ = short_repr  # type: ignore[method-assign]  # a dataclass would make its own: all numbers

    @classmethod
    def fit(cls, X, Y, genes, *, rng, options, observed=None):
        """Fit all terms, and tell `options.on_terms` of each.

        Parameters
        ----------
        X : float array (n_rows, n_features); a row is a group
        Y : bool array (n_rows, n_terms)
        genes : array (n_rows,), the gene of each row
        rng : numpy Generator, for the inner folds and for what the method draws
        options : FitOptions
        observed : as in `flyannot.classifiers.observed`; what is held out of other entries is nobody's

        Returns
        -------
        scorer : an object of this class, fitted on all rows
        held_out : HeldOut
        """
        raise NotImplementedError

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
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def from_arrays(cls, arrays):
        """What `arrays` gave, as a scorer again."""
        return cls(**{one.name: np.asarray(arrays[one.name]) for one in fields(cls)})


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
        return linear_values(X, self.weights, self.intercept)

    def linear_form(self, X, term):
        """weights (n_features,), intercept and rows, such that rows weights + intercept are the values of
        X."""
        return self.weights[term], self.intercept[term], X
