"""A map of patterns: what looks alike lies side by side on a plane, to be looked at rather than read.

Neighbours are kept, distances are not: how far apart two clusters lie says little.
"""

import numpy as np

N_LEAST = 10  # of fewer patterns a list says as much
_PERPLEXITY = 30  # about the neighbours of a pattern that count
_N_AXES = 50


def map_of(directions):
    """Where each pattern lies.

    Parameters
    ----------
    directions : float array (n_patterns, n_axes), as the groups of `flyannot.features.similarity.Collection`

    Returns
    -------
    places : float array (n_patterns, 2) from 0 to 1, the longer side of the cloud first; the same bits for
        the same directions

    Source
    ------
    van der Maaten, JMLR 2014 (Barnes-Hut t-SNE), of scikit-learn, begun from two principal axes.
    """
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    n_patterns = len(directions)
    with threadpool_limits(limits=1):  # sums in another order have other bits
        axes = _principal(directions.astype(np.float64), _N_AXES)
        learned = TSNE(perplexity=min(_PERPLEXITY, (n_patterns - 1) / 3), init=_start(axes), random_state=0)
        places = _principal(learned.fit_transform(axes.astype(np.float32)).astype(np.float64), 2)
    low, high = places.min(axis=0), places.max(axis=0)
    return (places - low) / np.where(high > low, high - low, 1)


def _principal(rows, n_axes):
    """Rows along their axes of the largest variance, each axis with a sign that rounding does not decide."""
    centred = rows - rows.mean(axis=0)
    U, spread, axes = np.linalg.svd(centred, full_matrices=False)
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    return (U * (spread * signs))[:, :n_axes]


def _start(axes):
    """The first two axes, small, as t-SNE begins."""
    start = np.zeros((len(axes), 2), np.float32)
    start[:, : axes.shape[1]] = axes[:, :2]
    return start / max(float(start[:, 0].std()), 1e-12) * 1e-4
