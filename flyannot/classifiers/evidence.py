"""What stands behind a term: from how many genes it was learned, and how well it was told apart."""

import numpy as np

from flyannot.classifiers.observed import observed_rows
from flyannot.classifiers.scorer import HeldOut
from flyannot.scores.bootstrap import bootstrap_interval, draws_of_genes, weighted_aucs

LEAST_GENES = 5  # with the term, and without it: of fewer there is no AUC, here and in `flyannot evaluate`
FEW_GENES = 20  # with the term: below, an AUC is mostly chance


def genes_of_terms(Y, genes, observed=None):
    """How many genes carry each term and how many do not: two int32 arrays (n_terms,).

    Parameters
    ----------
    Y : bool array (n_rows, n_terms)
    genes : sequence (n_rows,)
    observed : as in `flyannot.classifiers.observed`; a gene that is nowhere known counts for neither
    """
    names, number = np.unique(genes, return_inverse=True)
    carries = np.zeros((len(names), Y.shape[1]), bool)
    np.logical_or.at(carries, number, Y)
    n_genes = carries.sum(axis=0).astype(np.int32)
    if observed is None:
        return n_genes, len(names) - n_genes
    known = np.zeros(carries.shape, bool)
    np.logical_or.at(known, number, observed)
    return n_genes, known.sum(axis=0).astype(np.int32) - n_genes


def held_out_aucs(held_out: HeldOut, Y, genes, observed=None):
    """The cross-validated AUC of every term within folds, and its 95 % interval by a bootstrap over genes.

    Parameters
    ----------
    held_out : HeldOut
    Y : bool array (n_rows, n_terms)
    genes : sequence (n_rows,)
    observed : as in `flyannot.classifiers.observed`

    Returns
    -------
    auc, low, high : float64 (n_terms,); nan, which is untested, for a term that fewer than LEAST_GENES genes
        carry or lack, or where no fold has both classes
    """
    names, draws = draws_of_genes(genes)
    weights = np.vstack([np.ones(len(genes)), draws[:, np.searchsorted(names, genes)]])
    found = np.full((3, Y.shape[1]), np.nan)
    rows = observed_rows(observed, Y.shape[1])
    for j in np.flatnonzero(np.minimum(*genes_of_terms(Y, genes, observed)) >= LEAST_GENES):
        values, truth, folds = (one[rows[j], j] for one in (held_out.scored, Y, held_out.folds))
        area, *samples = weighted_aucs(values, truth, folds, weights[:, rows[j]])
        if np.isfinite(area):
            found[:, j] = area, *(bootstrap_interval(np.array(samples)) or (np.nan, np.nan))
    return found
