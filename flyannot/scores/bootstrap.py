"""How sure the scores are: intervals, comparisons and calibration.

The bootstrap is over genes, not over groups: all groups of a gene enter a sample together, as often as the
gene was drawn.  One draw of genes serves all terms and, in a comparison, both configurations, so that what is
common to them cancels out.  The AUC of a sample counts pairs within folds, as `flyannot.scores.metrics` does.

Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993 (percentile intervals).
"""

from dataclasses import dataclass

import numpy as np

from flyannot.scores.calibration_error import brier_score, calibration_error
from flyannot.scores.group_outcomes import outcome_of

N_SAMPLES = 1000
LEVEL = 0.95
CONFIDENCE = ("auc_interval", "brier", "ece")  # what joins the scores
_SEED = 20140824  # intervals are part of the scores: the same every time


@dataclass(frozen=True)
class Resampled:
    """AUCs under resampling of genes: auc (n_terms,) as measured, samples (n_samples, n_terms), nan where
    a sample has no pair."""

    auc: np.ndarray
    samples: np.ndarray


def draws_of_genes(genes, *, n_samples=N_SAMPLES, seed=_SEED):
    """How often every gene is drawn in every sample.

    Parameters
    ----------
    genes : sequence of gene ids, at least one; repetitions and order do not matter

    Returns
    -------
    names : sorted text array (n_genes,)
    draws : float64 array (n_samples, n_genes), whole numbers; every row sums to n_genes
    """
    names = np.unique(genes)
    rng = np.random.default_rng(seed)
    return names, rng.multinomial(len(names), np.full(len(names), 1 / len(names)), n_samples).astype(float)


def resampled_aucs(outcome, weights):
    """The AUC of every term, as measured and in samples of genes.

    Parameters
    ----------
    outcome : flyannot.scores.metrics.Outcome
    weights : float array (n_samples, n_groups), how often each sample has each group
    """
    folds = np.zeros(len(outcome.truth), int) if outcome.folds is None else np.asarray(outcome.folds)
    all_once = np.vstack([np.ones(len(folds)), weights])
    mine = [outcome.rows_of(j) for j in range(len(outcome.terms))]
    of_terms = [
        weighted_aucs(v[rows], t[rows], folds[rows], all_once[:, rows])
        for v, t, rows in zip(outcome.values.T, outcome.truth.T, mine)
    ]
    areas = np.array(of_terms).reshape(-1, len(all_once)).T
    return Resampled(areas[0], areas[1:])


def bootstrap_interval(samples, level=LEVEL):
    """(low, high) of the middle `level` of the samples; None if there is none."""
    samples = samples[np.isfinite(samples)]
    if not len(samples):
        return None
    return [float(q) for q in np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])]


def with_confidence(result):
    """The result of an evaluation with intervals and calibration added.

    Every row of "terms" gets `auc_interval`, `brier` and `ece`, every summary `auc_interval` (of the mean
    AUC), `brier` and `ece` over all its groups and terms; None where nothing was evaluated, or where
    probabilities are missing.

    Parameters
    ----------
    result : dict as `flyannot.scores.metrics.evaluate` returns, with "evaluated"
    (`flyannot.scores.group_outcomes`)
    """
    outcomes = {s: outcome_of(evaluated) for s, evaluated in result["evaluated"].items()}
    names, draws = draws_of_genes(
        [g for evaluated in result["evaluated"].values() for g in evaluated["gene"]]
    )
    samples, pairs = [], []
    for row in result["terms"]:
        row |= dict.fromkeys(CONFIDENCE)
    for s, outcome in outcomes.items():
        genes = np.searchsorted(names, result["evaluated"][s]["gene"])
        found = resampled_aucs(outcome, draws[:, genes])
        rows = {row["term"]: row for row in result["terms"] if row["stage_range"] == s and not row["reason"]}
        kept = [j for j, term in enumerate(outcome.terms) if term in rows]
        for j in kept:
            rows[outcome.terms[j]] |= {
                "auc_interval": bootstrap_interval(found.samples[:, j])
            } | _calibration(outcome, [j])
        result["summary"][s] |= _summary(found.samples[:, kept]) | _calibration(outcome, kept)
        samples.append(found.samples[:, kept])
        pairs.append((outcome, kept))
    result["summary"]["all"] |= _summary(np.hstack(samples)) | _joint_calibration(pairs)
    return result


