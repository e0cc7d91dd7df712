"""Settings that inner folds choose: one for all terms, by the mean AUC over the terms."""

import numpy as np

from flyannot.classifiers.folds import inner_folds
from flyannot.classifiers.scorer import HeldOut
from flyannot.scores.metrics import pair_counts_by_fold


def choose_setting(cls, X, Y, genes, *, rng, options):
    """Fit a scorer whose class has `settings` and `fit_setting`: the `fit` of such a class.

    `cls.settings(n_rows)` are what may be chosen from, the preferred first: of equally good ones it wins.
    `cls.fit_setting(X, Y, setting, *, rng, n_threads)` fits one.
    """
    folds = inner_folds(genes, options.n_folds, rng)
    fold_rngs, rng = rng.spawn(int(folds.max()) + 1), rng.spawn(1)[0]
    settings = cls.settings(len(X) - np.bincount(folds).max())
    candidates = [
        _held_out_values(cls, (X, Y), folds, setting, fold_rngs, options.n_threads) for setting in settings
    ]
    chosen, held_out = choose_held_out(candidates, Y, folds)
    scorer = cls.fit_setting(X, Y, settings[chosen], rng=rng, n_threads=options.n_threads)
    options.on_terms(Y.shape[1])
    return scorer, held_out


def choose_held_out(candidates, Y, folds, *, margin=0.0):
    """The setting with the best mean AUC within folds.

    Parameters
    ----------
    candidates : list of float arrays (n_rows, n_terms), for every setting the values of rows by the scorer
        that was fitted without the row's fold
    Y : bool array (n_rows, n_terms)
    folds : int array (n_rows,)
    margin : the first setting stays unless another is better by more than this

    Returns
    -------
    chosen : int, the number of the setting; of equally good ones the first
    held_out : HeldOut
    """
    counts = [_counts_of_terms(values, Y, folds) for values in candidates]
    chosen, scored = _best(counts, margin), np.empty(Y.shape)
    for number, fold in enumerate(np.unique(folds)):
        others = _best([np.delete(one, number, axis=2) for one in counts], margin)
        scored[folds == fold] = candidates[others][folds == fold]
    return chosen, HeldOut(candidates[chosen], scored, np.repeat(folds[:, None], Y.shape[1], axis=1))


def _held_out_values(cls, rows, folds, setting, rngs, n_threads):
    """The decision values of every row by the scorer that was fitted without the row's fold."""
    X, Y = rows
    values = np.empty(Y.shape)
    for fold, rng in enumerate(rngs):
        out = folds == fold
        scorer = cls.fit_setting(X[~out], Y[~out], setting, rng=rng, n_threads=n_threads)
        values[out] = scorer.decision_values(X[out], n_threads=n_threads)
    return values


def _counts_of_terms(values, Y, folds):
    """Ordered pairs and all pairs: (n_terms, 2, n_folds)."""
    return np.array([pair_counts_by_fold(v, t, folds) for v, t in zip(values.T, Y.T)])


def _best(counts, margin):
    areas = [_mean_auc(*one.sum(axis=2).T) for one in counts]
    return int(np.argmax([areas[0] + margin, *areas[1:]]))


def _mean_auc(ordered, n_pairs):
    """Over the terms for which some fold has both classes; 0 if there is none."""
    has = n_pairs > 0
    return float(np.mean(ordered[has] / n_pairs[has])) if has.any() else 0.0
