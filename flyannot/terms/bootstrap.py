"""Confidence intervals and comparisons of scores by the bootstrap, and calibration of probabilities.

The bootstrap draws genes, not groups.  All groups of a gene enter a sample together, as often as the gene
was drawn.  One draw of genes serves all terms.  In a comparison it serves both configurations, so that their
common variation cancels out.  The AUC of a sample counts pairs within folds, as in `metrics`.

Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993 (percentile intervals).
"""

from dataclasses import replace

import numpy as np

from flyannot.terms.calibration import NO_ANSWERS, calibration_errors, reliability_bins
from flyannot.terms.group_outcomes import outcomes_from_json
from flyannot.terms.metrics import auc_interval, group_agreement, weighted_pairs

N_SAMPLES = 1000
LEVEL = 0.95
CONFIDENCE = ("auc_interval", "brier", "ece")  # are added to the scores
_SEED = 20140824  # fixed: intervals are part of the scores


def bootstrap_gene_weights(*genes_of_parts, n_samples=N_SAMPLES):
    """Draw bootstrap samples of genes, and return how often each sample contains each group.

    The first sample contains every group once.  Each other sample draws as many genes as there are, with
    replacement.  The samples do not depend on the order of the genes.

    Parameters
    ----------
    genes_of_parts : one or more sequences of str, for each stage range the genes of its groups; all stage
        ranges share the drawn genes
    n_samples : int

    Returns
    -------
    weights : list with a float64 array (1 + n_samples, n_groups) for each stage range
    """
    names = np.unique(np.concatenate(genes_of_parts))
    chance = np.full(len(names), 1 / len(names))
    drawn = np.random.default_rng(_SEED).multinomial(len(names), chance, n_samples)
    draws = np.vstack([np.ones(len(names)), drawn])
    return [draws[:, np.searchsorted(names, genes)] for genes in genes_of_parts]


def bootstrap_aucs(outcome, weights):
    """Return the AUC of every term in every sample, float64 (1 + n_samples, n_terms); nan without a pair.

    Parameters
    ----------
    outcome : TermOutcomes
    weights : (1 + n_samples, n_groups), as `bootstrap_gene_weights` returns; the first sample has all groups
        once
    """
    aucs = []
    for j, (values, truth) in enumerate(zip(outcome.values.T, outcome.truth.T)):
        rows = outcome.known_rows(j)
        aucs.append(weighted_aucs(values[rows], truth[rows], outcome.group_folds[rows], weights[:, rows]))
    return np.array(aucs).reshape(-1, len(weights)).T


def bootstrap_interval(samples):
    """Return [low, high], the middle 95% of the samples of a score; None if all samples are nan.

    samples : float array (n_samples,)
    """
    samples = samples[np.isfinite(samples)]
    if not len(samples):
        return None
    return [float(q) for q in np.quantile(samples, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])]


def add_confidence(result):
    """Add intervals and calibration to scores, and return them.

    Every row of "terms" gets `auc_interval` (by the function of this name), `brier` and `ece`.  Every summary
    gets `auc_interval` (of the mean AUC, by the bootstrap), `brier` and `ece` over all its groups and terms,
    and its "groups" get `f1_interval` and `jaccard_interval`.  They are None if nothing was evaluated, and
    the interval of a term also with fewer than LEAST_GENES genes.

    Parameters
    ----------
    result : dict, as from `score_terms`, with "evaluated"; it is changed
    """
    evaluated = result["evaluated"]
    for row in result["terms"]:
        row |= dict.fromkeys(CONFIDENCE)
    samples = []
    outcomes = []
    agreements = []
    weights = bootstrap_gene_weights(*(groups["gene"] for groups in evaluated.values()))
    for (s, groups), weights_of_range in zip(evaluated.items(), weights):
        rows = {row["term"]: row for row in result["terms"] if row["stage_range"] == s and not row["reason"]}
        outcome = outcomes_from_json(groups)
        outcome = outcome.subset(slice(None), [j for j, term in enumerate(outcome.terms) if term in rows])
        genes = np.unique(groups["gene"], return_inverse=True)[1]
        for j, term in enumerate(outcome.terms):
            known = outcome.known_rows(j)
            more = {"folds": outcome.group_folds[known], "genes": genes[known]}
            interval = auc_interval(outcome.values[known, j], outcome.truth[known, j], **more)
            rows[term] |= {"auc_interval": interval and list(interval)}
            rows[term] |= _calibration([outcome.subset(slice(None), [j])])
        samples.append(bootstrap_aucs(outcome, weights_of_range)[1:])
        outcomes.append(outcome)
        agreement = group_agreement(outcome)
        of_groups = {name: weights_of_range[1:] @ agreement[name] for name in ("f1", "jaccard")}
        n_drawn = weights_of_range[1:].sum(axis=1)
        agreements.append((of_groups, n_drawn) if outcome.terms else ({}, 0 * n_drawn))
    names = {s: [i] for i, s in enumerate(evaluated)} | {"all": range(len(evaluated))}
    for name, numbers in names.items():
        summary = result["summary"][name]
        interval = bootstrap_interval(finite_mean(np.hstack([samples[i] for i in numbers]), 1))
        summary |= {"auc_interval": interval} | _calibration([outcomes[i] for i in numbers])
        summary["groups"] |= _agreement_intervals([agreements[i] for i in numbers])
    return result


