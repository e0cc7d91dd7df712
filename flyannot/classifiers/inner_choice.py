"""Settings that inner folds choose: one for all terms, by the mean AUC over the terms."""

import numpy as np

from flyannot.classifiers.folds import gene_folds
from flyannot.scores.metrics import auc_within_folds


def inner_folds(genes, n_folds, rng):
    """The fold of every row; fewer than `n_folds` where genes are fewer."""
    return gene_folds(genes, min(n_folds, len(np.unique(genes))), rng)


def choose_setting(cls, X, Y, genes, *, rng, options):
    """Fit a scorer whose class has `settings` and `fit_setting`: the `fit` of such a class.

    `cls.settings(n_rows)` are what may be chosen from, the preferred first: of equally good ones it wins.
    `cls.fit_setting(X, Y, setting, *, rng, n_threads)` fits one.
    """
    folds = inner_folds(genes, options.n_folds, rng)
    n_folds = int(folds.max()) + 1
    fold_rngs, rng = rng.spawn(n_folds), rng.spawn(1)[0]
    best, setting, held_out = -1.0, None, None
    for candidate in cls.settings(len(X) - np.bincount(folds).max()):
        values = _held_out_values(cls, (X, Y), folds, candidate, fold_rngs, options.n_threads)
        area = mean_auc(values, Y, folds)
        if area > best:
            best, setting, held_out = area, candidate, values
    scorer = cls.fit_setting(X, Y, setting, rng=rng, n_threads=options.n_threads)
    options.on_terms(Y.shape[1])
    return scorer, held_out


def _held_out_values(cls, rows, folds, setting, rngs, n_threads):
    """The decision values of every row by the scorer that was fitted without the row's fold."""
    X, Y = rows
    values = np.empty(Y.shape)
    for fold, rng in enumerate(rngs):
        out = folds == fold
        scorer = cls.fit_setting(X[~out], Y[~out], setting, rng=rng, n_threads=n_threads)
        values[out] = scorer.decision_values(X[out], n_threads=n_threads)
    return values


def mean_auc(values, truth, folds):
    """Over the terms for which some fold has both classes; 0 if there is none."""
    areas = [auc_within_folds(v, t, folds) for v, t in zip(values.T, truth.T)]
    areas = [area for area in areas if area is not None]
    return float(np.mean(areas)) if areas else 0.0
