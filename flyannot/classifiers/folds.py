"""Folds that keep a gene together: its images resemble one another, so a gene is trained on or tested.

Genes are sorted before they are dealt, so a split depends on the set of genes and on the generator,
never on the order of the rows.  For a split over all stage ranges at once, `folds_of_genes` takes the
genes of all of them and its answer is looked up in each.
"""

import numpy as np

from flyannot.errors import InputError
from flyannot.runtime.wording import pluralise


def folds_of_genes(genes, n_folds, rng):
    """Deal genes into folds of equal numbers of genes, to within one.

    Parameters
    ----------
    genes : sequence of gene names; repetitions are ignored
    n_folds : int >= 2
    rng : numpy Generator

    Returns
    -------
    folds : dict from gene to fold, 0 to n_folds - 1

    Raises
    ------
    InputError
        If there are fewer genes than folds.
    """
    names = np.unique(genes)
    _check(len(names), n_folds)
    return dict(zip(names[rng.permutation(len(names))].tolist(), _deal(len(names), n_folds)))


def gene_folds(genes, n_folds, rng):
    """The fold of every row, by `folds_of_genes`.

    Parameters
    ----------
    genes : sequence (n_rows,), the gene of each row
    n_folds, rng : as for `folds_of_genes`

    Returns
    -------
    folds : int array (n_rows,)
    """
    return look_up_folds(genes, folds_of_genes(genes, n_folds, rng))


def inner_folds(genes, n_folds, rng):
    """The fold of every row; fewer than `n_folds` where genes are fewer."""
    return gene_folds(genes, min(n_folds, len(np.unique(genes))), rng)


def stratified_gene_folds(genes, positive, n_folds, rng):
    """As `gene_folds`, and the genes with a positive row are spread evenly too.

    Parameters
    ----------
    genes : sequence (n_rows,)
    positive : bool array (n_rows,)
    n_folds, rng : as for `folds_of_genes`

    Returns
    -------
    folds : int array (n_rows,)
        With at least n_folds positive genes and n_folds others, every fold holds both kinds.
    """
    genes = np.asarray(genes)
    names = np.unique(genes)
    _check(len(names), n_folds)
    dealt = rng.permutation(names)
    carries = np.isin(dealt, genes[np.asarray(positive, bool)])
    dealt = np.concatenate([dealt[carries], dealt[~carries]])  # one deal after the other evens out both
    return look_up_folds(genes, dict(zip(dealt.tolist(), _deal(len(names), n_folds))))


def look_up_folds(genes, folds):
    """The fold of every row (n_rows,), from a dict of gene to fold that knows every gene."""
    return np.array([folds[gene] for gene in np.asarray(genes).tolist()], int)


def _deal(n_genes, n_folds):
    return (np.arange(n_genes) % n_folds).tolist()


def _check(n_genes, n_folds):
    if n_folds < 2:
        raise InputError(f"{n_folds} fold leaves nothing to train on", fix="use at least 2 folds")
    if n_genes < n_folds:
        raise InputError(
            f"{pluralise(n_genes, 'gene')} cannot be split into {n_folds} folds",
            fix=f"use at most {n_genes} folds, or add genes" if n_genes > 1 else "add genes",
        )
