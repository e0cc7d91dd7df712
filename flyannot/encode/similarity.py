"""What looks alike: the cosine of feature vectors, without what the embryos of a stage range have in common.

Every image's vector is scaled to length 1.  The mean of these is taken off, in which every group counts once,
however many images it has; what is left is scaled to length 1 again.  The similarity of two images is the
product of what is left, from -1 to 1.  A group's vector is the mean of its images', scaled.

A collection is kept as coordinates along a few principal axes, so that a query is one small product of
matrices.  The axes are those of images spread evenly over the collection; no term takes part.

A map of patterns puts what looks alike side by side on a plane, to be looked at rather than read: neighbours
are kept, distances are not.  How far apart two clusters lie says little.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.base.text import short_repr
from flyannot.jobs.resources import one_blas_thread

N_AXES = 256  # as good as all of them: docs/similar.md
_N_SPREAD = 2000  # images that the axes are those of
N_LEAST = 10  # patterns of a map: of fewer a list says as much
_PERPLEXITY = 30  # about the neighbours of a pattern that count in a map
_N_MAP_AXES = 50  # that a map is made from
_NO_VARIANCE = 1e-6  # of the largest variance: an axis of rounding


@dataclass(frozen=True)
class ImageCollection:
    """The images of one stage range, ready to be searched.

    mean : float32 array (n_features,); axes : float32 array (n_axes, n_features)
    images, groups : float32 arrays (n_images, n_axes) and (n_groups, n_axes)
    """

    mean: np.ndarray
    axes: np.ndarray
    images: np.ndarray
    groups: np.ndarray

    __repr__ = short_repr

    def coordinates(self, features):
        """The directions of feature vectors along the axes, (n, n_axes)."""
        with one_blas_thread():
            return _directions(features, self.mean) @ self.axes.T


def collection_of(blocks, groups):
    """The ImageCollection of one stage range, of images in some Groups.

    `blocks` is a function without arguments that gives the feature vectors of all images in order, some at a
    time, float32 arrays (n, n_features); it is called again for every pass.
    """
    n_images = len(groups.of_image)
    weights = np.empty(n_images)
    for rows in groups.rows:
        weights[rows] = 1 / (len(rows) * len(groups))
    mean, spread, start = np.zeros(1), [], 0
    chosen = np.unique(np.linspace(0, n_images - 1, min(n_images, _N_SPREAD)).round().astype(int))
    for rows in blocks():
        units = _scaled(rows)
        mean = mean + weights[start : start + len(rows)] @ units
        spread.append(units[chosen[(chosen >= start) & (chosen < start + len(rows))] - start])
        start += len(rows)
    mean = mean.astype(np.float32)
    with one_blas_thread():
        axes = _principal_axes(_scaled(np.concatenate(spread) - mean))
        parts = [_directions(rows, mean) @ axes.T for rows in blocks()]
    images = np.concatenate(parts)
    of_groups = np.array([images[rows].mean(axis=0) for rows in groups.rows], np.float32)
    return ImageCollection(mean, axes, images, _scaled(of_groups))


def most_similar(similarity, n, *, without=()):
    """The numbers of the n largest of an array, the largest first, of equal ones the first; `without` are
    numbers that take no part."""
    left = np.array(similarity, float)
    left[list(without)] = -np.inf
    n = min(n, int(np.isfinite(left).sum()))
    if not n:
        return np.zeros(0, int)
    least = np.partition(left, len(left) - n)[len(left) - n]
    numbers = np.flatnonzero(left >= least)
    return numbers[np.argsort(-left[numbers], kind="stable")][:n]


def farthest_first(directions, begun=()):
    """The order in which every pattern is as unlike those before it as any is left.

    Parameters
    ----------
    directions : float array (n_patterns, n_axes) of rows of length 1, as the groups of an `ImageCollection`
    begun : numbers of patterns that come before all others; without any, the most typical one begins

    Returns
    -------
    order : list of (number, distance) of the others: 1 - cosine to the nearest of those before, from 0 to 2,
        which never rises; of the one that nothing comes before 2

    Source
    ------
    Gonzalez, Theoretical Computer Science 1985, doi:10.1016/0304-3975(85)90224-5.
    """
    distance, waits, order = np.full(len(directions), 2.0), np.ones(len(directions), bool), []
    waits[list(begun)] = False
    for number in begun:
        distance = np.minimum(distance, 1 - directions @ directions[number])
    while waits.any():
        number = int(np.where(waits, distance, -1).argmax())
        if waits.all():
            number = int((directions @ directions.sum(axis=0)).argmax())
        order.append((number, max(0.0, float(distance[number]))))
        waits[number] = False
        distance = np.minimum(distance, 1 - directions @ directions[number])
    return order


def _directions(features, mean):
    return _scaled(_scaled(features) - mean)


def _scaled(rows):
    """Rows of length 1, float32; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    return (rows / np.where(lengths > 0, lengths, 1)[:, None]).astype(np.float32)


def _principal_axes(rows):
    """The axes of the largest variance, at most N_AXES, by way of the products of rows."""
    values, vectors = np.linalg.eigh((rows @ rows.T).astype(np.float64))
    kept = np.flatnonzero(values > _NO_VARIANCE * max(values[-1], 1e-12))[::-1][:N_AXES]
    if not len(kept):
        return np.zeros((1, rows.shape[1]), np.float32)  # all images are alike
    return ((vectors[:, kept] / np.sqrt(values[kept])).T @ rows).astype(np.float32)


def map_of_patterns(directions):
    """Where each pattern lies, of directions (n_patterns, n_axes), as the groups of an `ImageCollection`.

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
        axes = _principal(directions.astype(np.float64), _N_MAP_AXES)
        start = np.zeros((len(axes), 2), np.float32)  # the first two axes, small
        start[:, : axes.shape[1]] = axes[:, :2]
        start = start / max(float(start[:, 0].std()), 1e-12) * 1e-4
        learned = TSNE(perplexity=min(_PERPLEXITY, (n_patterns - 1) / 3), init=start, random_state=0)
        places = _principal(learned.fit_transform(axes.astype(np.float32)).astype(np.float64), 2)
    low, high = places.min(axis=0), places.max(axis=0)
    return (places - low) / np.where(high > low, high - low, 1)


def _principal(rows, n_axes):
    """Rows along their axes of the largest variance, each axis with a sign that rounding does not decide."""
    centred = rows - rows.mean(axis=0)
    U, spread, axes = np.linalg.svd(centred, full_matrices=False)
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    return (U * (spread * signs))[:, :n_axes]
