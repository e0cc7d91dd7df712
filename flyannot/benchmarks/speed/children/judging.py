"""What one process does to judge one classifier by cross-validation on labelled vectors."""

import numpy as np

from flyannot.benchmarks.speed.classifiers import HASH_ALONE
from flyannot.benchmarks.speed.clocks import Stopwatch
from flyannot.benchmarks.speed.worker import peak_mb
from flyannot.classifiers import fit
from flyannot.classifiers.propagation import fit_propagation
from flyannot.scores.average_precision import average_precision
from flyannot.scores.metrics import auc_within_folds
from flyannot.stage_ranges import rng_for

_SEED = 0


def judge_classifier(file, method, n_folds, min_positive):
    """MAP and AUC within folds, means over all terms of all stage ranges, each by itself and together."""
    with np.load(file) as loaded:
        X, Y, ranges = loaded["features"], loaded["terms"].astype(bool), loaded["stage_range"].astype(str)
    scores, n_terms = {}, 0
    with Stopwatch() as watch:
        for stage_range in np.unique(ranges):
            here = ranges == stage_range
            terms = np.flatnonzero(Y[here].sum(axis=0) >= min_positive)
            scores[stage_range] = _cross_validate(X[here], Y[here][:, terms], method, n_folds, stage_range)
            n_terms += len(terms)
    each = np.concatenate(list(scores.values()))
    return {
        "n": len(X),
        "n_terms": n_terms,
        "map": float(each[:, 0].mean()),
        "auc": float(each[:, 1].mean()),
        "seconds": watch.seconds,
        "peak_mb": peak_mb(),
        "by_stage_range": {s: found.mean(axis=0).tolist() for s, found in scores.items()},
    }


def _cross_validate(X, Y, method, n_folds, stage_range):
    """(average precision, AUC) of every term; all methods meet the same folds."""
    rng = rng_for(_SEED, stage_range)
    folds = rng.permutation(len(X)) % n_folds
    values = np.empty(Y.shape)
    for fold, own in enumerate(rng.spawn(n_folds)):
        out = folds == fold
        values[out] = _values(method, X[~out], Y[~out], X[out], own)
    pairs = list(zip(values.T, Y.T))
    return np.array([(average_precision(v, t, folds), auc_within_folds(v, t, folds)) for v, t in pairs])


def _values(method, X, Y, X_new, rng):
    """The decision values of new rows; HASH_ALONE looks at no rows but those of the cells."""
    if method != HASH_ALONE:
        own_genes = np.arange(len(X)).astype(str)
        return fit(method, X, Y, own_genes, rng=rng).decision_values(X_new)
    model = fit_propagation(X, Y, method="hash-siso", setting="none", rng=rng)
    return model.decision_values(X_new)
