"""Cross-validation by gene: all that is learnt for a fold is learnt without the genes of that fold.

The outer folds are a dict from gene to fold, made once from the genes of all stage ranges
(`flyannot.terms.folds.assign_gene_folds`), so that no gene trains in one stage range and is tested in
another.  Hyperparameters, thresholds and calibration are chosen inside each outer training set.
"""

import logging
from copy import deepcopy

import numpy as np

from flyannot.terms import CLASSIFIERS
from flyannot.terms.folds import look_up_folds
from flyannot.terms.metrics import TermOutcomes
from flyannot.terms.model import fit_model, untrainable
from flyannot.terms.scorer import FitOptions, observed_rows

log = logging.getLogger(__name__)


def cross_validate(rows, *, folds, rng, method="svm", options=None):
    """Evaluate every group of one stage range by models trained on the genes of the other folds.

    Parameters
    ----------
    rows : LabelledRows
    folds : dict from gene to fold
    rng : numpy Generator
    method : of flyannot.terms.CLASSIFIERS
    options : FitOptions; `on_terms` is told of every term once a fold, also of those that are left out

    Returns
    -------
    outcome : TermOutcomes
        One row per group, in the order of the rows.  A term is left out, with its reason, if fewer genes
        carry it (or lack it) than there are folds, or fewer than two outside some fold.

    Raises
    ------
    As `flyannot.terms.model.fit_model`.
    """
    options = options or FitOptions()
    X, Y, genes = np.asarray(rows.X), np.asarray(rows.Y, bool), np.asarray(rows.genes)
    observed = rows.observed
    row_folds = look_up_folds(genes, folds)
    unevaluable = _reasons(Y, genes, row_folds, max(folds.values()) + 1, observed)
    reasons = [given or own for given, own in zip(rows.reasons, unevaluable)]
    kept = [j for j, reason in enumerate(reasons) if not reason]
    values, probability, threshold = np.full((3, *Y.shape), np.nan)
    yes = np.zeros(Y.shape, bool)
    options.on_terms(len(reasons) * (max(folds.values()) + 1) - len(kept) * len(np.unique(row_folds)))
    held_out = [row_folds == fold for fold in np.unique(row_folds)] if kept else []
    fitted = _fitted(X, Y[:, kept], genes, observed[:, kept], held_out, method, rng, options)
    for rows_of_fold, of_fold in zip(held_out, fitted):
        where = np.ix_(rows_of_fold, kept)
        values[where], yes[where], probability[where], threshold[where] = of_fold
    return TermOutcomes(
        tuple(rows.terms), Y, values, yes, row_folds, probability, tuple(reasons), threshold, observed
    )


def _fitted(X, Y, genes, observed, held_out, method, rng, options):
    """What `_fit_fold` finds of every fold; its rows are bool (n_rows,)."""
    if options.elsewhere is None:
        for rows in held_out:
            yield _fit_fold(X, (method, Y, genes, observed, rows, rng, options))
        return
    tasks = []
    for rows in held_out:  # one generator serves fold after fold: each gets it as it would find it here
        tasks.append((method, Y, genes, observed, rows, deepcopy(rng), options.sent()))
        CLASSIFIERS[method].pass_draws(genes[~rows], rng=rng, options=options)
    yield from options.elsewhere(_fit_fold, X, tasks, lambda _: options.on_terms(Y.shape[1]))


def _fit_fold(X, task):
    """Values, answers, probabilities and thresholds of the rows of a fold, by a model of the other rows."""
    method, Y, genes, observed, rows, rng, options = task
    known = {"genes": genes[~rows], "observed": observed[~rows]}
    model = fit_model(method, X[~rows], Y[~rows], **known, rng=rng, options=options)
    values = model.decision_values(X[rows], options.n_threads)
    log.debug("%d terms, %d groups trained, %d held out", Y.shape[1], (~rows).sum(), rows.sum())
    return values, model.answers(values), model.probabilities(values), model.probability_threshold


def joined_outcomes(outcomes):
    """Outcomes of the same terms one below the other, as one: their folds stay separate.

    A term that one of them leaves out is left out.
    """
    n_folds = np.cumsum([0] + [int(part.folds.max()) + 1 for part in outcomes])
    reasons = [next(filter(None, of_term), "") for of_term in zip(*(part.reasons for part in outcomes))]
    names = ("truth", "values", "yes", "probabilities", "thresholds", "observed")
    return TermOutcomes(
        terms=outcomes[0].terms,
        folds=np.concatenate([part.folds + before for part, before in zip(outcomes, n_folds)]),
        reasons=tuple(reasons),
        **{name: np.concatenate([getattr(part, name) for part in outcomes]) for name in names},
    )


def _reasons(Y, genes, row_folds, n_folds, observed):
    """For every term "" or why it cannot be evaluated."""
    reasons = []
    for j, known in enumerate(observed_rows(observed)):
        positive, of_term = Y[known, j], genes[known]
        reason = untrainable(positive, of_term, n_folds)
        for fold in np.unique(row_folds):
            train = row_folds[known] != fold
            short = untrainable(positive[train], of_term[train])
            reason = reason or (f"outside fold {fold}: {short}" if short else "")
        reasons.append(f"not evaluable: {reason}" if reason else "")
    return reasons
