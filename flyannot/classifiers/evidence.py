"""What stands behind a term: from how many genes it was learned, and how well it was told apart."""

import numpy as np

from flyannot.classifiers.scorer import HeldOut
from flyannot.scores.bootstrap import bootstrap_interval, draws_of_genes, weighted_aucs

LEAST_GENES = 5  # with the term, and without it: of fewer there is no AUC, here and in `flyannot evaluate`
FEW_GENES = 20  # with the term: below, an AUC is mostly chance


def genes_of_terms(Y, genes):
    """How many genes carry each term and how many do not: two int32 arrays (n_terms,).

    Parameters
    ----------
    Y : bool array (n_rows, n_terms)
    genes : sequence (n_rows,)
    """
    names, number = np.unique(genes, return_inverse=True)
    carries = np.zeros((len(names), Y.shape[1]), bool)
    np.logical_or.at(carries, number, Y)
    n_genes = carries.sum(axis=0).astype(np.int32)
    return n_genes, len(names) - n_genes


def held_out_aucs(held_out: HeldOut, Y, genes):
    """The cross-validated AUC of every term within folds, and its 95 % interval by a bootstrap over genes.

    Parameters
    ----------
    held_out : HeldOut
    Y : bool array (n_rows, n_terms)
    genes : sequence (n_rows,)

    Returns
    -------
    auc, low, high : float64 (n_terms,); nan, which is untested, for a term that fewer than LEAST_GENES genes
        carry or lack, or where no fold has both classes
    """
    names, draws = draws_of_genes(genes)
    weights = np.vstack([np.ones(len(genes)), draws[:, np.searchsorted(names, genes)]])
    found = np.full((3, Y.shape[1]), np.nan)
    for j in np.flatnonzero(np.minimum(*genes_of_terms(Y, genes)) >= LEAST_GENES):
        area, *samples = weighted_aucs(held_out.scored[:, j], Y[:, j], held_out.folds[:, j], weights)
        if np.isfinite(area):
            found[:, j] = area, *(bootstrap_interval(np.array(samples)) or (np.nan, np.nan))
    return found
