"""How well similar images are found: by the terms of the nearest genes, and by the images of one gene.

Two genes share the terms that both carry, as a part of all that either carries; a term weighs the logarithm
of the genes over those that carry it, so that a rare one counts for more.  A gene's score is the mean over
its nearest others.  An image's score is the AUC of the images of its own gene over those of others, ranked by
similarity to it.  Intervals are by bootstrap over genes.
"""

import numpy as np

from flyannot.runtime.wording import pluralise
from flyannot.scores.bootstrap import bootstrap_gene_weights, bootstrap_interval
from flyannot.scores.metrics import pair_counts

N_NEAREST = 10


def shared_terms_score(order, carried, genes):
    """How much of their terms genes share with what is nearest; None where all others are nearest.

    Parameters
    ----------
    order : int array (n_groups, n), for each group the numbers of the others, the nearest first
    carried : list of the set of terms of each group
    genes : the gene of each group

    Returns
    -------
    score : dict with value, interval, chance (the mean over all others) and n_genes
    """
    if len(carried) <= N_NEAREST + 1:
        return None
    shared = _shared_terms(carried)
    nearest = np.asarray(order)[:, :N_NEAREST]
    values = np.take_along_axis(shared, nearest, axis=1).mean(axis=1)
    others = (shared.sum(axis=1) - shared.diagonal()) / (len(shared) - 1)
    return _with_interval(values, genes) | {"chance": float(others.mean())}


def aucs_of_images(similarities, genes):
    """How well images find the other images of their gene.

    `similarities` are float arrays (n_images,), of each image to all, in order, `genes` the gene of each
    image. Returns (gene, AUC) of every image that has both others of its gene and images of other genes.
    """
    genes, aucs = np.asarray(genes), []
    for i, similarity in enumerate(similarities):
        others = np.arange(len(genes)) != i
        n_ordered, n_pairs = pair_counts(similarity[others], genes[others] == genes[i])
        if n_pairs:
            aucs.append((str(genes[i]), n_ordered / n_pairs))
    return aucs


def same_gene_score(aucs):
    """The mean of what `aucs_of_images` returns: a dict with value, interval, n_genes and n_images; None
    without any."""
    if not aucs:
        return None
    genes, values = zip(*aucs)
    return _with_interval(np.array(values), genes) | {"n_images": len(values)}


def retrieval_in_words(retrieval):
    """A line for each score of each stage range, and of all: a text."""
    lines = ["What looks alike (95 % intervals by bootstrap over genes):"]
    for name, what in _WORDS.items():
        for place, scores in retrieval.items():
            if score := scores.get(name):
                low, high = score["interval"]
                sure = f"{low:.3f} to {high:.3f}; guessing {score.get('chance', 0.5):.3f}"
                genes = pluralise(score["n_genes"], "gene")
                lines.append(f"{place:>5}: {what} {score['value']:.3f} ({sure}), {genes}")
    return "\n".join(lines)


_WORDS = {
    "shared_terms": f"terms shared with the nearest {N_NEAREST} genes",
    "shared_terms_on_map": f"terms shared with the nearest {N_NEAREST} genes on the map of patterns",
    "same_gene": "AUC of a gene's other images",
}


def _shared_terms(carried):
    """Of every two groups, the weight of the terms that both carry over that of all that either does."""
    terms = sorted(set().union(*carried))
    Y = np.array([[term in of_group for term in terms] for of_group in carried], float)
    weights = np.log(len(Y) / Y.sum(axis=0))
    both = (Y * weights) @ Y.T
    own = both.diagonal()
    either = own[:, None] + own - both
    return np.divide(both, either, out=np.zeros_like(both), where=either > 1e-12)


def _with_interval(values, genes):
    (weights,) = bootstrap_gene_weights(genes)
    interval = bootstrap_interval((weights[1:] @ values) / weights[1:].sum(axis=1))
    return {"value": float(values.mean()), "interval": interval, "n_genes": len(set(genes))}
