"""Folds that keep a gene together: its images resemble one another, so a gene is trained on or tested.

Genes are sorted before they are dealt, so a split depends on the set of genes and on the generator,
never on the order of the rows.  For a split over all stage ranges at once, `assign_gene_folds` takes the
genes of all of them and its answer is looked up in each.
"""

import numpy as np

from flyannot.base.errors import InputError
from flyannot.base.text import pluralise


def assign_gene_folds(genes, n_folds, rng, *, positive=None):
    """Deal genes into folds of equal numbers of genes, to within one.

    Parameters
    ----------
    genes : sequence of gene names; repetitions are ignored
    n_folds : int >= 2
    rng : numpy Generator
    positive : bool sequence, which of `genes` has a term: the genes that have it are spread evenly, too, so
        that of n_folds or more of them and of the others every fold gets both; None for no such term

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
    if positive is not None:  # one deal after the other evens out both
        carries = np.isin(dealt, genes[np.asarray(positive, bool)])
        dealt = np.concatenate([dealt[carries], dealt[~carries]])
    return dict(zip(dealt.tolist(), (np.arange(len(dealt)) % n_folds).tolist()))


def look_up_folds(genes, folds):
    """The fold of every row (n_rows,), from a dict of gene to fold that knows every gene."""
    return np.array([folds[gene] for gene in np.asarray(genes).tolist()], int)


def inner_folds(genes, n_folds, rng):
    """The fold of every row (n_rows,); fewer than `n_folds` where genes are fewer."""
    return look_up_folds(genes, assign_gene_folds(genes, min(n_folds, len(np.unique(genes))), rng))
