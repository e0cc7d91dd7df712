"""Cross-validation by gene: a fold is evaluated by models that learned nothing from its genes.

The outer folds are a dict from gene to fold, made once from the genes of all stage ranges
(`assign_gene_folds`).  So no gene is trained on in one stage range and tested in another.  Hyperparameters,
thresholds and calibration are chosen inside each outer training set.
"""

import logging
from dataclasses import replace

import numpy as np

from flyannot.terms.folds import look_up_folds
from flyannot.terms.metrics import TermOutcomes
from flyannot.terms.model import fit_model, untrainable_reason
from flyannot.terms.scorer import FitOptions, list_observed_rows

log = logging.getLogger("flyannot")


def cross_validate(rows, *, folds, rng, method="coupled-ridge", options=None):
    """Predict every group of one stage range by a model that was trained on the genes of the other folds.

    Parameters
    ----------
    rows : LabelledRows, one for each group
    folds : dict from gene to fold; the groups of a gene with a negative fold are always trained on
    rng : numpy Generator
    method : name in CLASSIFIERS
    options : FitOptions
        Its `on_terms` counts every term once for each fold, also a term that is not evaluated.

    Returns
    -------
    outcome : TermOutcomes of the groups, in the order of the rows.
        A term is not evaluated, and has a reason, if fewer genes have it (or lack it) than there are folds.
        The same holds if the training genes of some fold include fewer than two with it (or without it).

    Raises
    ------
    As `fit_model`.
    """
    options = replace(options or FitOptions(), is_tested=False)
    X, Y, genes = np.asarray(rows.X), np.asarray(rows.Y, bool), np.asarray(rows.genes)
    observed = rows.observed
    row_folds = look_up_folds(genes, folds)
    unevaluable = exclusion_reasons(Y, genes, row_folds, max(folds.values()) + 1, observed)
    reasons = [given or own for given, own in zip(rows.reasons, unevaluable)]
    kept = [j for j, reason in enumerate(reasons) if not reason]
    found = dict(zip(("values", "probabilities", "thresholds"), np.full((3, *Y.shape), np.nan)))
    found["yes"] = np.zeros(Y.shape, bool)
    options.on_terms(len(reasons) * (max(folds.values()) + 1) - len(kept) * len(np.unique(row_folds)))
    held_out = [row_folds == fold for fold in np.unique(row_folds) if fold >= 0] if kept else []
    for out in held_out:
        known = {"genes": genes[~out], "observed": observed[:, kept][~out]}
        model = fit_model(method, X[~out], Y[:, kept][~out], **known, rng=rng, options=options)
        log.debug("%d terms, %d groups trained, %d held out", len(kept), (~out).sum(), out.sum())
        for name, of_fold in model.outcomes(model.decision_values(X[out])).items():
            found[name][np.ix_(out, kept)] = of_fold
    more = {"folds": row_folds, "reasons": tuple(reasons), "observed": observed}
    return TermOutcomes(tuple(rows.terms), Y, **found, **more)


def join_outcomes(outcomes):
    """Concatenate several TermOutcomes of the same terms to one; their folds get different numbers.

    A term that is not evaluated in one of them is not evaluated in the result.
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


def exclusion_reasons(Y, genes, row_folds, n_folds, observed):
    """Return for every term the reason why it cannot be evaluated, or "".

    Parameters
    ----------
    Y : bool array (n_rows, n_terms)
    genes : array (n_rows,) of names
    row_folds : int array (n_rows,), the fold of each row
    n_folds : int
    observed : bool array (n_rows, n_terms), which entries of Y are known
    """
    reasons = []
    for j, known in enumerate(list_observed_rows(observed)):
        positive, of_term = Y[known, j], genes[known]
        reason = untrainable_reason(positive, of_term, n_folds)
        for fold in np.unique(row_folds[row_folds >= 0]):
            train = row_folds[known] != fold
            short = untrainable_reason(positive[train], of_term[train])
            reason = reason or (f"outside fold {fold}: {short}" if short else "")
        reasons.append(f"not evaluable: {reason}" if reason else "")
    return reasons
