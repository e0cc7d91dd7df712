"""Four measures of annotation over the ten most frequent terms, as measured and in samples of genes."""

import numpy as np

from flyannot.scores.bootstrap import draws_of_genes, resample_aucs
from flyannot.scores.metrics import rates_of_counts

METRICS = ("accuracy", "auc", "sensitivity", "specificity")
_N_SAMPLES = 300


def resampled_metrics(outcome, genes):
    """Averages over all terms, weighted by their positive groups, as the paper weights its ten.

    Parameters
    ----------
    outcome : flyannot.scores.metrics.TermOutcomes
    genes : n_groups gene ids; a sample draws genes, and all groups of a gene with it

    Returns
    -------
    measured : dict from METRICS to number
    draws : dict from METRICS to float array (n_samples,); the same genes for every outcome of these genes
    """
    names, drawn = draws_of_genes(genes, n_samples=_N_SAMPLES)
    weights = drawn[:, np.searchsorted(names, genes)]
    areas = resample_aucs(outcome, weights)
    of_terms = _rates(outcome, np.vstack([np.ones(len(genes)), weights]))
    of_terms["auc"] = np.vstack([areas.auc, areas.samples])
    n_positive = outcome.truth.sum(axis=0)
    averages = {m: _weighted_mean(of_terms[m], n_positive) for m in METRICS}
    return {m: float(v[0]) for m, v in averages.items()}, {m: v[1:] for m, v in averages.items()}


def _rates(outcome, weights):
    """Each rate of each term in each sample: dict of (n_samples, n_terms), nan for 0/0."""
    yes, truth = np.asarray(outcome.yes, bool), np.asarray(outcome.truth, bool)
    counts = [weights @ both for both in (yes & truth, yes & ~truth, ~yes & truth, ~yes & ~truth)]
    flat = [rates_of_counts(*four) for four in zip(*(count.ravel() for count in counts))]
    return {
        m: np.array([one[m] if one[m] is not None else np.nan for one in flat]).reshape(counts[0].shape)
        for m in METRICS if m != "auc"
    }  # fmt: skip


def _weighted_mean(values, weights):
    """Of every row over its terms that are not nan."""
    known = np.isfinite(values)
    return np.where(known, values, 0) @ weights / np.maximum(known @ weights, 1e-12)
