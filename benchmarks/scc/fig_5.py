"""SCC, Figure 5: annotation with dictionaries of OL and of SCC, by a weighted average over ten terms.

All is as in the paper, `benchmarks.scc.annotation.PAPERS_OWN`; beside it, at one size, what every
difference of ours changes.
"""

import numpy as np

from benchmarks.findings import Finding, Size, Source
from benchmarks.items import paper_values, papers
from benchmarks.rows import Rows
from benchmarks.scc import claims
from benchmarks.scc.annotation import DIFFERENCES, LEARNERS, N_FOLDS, PAPERS_OWN, annotate, annotated_pictures
from flyannot.terms.bootstrap import bootstrap_aucs, bootstrap_gene_weights, bootstrap_interval
from flyannot.terms.metrics import confusion_rates

_ABLATED = "SCC", 1000


def measure_annotation(setup):
    """Learn, code, pool by maximum, and evaluate SVMs by cross-validation over genes."""
    paper, pictures = paper_values("scc", "fig-5"), annotated_pictures(setup)
    rows, n_dictionaries = Rows(), setup.sizes["n_dictionaries"]
    for m in paper["sizes"]:
        for who in LEARNERS:
            same = {"part": claims.FIGURE, "protocol": claims.AS_THE_PAPER, "learner": who, "n_atoms": m}
            found = [_resampled(setup, pictures, PAPERS_OWN, who, m, seed) for seed in range(n_dictionaries)]
            rows += _rows_of(same, found)
    for name, protocol in {claims.AS_THE_PAPER: PAPERS_OWN, **DIFFERENCES}.items():
        same = dict(zip(("part", "protocol", "learner", "n_atoms"), (claims.DIFFERENCES, name, *_ABLATED)))
        rows += _rows_of(same, [_resampled(setup, pictures, protocol, *_ABLATED, 0)])
    named = Rows(
        row | {"name": row["learner"], "size": f"m={row['n_atoms']}"}
        for row in rows.where(part=claims.FIGURE)
    )
    n_patches = sum(len(d.descriptors) for d in pictures.described(PAPERS_OWN))
    text = f"{pictures.source.text}; {n_patches:,} patches of {PAPERS_OWN.patch_px} px"
    return Finding(
        source=Source(text, pictures.source.kind),
        size=Size("patches", n_patches, papers()["scc"]["n_patches"][pictures.stage_range]),
        variant=f"SCC paper and our own OL (batch {LEARNERS['OL']['batch_size']}), ten epochs each over "
        f"{setup.sizes['n_learn']:,} patches; cd codes, max of |z| over the image, LIBSVM, "
        f"{N_FOLDS} folds by gene",
        rows=rows,
        panels=[_bars(f"{metric}, weighted over ten terms", metric, named, "size") for metric in METRICS],
        notes=[pictures.note],
    )


def _resampled(setup, pictures, protocol, who, n_atoms, seed):
    """Return the measures of one dictionary, and their draws."""
    outcome = annotate(setup, pictures, protocol, who, n_atoms, seed=seed)
    return resampled_metrics(outcome, pictures.groups.gene_ids)


def _rows_of(same, found):
    """Yield a row for every measure: its mean over dictionaries, its interval and its draws."""
    for metric in METRICS:
        draws = np.mean([one[1][metric] for one in found], axis=0)
        low, high = bootstrap_interval(draws)
        value = np.mean([one[0][metric] for one in found])
        row = same | {"n_dictionaries": len(found), "metric": metric, "value": value}
        yield row | {"low": low, "high": high, "draws": draws.round(5).tolist()}


def _bars(title, metric, rows, below):
    return rows.where(metric=metric).panel(title, "name", below, "value", "", metric)


METRICS = ("accuracy", "auc", "sensitivity", "specificity")
_N_SAMPLES = 300


def resampled_metrics(outcome, genes):
    """Averages over all terms, weighted by their positive groups, as the paper weights its ten.

    Parameters
    ----------
    outcome : TermOutcomes
    genes : n_groups gene ids; a sample draws genes, and all groups of a gene with it

    Returns
    -------
    measured : dict from METRICS to number
    draws : dict from METRICS to float array (n_samples,); the same genes for every outcome of these genes
    """
    (weights,) = bootstrap_gene_weights(genes, n_samples=_N_SAMPLES)
    of_terms = _rates(outcome, weights)
    of_terms["auc"] = bootstrap_aucs(outcome, weights)
    n_positive = outcome.truth.sum(axis=0)
    averages = {m: weighted_mean(of_terms[m], n_positive) for m in METRICS}
    return {m: float(v[0]) for m, v in averages.items()}, {m: v[1:] for m, v in averages.items()}


def _rates(outcome, weights):
    """Return each rate of each term in each sample: dict of (n_samples, n_terms), nan for 0/0."""
    yes, truth = np.asarray(outcome.yes, bool), np.asarray(outcome.truth, bool)
    counts = [weights @ both for both in (yes & truth, yes & ~truth, ~yes & truth, ~yes & ~truth)]
    flat = [confusion_rates(*four) for four in zip(*(count.ravel() for count in counts))]
    return {
        m: np.array([one[m] if one[m] is not None else np.nan for one in flat]).reshape(counts[0].shape)
        for m in METRICS
        if m != "auc"
    }


def weighted_mean(values, weights):
    """Return the weighted mean of every row over its terms that are not nan.

    values : (..., n_terms); weights : (n_terms,)
    """
    known = np.isfinite(values)
    return np.where(known, values, 0) @ weights / np.maximum(known @ weights, 1e-12)
