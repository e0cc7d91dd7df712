"""Folds by gene: all images of a gene are in the same fold, because they resemble one another.

Genes are sorted before they are assigned.  So a split depends on the set of genes and on the generator, and
not
on the order of the rows.  For one split over all stage ranges, pass the genes of all to `assign_gene_folds`,
and look up the folds of each stage range in the result.
"""

import numpy as np

from flyannot.base.errors import InputError
from flyannot.base.text import pluralise


def assign_gene_folds(genes, n_folds, rng, *, positive=None):
    """Assign genes to folds with equal numbers of genes, to within one.

    Parameters
    ----------
    genes : sequence of gene names; repetitions are ignored
    n_folds : int >= 2
    rng : numpy Generator
    positive : bool sequence, which of `genes` have a term.  They are spread evenly too: if at least n_folds
        genes
        have the term and at least n_folds lack it, every fold gets both.  None for no term

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
        raise InputError(
            f"{pluralise(len(names), 'gene')} cannot be split into {n_folds} folds",
            fix=f"use at most {len(names)} folds, or add genes" if len(names) > 1 else "add genes",
        )
    dealt = rng.permutation(names)
    if positive is not None:  # first the genes with the term, then the others
        carries = np.isin(dealt, genes[np.asarray(positive, bool)])
        dealt = np.concatenate([dealt[carries], dealt[~carries]])
    return dict(zip(dealt.tolist(), (np.arange(len(dealt)) % n_folds).tolist()))


def look_up_folds(genes, folds):
    """Return the fold of every row (n_rows,), from a dict from gene to fold."""
    return np.array([folds[gene] for gene in np.asarray(genes).tolist()], int)


def inner_folds(genes, n_folds, rng):
    """Return the fold of every row (n_rows,); there are at most as many folds as genes."""
    return look_up_folds(genes, assign_gene_folds(genes, min(n_folds, len(np.unique(genes))), rng))
