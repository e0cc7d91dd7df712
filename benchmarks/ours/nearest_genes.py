"""Genes as points, and what the most similar of them carry."""

import numpy as np

_N_AXES = 128
_N_NEAREST = 10


def principal_coordinates(X):
    """Rows along the axes of their largest variance, (n_rows, at most 128), of mean squared length 1."""
    U, lengths, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    coordinates = (U * lengths)[:, :_N_AXES]
    return coordinates / np.sqrt((coordinates**2).sum(axis=1).mean())


def centred_units(X):
    """Rows less their mean, of length 1: their products are cosines."""
    centred = X - X.mean(axis=0)
    return centred / np.linalg.norm(centred, axis=1, keepdims=True)


def nearest_part(similarity, carry):
    """The part of the 10 most similar genes that carry each term, a little towards all genes' part.

    Parameters
    ----------
    similarity : float array (n_rows, n_genes), -inf to a gene that is not asked
    carry : bool array (n_genes,) or (n_genes, n_terms)

    Returns
    -------
    part : float array (n_rows,) or (n_rows, n_terms)
    """
    most = np.argpartition(-similarity, _N_NEAREST, axis=1)[:, :_N_NEAREST]
    return (carry[most].sum(axis=1) + 2 * carry.mean(axis=0)) / (_N_NEAREST + 2)
