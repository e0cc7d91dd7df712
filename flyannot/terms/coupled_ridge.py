"""Ridge regression of all terms at once, which mixes the value of each term with the values of the others.

For centred rows X and terms Y, W minimises |Y - X W|^2 + alpha s |W|^2, with s the mean squared length of a
row.  One alpha serves all terms.  Terms of an embryo occur together: stain in the dorsal ectoderm often
comes with stain in the ventral one.  A term with few genes learns little alone.  Let H be the out-of-fold
values of the groups, each term scaled to mean 0 and standard deviation 1.  Then C = H^T Y is the covariance
of values and truth.  It says how the value of one term predicts another.  The mixed value is

    (1 - share) H + share (H C scaled to standard deviation 1).

H C is the limit of a ridge regression of Y on H under a large penalty.  A few hundred genes are enough to
estimate the covariances of terms, but not their inverse.  The model is linear in the features: it consists of
weights and an intercept, and `flyannot explain` splits its values exactly.

alpha and share are chosen together by the mean AUC within the inner folds.  C always comes from the other
folds.  The first pair is kept unless another is better by more than MARGIN.  Among a few hundred genes the
best of many pairs is best by chance, and choosing it lowered the scores.

Entries that were not observed are filled with the value that the fit gives them.  The fit then equals the fit
without them.  They do not count in C.

Source: the second layer is stacking, Wolpert, Neural Networks 1992, doi:10.1016/S0893-6080(05)80023-1.
The covariance in place of its fit is ours.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from flyannot.terms.feature_rows import feature_weights_from_rows, inner_products
from flyannot.terms.folds import inner_folds
from flyannot.terms.scorer import Scorer, choose_setting, group_observed_terms

ALPHAS = (2.0, 1.0, 0.3, 5.0, 10.0, 30.0)  # the preferred first
SHARES = (0.3, 0.0, 0.15, 0.5)
MARGIN = 0.0025  # difference of mean AUCs


@dataclass(frozen=True, repr=False)
class CoupledRidge(Scorer):
    """A coupled ridge regression.

    weights : float64 (n_terms, n_features)
    intercept : float64 (n_terms,)
    mixing : float64 (n_terms, n_terms), column j weights the scaled values of all terms in term j
    alpha, share : float64 (1,)
    """

    mixing: np.ndarray
    alpha: np.ndarray
    share: np.ndarray

    ARRAYS = Scorer.ARRAYS | {
        "mixing": ("f", ("n_terms", "n_terms")),
        "alpha": ("f", (1,)),
        "share": ("f", (1,)),
    }

    @classmethod
    def fit(cls, X, Y, genes, *, rng, options, observed):
        """Fit all terms, as `Scorer.fit`; alpha and share are chosen within the inner folds."""
        folds = inner_folds(genes, options.n_folds, rng)
        mean = X.mean(axis=0, dtype=np.float64)
        products = inner_products(X, mean=mean, n_threads=options.n_threads)
        unmixed = _held_out_values(products, Y.astype(float), folds, ALPHAS, observed)
        scaled = [H / _spread(H) for H in unmixed]
        candidates = [_mixed_held_out(H, Y, folds, share, observed) for H in scaled for share in SHARES]
        chosen, held_out = choose_setting(candidates, Y, folds, margin=MARGIN, observed=observed)
        alpha, share = ALPHAS[chosen // len(SHARES)], SHARES[chosen % len(SHARES)]
        scale = _spread(unmixed[chosen // len(SHARES)])
        mixing = _mixing(scaled[chosen // len(SHARES)], Y, share, observed)
        dual = _dual_solver(products, Y.astype(float), observed)(alpha)
        weights = feature_weights_from_rows(dual.T, X, mean)
        intercept = -weights @ mean
        weights, intercept = mixing.T @ (weights / scale[:, None]), mixing.T @ (intercept / scale)
        options.on_terms(Y.shape[1])
        return cls(weights, intercept, mixing, np.array([alpha]), np.array([share])), held_out


def _held_out_values(products, Y, folds, alphas, observed):
    """Return the decision value of every row by models that were trained on the other folds, for every alpha.

    Parameters
    ----------
    products : float64 array (n_rows, n_rows), inner products of all rows of features
    Y : float64 array (n_rows, n_terms), 1 for rows with the term, otherwise 0
    folds : int array (n_rows,)
    alphas : sequence of float, the penalties
    observed : bool array (n_rows, n_terms)

    Returns
    -------
    values : float64 array (n_alphas, n_rows, n_terms), centred to mean 0 in each fold
    """
    values = np.empty((len(alphas), *Y.shape))
    for fold in np.unique(folds):
        out = folds == fold
        dual_of = _dual_solver(products[np.ix_(~out, ~out)], Y[~out], observed[~out])
        between = products[np.ix_(out, ~out)]
        for k, alpha in enumerate(alphas):
            of_fold = between @ dual_of(alpha)
            values[k, out] = of_fold - of_fold.mean(axis=0)
    return values


def _dual_solver(products, Y, observed):
    """Prepare ridge regressions of all terms with any alpha, from inner products of the rows.

    Parameters
    ----------
    products : float64 array (n_rows, n_rows), inner products of the rows of X; it is overwritten
    Y : float64 array (n_rows, n_terms)
    observed : bool array (n_rows, n_terms)

    Returns
    -------
    dual : function
        It takes alpha, and returns the dual coefficients A, float64 (n_rows, n_terms).  The weights are
        W = A^T X for centred rows X.  The columns of A sum to 0.
    """
    from scipy.linalg import cho_factor, cho_solve

    _centre(products)
    scale = max(np.trace(products) / len(products), np.finfo(float).tiny)

    def dual(alpha):
        regularised = products.copy()
        regularised.flat[:: len(products) + 1] += alpha * scale
        factor = cho_factor(regularised.T, lower=True, overwrite_a=True, check_finite=False)
        solve = partial(cho_solve, factor, check_finite=False)
        full = Y if observed.all() else _fill_unobserved(Y, observed, solve(products))
        A = solve(full - full.mean(axis=0))
        return A - A.mean(axis=0)

    return dual


def _centre(products):
    """Double-centre a Gram matrix in place."""
    means = products.mean(axis=0)
    products -= means
    products -= (means - means.mean())[:, None]


def _fill_unobserved(Y, observed, smoother):
    """Return Y, in which each unobserved entry is replaced by its own fitted value.

    The fit is linear in Y: fitted = (J/n + smoother) Y, where J is a matrix of ones.  So the unobserved
    entries of a term solve a system of linear equations.

    Parameters
    ----------
    Y : float64 array (n_rows, n_terms)
    observed : bool array (n_rows, n_terms)
    smoother : float64 array (n_rows, n_rows), of the ridge regression without its intercept
    """
    filled = Y.copy()
    fit = smoother + 1 / len(Y)
    for rows, terms in group_observed_terms(observed):
        lacking = np.setdiff1d(np.arange(len(Y)), rows)
        from_observed = fit[np.ix_(lacking, rows)] @ Y[np.ix_(rows, terms)]
        within = np.eye(len(lacking)) - fit[np.ix_(lacking, lacking)]
        filled[np.ix_(lacking, terms)] = np.linalg.solve(within, from_observed)
    return filled


def _centre_terms(Y, observed):
    """Subtract from each column of Y its mean over the observed rows; unobserved entries become 0."""
    mean = (Y & observed).sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    return np.where(observed, Y - mean, 0.0)


def _mixing(H, truth, share, observed):
    """Return the matrix M (n_terms, n_terms) with which H M are the mixed decision values.

    Parameters
    ----------
    H : float64 array (n_rows, n_terms), out-of-fold decision values
    truth : float64 array (n_rows, n_terms), 1 for rows with the term, otherwise 0
    share : float from 0 to 1, the weight of the covariance with other terms (module docstring)
    observed : bool array (n_rows, n_terms)
    """
    covariance = (H - H.mean(axis=0)).T @ _centre_terms(truth, observed)
    coupled = covariance / _spread(H @ covariance)
    return (1 - share) * np.eye(H.shape[1]) + share * coupled


def _mixed_held_out(H, truth, folds, share, observed):
    """Return out-of-fold decision values of each term, mixed with the values of other terms.

    The mixing matrix for the rows of a fold is computed by `_mixing` from the rows of the other folds.

    Parameters
    ----------
    H : float64 array (n_rows, n_terms), out-of-fold decision values
    truth : float64 array (n_rows, n_terms), 1 for rows with the term, otherwise 0
    folds : int array (n_rows,)
    share : float, the weight of the values of all terms in the mixture, from 0 (none) to 1
    observed : bool array (n_rows, n_terms), True where the truth is known

    Returns
    -------
    mixed : float64 array (n_rows, n_terms)
    """
    mixed = np.empty(H.shape)
    for fold in np.unique(folds):
        out = folds == fold
        M = _mixing(H[~out], truth[~out], share, observed[~out])
        mixed[out] = H[out] @ M
    return mixed


def _spread(values):
    """Return the standard deviation of every column; 1 for a constant column."""
    spread = values.std(axis=0)
    return np.where(spread > 0, spread, 1.0)