def compare_outcomes(first, second):
    """Is one configuration better than another?

    Parameters
    ----------
    first, second : dicts as `with_confidence` takes; stage ranges, terms and groups in both are compared

    Returns
    -------
    comparison : dict
        "terms": dicts with stage_range, term, first and second (AUCs), difference (second - first),
        interval and p.  "mean": the same of the mean over all these terms; None without any.  p is
        two-sided: twice the fraction of samples on the rarer side of 0, at most 1, the measured difference
        counted as one sample.
    """
    common = [s for s in first["evaluated"] if s in second["evaluated"]]
    paired = {s: _paired(first["evaluated"][s], second["evaluated"][s]) for s in common}
    compared = [gene for _, genes, _ in paired.values() for gene in genes]
    if not compared:
        return {"terms": [], "mean": None}
    (names, draws), rows, columns = draws_of_genes(compared), [], []
    for s, (pair, genes, terms) in paired.items():
        weights = draws[:, np.searchsorted(names, genes)]
        one, other = (resampled_aucs(outcome, weights) for outcome in pair)
        for j, term in enumerate(terms):
            if np.isfinite([one.auc[j], other.auc[j]]).all():
                found = (
                    np.array([one.auc[j], other.auc[j]]),
                    np.stack([one.samples[:, j], other.samples[:, j]]),
                )
                rows.append({"stage_range": s, "term": term} | _difference(*found))
                columns.append(found)
    if not rows:
        return {"terms": [], "mean": None}
    mean = _difference(np.mean([a for a, _ in columns], axis=0), _mean_of_defined([b for _, b in columns], 0))
    return {"terms": rows, "mean": mean}


def _difference(measured, samples):
    difference = samples[1] - samples[0]
    difference = difference[np.isfinite(difference)]
    rarer = min((difference <= 0).sum(), (difference >= 0).sum())
    return {
        "first": float(measured[0]),
        "second": float(measured[1]),
        "difference": float(measured[1] - measured[0]),
        "interval": bootstrap_interval(difference),
        "p": float(min(1.0, 2 * (rarer + 1) / (len(difference) + 1))),
    }


def _paired(first, second):
    """Two outcomes over the groups and terms that both evaluated, in one order; their genes; the terms."""
    terms = [term for term in first["term"] if term in second["term"]]
    if first["group"] == second["group"]:
        rows = np.arange(len(first["group"])), np.arange(len(first["group"]))
    else:
        where = {name: i for i, name in enumerate(second["group"])}
        shared = [i for i, name in enumerate(first["group"]) if name in where]
        rows = np.array(shared, int), np.array([where[first["group"][i]] for i in shared], int)
    parts = [
        (outcome_of(evaluated), mine, [evaluated["term"].index(term) for term in terms])
        for evaluated, mine in zip((first, second), rows)
    ]
    in_both = [outcome.observed_pairs(columns)[mine] for outcome, mine, columns in parts]
    pair = [_subset(*part, in_both[0] & in_both[1]) for part in parts]
    return pair, [first["gene"][i] for i in rows[0]], terms


def _subset(outcome, rows, columns, observed):
    where = np.ix_(rows, columns)
    folds = None if outcome.folds is None else outcome.folds[rows]
    return type(outcome)(
        tuple(outcome.terms[j] for j in columns), outcome.truth[where], outcome.values[where],
        outcome.yes[where], folds, observed=observed,
    )  # fmt: skip


def weighted_aucs(values, truth, folds, weights):
    """The AUC of one term over pairs within folds for every row of weights (n_samples, n_groups); nan without
    pairs."""
    ordered, n_pairs = np.zeros((2, len(weights)))
    for fold in np.unique(folds):
        positive, negative = np.flatnonzero(truth & (folds == fold)), np.flatnonzero(~truth & (folds == fold))
        above = np.sign(values[positive][:, None] - values[negative]) / 2 + 0.5  # a tie counts one half
        of_positive, of_negative = weights[:, positive], weights[:, negative]
        ordered += ((of_positive @ above) * of_negative).sum(axis=1)
        n_pairs += of_positive.sum(axis=1) * of_negative.sum(axis=1)
    return np.divide(ordered, n_pairs, out=np.full(len(weights), np.nan), where=n_pairs > 0)


def _summary(samples):
    return {"auc_interval": bootstrap_interval(_mean_of_defined(samples, 1))}


def _mean_of_defined(values, axis):
    """The mean of what is not nan; nan where all is, as in a sample without a pair of any term."""
    defined = np.isfinite(values)
    n = defined.sum(axis=axis)
    sums = np.where(defined, values, 0).sum(axis=axis)
    return np.divide(sums, n, out=np.full(np.shape(sums), np.nan), where=n > 0)


def _calibration(outcome, columns):
    return _joint_calibration([(outcome, columns)])


def _joint_calibration(pairs):
    """Brier score and calibration error over all groups and terms of (outcome, columns) pairs."""
    if not any(columns for _, columns in pairs) or any(o.probabilities is None for o, _ in pairs):
        return {"brier": None, "ece": None}
    known = [o.observed_pairs(columns) for o, columns in pairs]
    probability = np.concatenate([o.probabilities[:, columns][k] for (o, columns), k in zip(pairs, known)])
    truth = np.concatenate([o.truth[:, columns][k] for (o, columns), k in zip(pairs, known)])
    return {"brier": brier_score(probability, truth), "ece": calibration_error(probability, truth)}