def _agreement_intervals(agreements):
    """Return the intervals of the mean F1 and the mean Jaccard index of groups.

    Parameters
    ----------
    agreements : list of (sums of a metric over the groups of each sample by name, number of these groups)
    """
    n_drawn = sum(n for _, n in agreements)
    intervals = {}
    for name in ("f1", "jaccard"):
        sums = sum(of_groups.get(name, 0 * n) for of_groups, n in agreements)
        means = np.divide(sums, n_drawn, out=np.full(len(n_drawn), np.nan), where=n_drawn > 0)
        intervals[f"{name}_interval"] = bootstrap_interval(means)
    return intervals


def compare_outcomes(first, second):
    """Compare the AUCs of two evaluations by a paired bootstrap over genes.

    The comparison is over the stage ranges, terms and groups that both evaluations scored.  The truth is the
    curated terms of the second.

    Parameters
    ----------
    first, second : dicts of scores, as `read_scores` returns

    Returns
    -------
    comparison : dict
        - "terms" : a list with a dict for each term, with the keys stage_range, term, first and second
            (AUCs),
          difference (second - first), interval (95%) and p
        - "mean" : such a dict for the mean over these terms; None without terms

        p is two-sided: twice the fraction of samples on the rarer side of 0, at most 1.  The measured
        difference counts as a sample.
    """
    common = [s for s in first["evaluated"] if s in second["evaluated"]]
    paired = {s: _paired(*(_evaluated_terms(result, s) for result in (first, second))) for s in common}
    paired = {s: one for s, one in paired.items() if one[1]}
    rows = []
    aucs = []
    samples = []
    weights_of_ranges = bootstrap_gene_weights(*(genes for _, genes, _ in paired.values())) if paired else []
    for (s, (pair, _, terms)), weights in zip(paired.items(), weights_of_ranges):
        resampled = [bootstrap_aucs(outcome, weights) for outcome in pair]
        for j, term in enumerate(terms):
            measured = np.array([areas[0, j] for areas in resampled])
            if np.isfinite(measured).all():
                aucs.append(measured)
                samples.append(np.stack([areas[1:, j] for areas in resampled]))
                rows.append({"stage_range": s, "term": term} | _difference(aucs[-1], samples[-1]))
    if not rows:
        return {"terms": [], "mean": None}
    return {"terms": rows, "mean": _difference(np.mean(aucs, axis=0), finite_mean(samples, 0))}


def _difference(measured, samples):
    """Return the difference of two AUCs, with its interval and p, as a dict.

    Parameters
    ----------
    measured : float array (2,), the two AUCs
    samples : float array (2, n_samples), the same AUCs in the bootstrap samples
    """
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


def _evaluated_terms(result, stage_range):
    """Return the predictions of a stage range without the terms that the result does not score.

    `evaluate --exclude-terms` leaves terms out of the scores, although the predictions have them.
    """
    evaluated = result["evaluated"][stage_range]
    reasons = {row["term"]: row["reason"] for row in result["terms"] if row["stage_range"] == stage_range}
    return evaluated | {"scored": [term for term in evaluated["term"] if not reasons[term]]}


def _paired(first, second):
    """Return the predictions of two evaluations for the groups and terms that both have, in one order.

    Parameters
    ----------
    first, second : dicts, as `_evaluated_terms` returns

    Returns
    -------
    pair : list of two TermOutcomes with the same groups and terms
    genes : list of the gene of each group
    terms : list of names
    """
    terms = [term for term in first["scored"] if term in second["scored"]]
    rows = rows_in_second = list(range(len(first["group"])))
    if first["group"] != second["group"]:  # nested scores name every group several times
        row_in_second = {name: i for i, name in enumerate(second["group"])}
        rows = [i for i, name in enumerate(first["group"]) if name in row_in_second]
        rows_in_second = [row_in_second[first["group"][i]] for i in rows]
    pair = [
        outcomes_from_json(evaluated).subset(kept, [evaluated["term"].index(term) for term in terms])
        for evaluated, kept in ((first, rows), (second, rows_in_second))
    ]
    observed = pair[0].observed & pair[1].observed
    pair = [replace(outcome, truth=pair[1].truth, observed=observed) for outcome in pair]
    return pair, [first["gene"][i] for i in rows], terms


def weighted_aucs(values, truth, folds, weights):
    """Return the AUC of one term in each bootstrap sample; nan for a sample without a pair.

    Only pairs of groups of the same fold count.

    Parameters
    ----------
    values : float array (n_groups,), decision values
    truth : bool array (n_groups,), True for groups with the term
    folds : int array (n_groups,)
    weights : float array (n_samples, n_groups), how often each sample contains each group
    """
    ordered, n_pairs = np.zeros((2, len(weights)))
    for fold in np.unique(folds):
        rows = folds == fold
        of_fold = weighted_pairs(values[rows], truth[rows], weights[:, rows])
        ordered += of_fold[0]
        n_pairs += of_fold[1]
    return np.divide(ordered, n_pairs, out=np.full(len(weights), np.nan), where=n_pairs > 0)


def finite_mean(values, axis):
    """Return the mean of the values along an axis, without nan; nan if all are nan."""
    defined = np.isfinite(values)
    n = defined.sum(axis=axis)
    sums = np.where(defined, values, 0).sum(axis=axis)
    return np.divide(sums, n, out=np.full(np.shape(sums), np.nan), where=n > 0)


def _calibration(outcomes):
    """Return the Brier score and the calibration error of some stage ranges together, as a dict.

    outcomes : list of TermOutcomes
    """
    bins = [reliability_bins(one.probabilities[one.observed], one.truth[one.observed]) for one in outcomes]
    return calibration_errors(sum(bins, NO_ANSWERS))
