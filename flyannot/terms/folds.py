"""Folds by gene: all images of a gene are in the same fold, because they resemble one another.

Genes are sorted before they are assigned.  So a split depends on the set of genes and on the generator, and
not on the order of the rows.  For one split over all stage ranges, pass all their genes to
`assign_gene_folds`.  Then look up the folds of each stage range in the result.
"""

import numpy as np

from flyannot.base.errors import InputError
from flyannot.base.text import pluralise


def assign_gene_folds(genes, n_folds, rng, *, positive=None):
    """Assign genes to folds at random, with equal numbers of genes to within one.

    Parameters
    ----------
    genes : sequence of gene names; repetitions are ignored
    n_folds : int >= 2
    rng : numpy Generator
    positive : bool sequence, True for each of `genes` that has a certain term; None for no term
        Genes with the term are spread evenly over the folds, too.  If at least n_folds genes have it and at
        least n_folds lack it, every fold gets both kinds.

    Returns
    -------
    folds : dict from gene to fold, 0 to n_folds - 1

    Raises
    ------
    InputError
        If there are fewer genes than folds.
    """
    genes = np.asarray(genes)
    names = np.unique(genes)
    if n_folds < 2:
        raise InputError(f"{n_folds} fold leaves nothing to train on", fix="use at least 2 folds")
    if len(names) < n_folds:
        fix = f"use at most {len(names)} folds, or add genes" if len(names) > 1 else "add genes"
        raise InputError(f"{pluralise(len(names), 'gene')} cannot be split into {n_folds} folds", fix=fix)
    dealt = rng.permutation(names)
    if positive is not None:  # first the genes with the term, then the others
        carries = np.isin(dealt, genes[np.asarray(positive, bool)])
        dealt = np.concatenate([dealt[carries], dealt[~carries]])
    return dict(zip(dealt.tolist(), (np.arange(len(dealt)) % n_folds).tolist()))


def split_by_gene(genes, n_folds, seed):
    """Return the one split of all genes of a cross-validation, a dict from gene to fold.

    If there are fewer genes than `n_folds`, all are in fold 0.

    genes : set of names; seed : int
    """
    if len(genes) < n_folds:
        return dict.fromkeys(genes, 0)
    return assign_gene_folds(sorted(genes), n_folds, np.random.default_rng(seed))


def look_up_folds(genes, folds):
    """Return the fold of the gene of every row, int array (n_rows,).

    genes : sequence (n_rows,) of names; folds : dict from gene to fold
    """
    return np.array([folds[gene] for gene in np.asarray(genes).tolist()], int)


def inner_folds(genes, n_folds, rng):
    """Assign rows to folds at random, all rows of a gene to one fold.

    Return the fold of each, int array (n_rows,).

    If there are fewer genes than `n_folds`, each gene is a fold.

    genes : sequence (n_rows,) of names; rng : numpy Generator
    """
    return look_up_folds(genes, assign_gene_folds(genes, min(n_folds, len(np.unique(genes))), rng))
