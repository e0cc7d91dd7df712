"""Adaptation of a trained model to the curated terms of other groups, such as the verdicts of a curator.

The base model gives the new groups logits L (n_groups, n_base_terms): slope times decision value plus offset.
Z has these logits, centred and scaled to standard deviation 1, and a last column of ones.  The adapted logit
of term j is

    L_j + Z u_j,   where u_j minimises   sum_i loss(L_ij + Z_i u_j, y_ij) + penalty s_j/2 |u_j|^2

over the groups i for which y_ij is known, with the logistic loss.  So the base model is the prior, and the
new groups say how the logits of all terms together predict one of them.  The result is linear in the logits,
and so in the features of a linear base model.

s_j is the standard deviation of y_ij by the base model, divided by its root mean square over the terms.  So
rare terms move nearly as far as frequent ones.  One penalty serves all terms.  It is the first of PENALTIES,
unless another has a smaller loss on held-out genes by a number of standard errors.  An infinite penalty
leaves the base model unchanged.  With ten genes, a choice by the loss alone was worse than the base model.
"""

from dataclasses import dataclass, replace

import numpy as np

from flyannot.terms.calibration import sigmoid
from flyannot.terms.folds import inner_folds
from flyannot.terms.model import PER_TERM, Model, build_model, count_genes, fit_model
from flyannot.terms.scorer import Scorer, observed_mask

# Each penalty, and how many standard errors it must be better than the first.
PENALTIES = {100.0: 0, np.inf: 1, 30.0: 2, 10.0: 2}
_N_FOLDS = 5
_MAX_STEPS = 100  # Newton steps; about five are needed
_TOLERANCE = 1e-8  # largest change of a coefficient in the last step


@dataclass(frozen=True)
class Adapter:
    """A base model, which is adapted to the terms of other groups.

    Its rows of features are the logits of the base model, followed by any coordinates of the groups, from
    which terms are learned that the base model does not know.

    base : Model of a linear method
    base_terms : list of the names of its terms
    """

    base: Model
    base_terms: list

    def logits(self, X):
        """Return the calibrated logits of the base model, float64 (n_rows, n_base_terms).

        X : float array (n_rows, n_features), features of groups
        """
        return self.base.logits(self.base.decision_values(X))

    def fit(self, X, Y, genes, *, terms, rng, options, observed=None):
        """Adapt the base model to groups, and learn the terms that it does not know.

        Parameters
        ----------
        X : float array (n_rows, n_base_terms + n_coordinates), logits and coordinates of the groups
        Y : bool array (n_rows, n_terms), True if the group has the term
        genes : sequence (n_rows,), the gene of each row
        terms : list of n_terms names; the base model may know them or not
        rng : numpy Generator
        options : FitOptions, for terms that the base model does not know
        observed : bool array (n_rows, n_terms), True where Y is known; None for everywhere

        Returns
        -------
        model : Model of such rows X, with the terms in this order
            Its decision values are logits.  The AUC, its interval and the precision of an adapted term are
            the base model's.  Its numbers of groups and genes include the new ones.
        """
        observed = observed_mask(observed, Y.shape)
        n_base = len(self.base_terms)
        L = X[:, :n_base]
        position = {term: j for j, term in enumerate(self.base_terms)}
        is_known = np.array([term in position for term in terms], bool)
        columns = [position[term] for term in terms if term in position]
        weights = np.zeros((len(terms), X.shape[1]))
        intercept = np.zeros(len(terms))
        known = self._correct(L, columns, Y[:, is_known], observed[:, is_known], genes, rng)
        weights[is_known, :n_base], intercept[is_known] = known
        of_base = self.base.arrays() | {"slope": (self.base.slope > 0) * 1.0}
        of_base["offset"] = np.where(self.base.slope > 0, 0.0, self.base.offset)
        if self.base.decision_threshold is not None:
            of_base["threshold"] = self.base.logits(self.base.decision_threshold)
        parts = {name: [values[columns]] for name, values in of_base.items() if name in PER_TERM}
        if not is_known.all():
            more = {"rng": rng, "options": options, "observed": observed[:, ~is_known]}
            added = fit_model(self.base.method, X[:, n_base:], Y[:, ~is_known], genes, **more)
            weights[~is_known, n_base:] = added.scorer.weights
            intercept[~is_known] = added.scorer.intercept
            for name, values in parts.items():
                values.append(added.arrays()[name])
        options.on_terms(len(columns))
        order = np.argsort(np.concatenate([np.flatnonzero(is_known), np.flatnonzero(~is_known)]))
        arrays = {name: np.concatenate(values)[order] for name, values in parts.items()}
        arrays["n_genes"][is_known] += count_genes(Y, genes, observed)[0][is_known]
        arrays["n_groups"][is_known] += observed[:, is_known].sum(axis=0).astype(np.int32)
        arrays["n_positive"][is_known] += Y[:, is_known].sum(axis=0).astype(np.int32)
        return build_model(self.base.method, Scorer(weights, intercept), arrays)

    def _correct(self, L, columns, Y, observed, genes, rng):
        """Fit the corrections of some base terms, as weights of the logits of all base terms.

        Parameters
        ----------
        L : float array (n_rows, n_base_terms), logits
        columns : list of the numbers of n_known base terms
        Y, observed : bool arrays (n_rows, n_known)
        genes : sequence (n_rows,)
        rng : numpy Generator

        Returns
        -------
        weights : float64 array (n_known, n_base_terms)
        intercept : float64 array (n_known,)
        """
        weights = np.zeros((len(columns), L.shape[1]))
        weights[np.arange(len(columns)), columns] = 1.0
        centre = L.mean(axis=0)
        spread = L.std(axis=0)
        Z = np.column_stack([(L - centre) / np.where(spread > 0, spread, 1.0), np.ones(len(L))])
        prior = L[:, columns]
        penalty = choose_penalty(Z, prior, Y, observed, genes, rng) if columns else np.inf
        U = fit_corrections(Z, prior, Y, observed, penalty)
        U[:, self.base.slope[columns] == 0] = 0  # nothing was learned of these terms
        change = U[:-1] / np.where(spread > 0, spread, 1.0)[:, None]
        return weights + change.T, U[-1] - centre @ change

    def in_features(self, model, in_features):
        """Convert an adapted Model of logits and coordinates to a Model of features.

        Parameters
        ----------
        model : Model, as `fit` returns; its first terms are all base terms, in their order
        in_features : function from a linear scorer of coordinates to a scorer of features, or None
            It is None if the base model knows all terms.
        """
        n_base = len(self.base_terms)
        mixing = model.scorer.weights[:, :n_base]
        base = self.base.scorer.arrays()
        weights = (mixing * self.base.slope) @ base["weights"]
        logits_at_zero = self.base.logits(base["intercept"])
        intercept = model.scorer.intercept + mixing @ logits_at_zero
        if len(weights) > n_base:
            added = model.scorer.weights[n_base:, n_base:]
            weights[n_base:] += in_features(Scorer(added, np.zeros(len(added)))).weights
        return replace(model, scorer=_extend(self.base.scorer, weights, intercept))


