"""Settings that inner folds choose: one for all terms, by the mean AUC over the terms."""

import numpy as np

from flyannot.classifiers.folds import inner_folds
from flyannot.classifiers.observed import part_of
from flyannot.classifiers.scorer import HeldOut
from flyannot.scores.metrics import pair_counts_by_fold


def choose_setting(cls, X, Y, genes, *, rng, options, observed=None):
    """Fit a scorer whose class has `settings` and `fit_setting`: the `fit` of such a class.

    `cls.settings(n_rows)` are what may be chosen from, the preferred first: of equally good ones it wins.
    `cls.fit_setting(X, Y, setting, *, rng, n_threads, observed)` fits one.
    """
    folds = inner_folds(genes, options.n_folds, rng)
    fold_rngs, rng = rng.spawn(int(folds.max()) + 1), rng.spawn(1)[0]
    settings = cls.settings(len(X) - np.bincount(folds).max())
    candidates = [
        _held_out_values(cls, (X, Y, observed), folds, setting, fold_rngs, options.n_threads)
        for setting in settings
    ]
    chosen, held_out = choose_held_out(candidates, Y, folds, observed=observed)
    more = {"rng": rng, "n_threads": options.n_threads, "observed": observed}
    scorer = cls.fit_setting(X, Y, settings[chosen], **more)
    options.on_terms(Y.shape[1])
    return scorer, held_out


def choose_held_out(candidates, Y, folds, *, margin=0.0, observed=None):
    """The setting with the best mean AUC within folds.

    Parameters
    ----------
    candidates : list of float arrays (n_rows, n_terms), for every setting the values of rows by the scorer
        that was fitted without the row's fold
    Y : bool array (n_rows, n_terms)
    folds : int array (n_rows,)
    margin : the first setting stays unless another is better by more than this
    observed : as in `flyannot.classifiers.observed`

    Returns
    -------
    chosen : int, the number of the setting; of equally good ones the first
    held_out : HeldOut
    """
    counts = [_counts_of_terms(values, Y, folds, observed) for values in candidates]
    chosen, scored = _best(counts, margin), np.empty(Y.shape)
    for number, fold in enumerate(np.unique(folds)):
        others = _best([np.delete(one, number, axis=2) for one in counts], margin)
        scored[folds == fold] = candidates[others][folds == fold]
    return chosen, HeldOut(candidates[chosen], scored, np.repeat(folds[:, None], Y.shape[1], axis=1))


def _held_out_values(cls, rows, folds, setting, rngs, n_threads):
    """The decision values of every row by the scorer that was fitted without the row's fold."""
    X, Y, observed = rows
    values = np.empty(Y.shape)
    for fold, rng in enumerate(rngs):
        out = folds == fold
        more = {"rng": rng, "n_threads": n_threads, "observed": part_of(observed, ~out)}
        scorer = cls.fit_setting(X[~out], Y[~out], setting, **more)
        values[out] = scorer.decision_values(X[out], n_threads=n_threads)
    return values


def _counts_of_terms(values, Y, folds, observed):
    """Ordered pairs and all pairs: (n_terms, 2, n_folds)."""
    known = [None] * Y.shape[1] if observed is None else observed.T
    return np.array([pair_counts_by_fold(v, t, folds, k) for v, t, k in zip(values.T, Y.T, known)])


def _best(counts, margin):
    areas = [_mean_auc(*one.sum(axis=2).T) for one in counts]
    return int(np.argmax([areas[0] + margin, *areas[1:]]))


def _mean_auc(ordered, n_pairs):
    """Over the terms for which some fold has both classes; 0 if there is none."""
    has = n_pairs > 0
    return float(np.mean(ordered[has] / n_pairs[has])) if has.any() else 0.0
