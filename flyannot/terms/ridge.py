"""Ridge regression of all terms at once, by scikit-learn."""

from dataclasses import dataclass

import numpy as np

from flyannot.encode.groups import unit_rows
from flyannot.terms.folds import inner_folds
from flyannot.terms.scorer import Scorer, check_columns, choose_setting, group_observed_terms, observed_mask

ALPHAS = (1.0, 0.01, 0.03, 0.1, 0.3, 3.0, 10.0, 30.0)  # for rows of length 1; of equally good ones the first


@dataclass(frozen=True, repr=False)
class Ridge(Scorer):
    """A ridge regression.

    weights : float64 (n_terms, n_features)
    intercept : float64 (n_terms,)
    alpha : float64 (1,)
    """

    alpha: np.ndarray

    ARRAYS = Scorer.ARRAYS | {"alpha": ("f", (1,))}

    @classmethod
    def fit(cls, X, Y, genes, *, rng, options, observed):
        """Fit all terms, as `Scorer.fit`; alpha is chosen within the inner folds."""
        folds = inner_folds(genes, options.n_folds, rng)
        held_out = np.empty((len(ALPHAS), *Y.shape))
        for fold in np.unique(folds):
            out = folds == fold
            for values, alpha in zip(held_out, ALPHAS):
                values[out] = cls.fit_alpha(X[~out], Y[~out], alpha, observed[~out]).decision_values(X[out])
        chosen, held_out = choose_setting(held_out, Y, folds, observed=observed)
        options.on_terms(Y.shape[1])
        return cls.fit_alpha(X, Y, ALPHAS[chosen], observed), held_out

    @classmethod
    def fit_alpha(cls, X, Y, alpha, observed=None):
        """Fit weights W and intercepts b, which minimise |Y - X W - b|^2 + alpha |W|^2.

        The rows of X are scaled to length 1. The other parameters are as in `Scorer.fit`.
        """
        from sklearn.linear_model import Ridge as Regression

        X, Y = unit_rows(X).astype(np.float64), np.asarray(Y, np.float64)
        weights, intercept = np.zeros((Y.shape[1], X.shape[1])), np.zeros(Y.shape[1])
        for rows, terms in group_observed_terms(observed_mask(observed, Y.shape)):
            fitted = Regression(alpha=alpha).fit(X[rows], Y[rows][:, terms])
            weights[terms], intercept[terms] = np.atleast_2d(fitted.coef_), fitted.intercept_
        return cls(weights, intercept, np.array([float(alpha)]))

    def decision_values(self, X):
        """Return X W + b, with the rows of X scaled to length 1."""
        units = unit_rows(check_columns(X, self.weights.shape[1]))
        return super().decision_values(units.astype(np.float64))

    def linear_form(self, X, term):
        """Return weights, intercept and rows of a term, as `Scorer.linear_form`.

        The rows are the rows of X, scaled to length 1.
        """
        return super().linear_form(unit_rows(X), term)