def _extend(scorer, weights, intercept):
    """Return a linear scorer with other weights and intercepts, and perhaps with more terms.

    Its other arrays, which say how it was trained, are 0 for the added terms.

    Parameters
    ----------
    scorer : Scorer
    weights : float array (n_terms, n_features)
    intercept : float array (n_terms,)
    """
    arrays = scorer.arrays()
    n_added = len(weights) - len(scorer.weights)
    for name, (_, dimensions) in scorer.ARRAYS.items():
        if name not in ("weights", "intercept"):
            arrays[name] = np.pad(arrays[name], [(0, n_added * (size == "n_terms")) for size in dimensions])
    return type(scorer)(**arrays | {"weights": weights, "intercept": intercept})


def choose_penalty(Z, prior, Y, observed, genes, rng):
    """Choose one of PENALTIES by the out-of-fold logistic loss, summed over all terms of a group.

    Parameters
    ----------
    Z : float array (n_rows, n_columns)
    prior : float array (n_rows, n_terms), logits of the base model
    Y, observed : bool arrays (n_rows, n_terms)
    genes : sequence (n_rows,), the gene of each row
    rng : numpy Generator, for the folds
    """
    if len(np.unique(genes)) < 2:
        return np.inf
    folds = inner_folds(genes, _N_FOLDS, rng)
    losses = []
    for penalty in PENALTIES:
        logits = prior.copy()
        for fold in np.unique(folds):
            out = folds == fold
            U = fit_corrections(Z[~out], prior[~out], Y[~out], observed[~out], penalty)
            logits[out] += Z[out] @ U
        losses.append((observed * (np.logaddexp(0, logits) - Y * logits)).sum(axis=1))
    gains = losses[0] - np.array(losses)  # (n_penalties, n_rows)
    needed = np.array(list(PENALTIES.values())) * gains.std(axis=1) / np.sqrt(len(Z))
    return list(PENALTIES)[int(np.argmax(gains.mean(axis=1) - needed))]


def fit_corrections(Z, prior, Y, observed, penalty):
    """Fit logistic regressions with given offsets and a ridge penalty, by Newton's method.

    Parameters
    ----------
    Z : float array (n_rows, n_columns)
    prior : float array (n_rows, n_terms), the offsets: logits without any correction
    Y : bool array (n_rows, n_terms)
    observed : bool array (n_rows, n_terms), True where Y is known
    penalty : float > 0; infinity gives zeros

    Returns
    -------
    U : float64 array (n_columns, n_terms), so that prior + Z U are the corrected logits
    """
    U = np.zeros((Z.shape[1], Y.shape[1]))
    if np.isinf(penalty):
        return U
    variance = np.maximum((sigmoid(prior) * sigmoid(-prior)).mean(axis=0), np.finfo(float).tiny)
    penalties = penalty * np.sqrt(variance / (variance.mean() if len(variance) else 1))
    for j, (known, ridge) in enumerate(zip(observed.T, penalties)):
        problem = Z[known], prior[known, j], Y[known, j], ridge
        rows, offset, truth, _ = problem
        u = U[:, j]
        for _ in range(_MAX_STEPS):
            probability = sigmoid(offset + rows @ u)
            gradient = rows.T @ (probability - truth) + ridge * u
            curvature = (rows.T * (probability * (1 - probability))) @ rows
            curvature.flat[:: len(u) + 1] += ridge
            step = np.linalg.solve(curvature, gradient)
            while _loss(u - step, *problem) > _loss(u, *problem) * (1 + 1e-12):
                step /= 2
            u = u - step
            if np.abs(step).max() < _TOLERANCE:
                break
        U[:, j] = u
    return U


def _loss(u, rows, offset, truth, penalty):
    """Return the penalised logistic loss of one term, at the coefficients u (n_columns,).

    Parameters
    ----------
    u : float array (n_columns,)
    rows : float array (n_rows, n_columns)
    offset : float array (n_rows,)
    truth : bool array (n_rows,)
    penalty : float
    """
    logit = offset + rows @ u
    return (np.logaddexp(0, logit) - truth * logit).sum() + penalty / 2 * u @ u
