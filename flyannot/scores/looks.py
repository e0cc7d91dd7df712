"""What a curator should look at first: numbers for single terms of single groups, measured by
docs/curating.md.
"""

import numpy as np

PER_GROUP = 3  # terms of a group that are looked at in one go
TO_CHECK = 0.05  # the part of the curated terms, and of those left out, that is worth checking


def information(probability, n_genes):
    """How much a verdict is expected to teach: the variance of the answer over the genes that teach the term.

    Parameters
    ----------
    probability : float array, that the group has the term
    n_genes : array of the same shape or broadcast to it, the genes with the term that it was learned from

    Returns
    -------
    information : float array, p (1 - p) / n
    """
    return probability * (1 - probability) / np.maximum(n_genes, 1)


def doubt(probability, curated, yes):
    """How likely the curators' answer is wrong, by models that had not seen the gene: the probability of the
    opposite, and 0 where their answer is that of the curators.

    Parameters
    ----------
    probability : float array, that the group has the term
    curated : bool array of the same shape, whether the curators gave it; yes : whether the models do
    """
    return np.where(curated == yes, 0.0, np.where(curated, 1 - probability, probability))
