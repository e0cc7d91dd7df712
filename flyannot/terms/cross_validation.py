"""Cross-validation by gene: a fold is evaluated by models that learned nothing from its genes.

The outer folds are a dict from gene to fold, made once from the genes of all stage ranges
(`assign_gene_folds`).  So no gene is trained on in one stage range and tested in another.  Hyperparameters,
thresholds and calibration are chosen inside each outer training set.
"""

import logging

import numpy as np

from flyannot.terms.folds import look_up_folds
from flyannot.terms.metrics import TermOutcomes
from flyannot.terms.model import fit_model, untrainable_reason
from flyannot.terms.scorer import FitOptions, observed_rows

log = logging.getLogger(__name__)


def cross_validate(rows, *, folds, rng, method="svm", options=None):
    """Evaluate every group of one stage range by models trained on the genes of the other folds.

    Parameters
    ----------
    rows : LabelledRows
    folds : dict from gene to fold
    rng : numpy Generator
    method : name in CLASSIFIERS
    options : FitOptions; `on_terms` counts every term once a fold, also a term that is left out

    Returns
    -------
    outcome : TermOutcomes
        One row per group, in the order of the rows.  A term is left out, with its reason, if fewer
        genes have it (or lack it) than there are folds.  It is also left out if outside some fold fewer than
        two do.

    Raises
    ------
    As `fit_model`.
    """
    options = options or FitOptions()
    X, Y, genes = np.asarray(rows.X), np.asarray(rows.Y, bool), np.asarray(rows.genes)
    observed = rows.observed
    row_folds = look_up_folds(genes, folds)
    unevaluable = _exclusion_reasons(Y, genes, row_folds, max(folds.values()) + 1, observed)
    reasons = [given or own for given, own in zip(rows.reasons, unevaluable)]
    kept = [j for j, reason in enumerate(reasons) if not reason]
    values, probability, threshold = np.full((3, *Y.shape), np.nan)
    yes = np.zeros(Y.shape, bool)
    options.on_terms(len(reasons) * (max(folds.values()) + 1) - len(kept) * len(np.unique(row_folds)))
    held_out = [row_folds == fold for fold in np.unique(row_folds)] if kept else []
    for out in held_out:
        known = {"genes": genes[~out], "observed": observed[:, kept][~out]}
        model = fit_model(method, X[~out], Y[:, kept][~out], **known, rng=rng, options=options)
        log.debug("%d terms, %d groups trained, %d held out", len(kept), (~out).sum(), out.sum())
        of_fold = model.decision_values(X[out], options.n_threads)
        where = np.ix_(out, kept)
        values[where] = of_fold
        yes[where] = model.answers(of_fold)
        probability[where] = model.probabilities(of_fold)
        threshold[where] = model.answer_thresholds(probability[where])
    return TermOutcomes(
        tuple(rows.terms), Y, values, yes, probability, row_folds, tuple(reasons), threshold, observed
    )


def join_outcomes(outcomes):
    """Concatenate outcomes of the same terms; their folds stay separate.

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


def _exclusion_reasons(Y, genes, row_folds, n_folds, observed):
    """Return for every term the reason why it cannot be evaluated, or ""."""
    reasons = []
    for j, known in enumerate(observed_rows(observed)):
        positive, of_term = Y[known, j], genes[known]
        reason = untrainable_reason(positive, of_term, n_folds)
        for fold in np.unique(row_folds):
            train = row_folds[known] != fold
            short = untrainable_reason(positive[train], of_term[train])
            reason = reason or (f"outside fold {fold}: {short}" if short else "")
        reasons.append(f"not evaluable: {reason}" if reason else "")
    return reasons
