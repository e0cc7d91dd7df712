"""Similarity of images: the cosine of their feature vectors, after subtracting the mean of a stage range.

The vector of every image is scaled to length 1.  The mean of these vectors is subtracted, in which every
group has the same weight.  The rest is scaled to length 1 again.  The similarity of two images is the inner
product of the two results, from -1 to 1.  The vector of a group is the mean of those of its images, scaled.

A collection is stored as coordinates along a few principal axes, so that a query is one small matrix product.
The axes come from images spread evenly over the collection; terms are not used.

A map of patterns places similar patterns side by side on a plane.  It keeps neighbours but not distances: the
distance between two clusters says little.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.encode.groups import unit_rows
from flyannot.jobs.resources import limit_blas_threads

N_AXES = 256  # more axes are no better: docs/similar.md
_N_SPREAD = 2000  # images from which the axes are computed
N_LEAST = 10  # patterns of a map; fewer are better shown as a list
_N_PULLING = 15  # nearest patterns that attract a pattern on a map
_N_REPELLING = 256  # patterns that repel it, drawn again in each step
_MAP_STEPS = 150  # more steps keep hardly more neighbours
_N_AT_ONCE = 512  # patterns whose distances to all others are in memory at once
_NO_VARIANCE = 1e-6  # relative to the largest variance; a smaller one is a rounding error


@dataclass(frozen=True)
class ImageIndex:
    """The images of one stage range as coordinates along a few axes, for a quick search of similar images.

    mean : float32 array (n_features,), which is subtracted from feature vectors
    axes : float32 array (n_axes, n_features), principal axes
    images : float32 array (n_images, n_axes), coordinates of length 1
    groups : float32 array (n_groups, n_axes), coordinates of length 1
    """

    mean: np.ndarray
    axes: np.ndarray
    images: np.ndarray
    groups: np.ndarray

    def coordinates(self, features):
        """Return the coordinates of feature vectors along the axes, float32 (n, n_axes), at length 1."""
        with limit_blas_threads():
            return _centre_unit_rows(features, self.mean) @ self.axes.T


def build_image_index(blocks, groups):
    """Build the ImageIndex of one stage range, in which similar images can be searched.

    Parameters
    ----------
    blocks : function without arguments that returns an iterable of float32 arrays (n, n_features)
        These are the feature vectors of all images in order. It is called once for every pass over them.
    groups : Groups
    """
    n_images = len(groups.group_numbers)
    weights = np.empty(n_images)
    for rows in groups.rows:
        weights[rows] = 1 / (len(rows) * len(groups))
    mean = np.zeros(1)
    spread = []
    start = 0
    chosen = np.unique(np.linspace(0, n_images - 1, min(n_images, _N_SPREAD)).round().astype(int))
    for rows in blocks():
        units = unit_rows(rows)
        mean = mean + weights[start : start + len(rows)] @ units
        spread.append(units[chosen[(chosen >= start) & (chosen < start + len(rows))] - start])
        start += len(rows)
    mean = mean.astype(np.float32)
    with limit_blas_threads():
        axes = _principal_axes(unit_rows(np.concatenate(spread) - mean))
        parts = [_centre_unit_rows(rows, mean) @ axes.T for rows in blocks()]
    images = np.concatenate(parts)
    of_groups = np.array([images[rows].mean(axis=0) for rows in groups.rows], np.float32)
    return ImageIndex(mean, axes, images, unit_rows(of_groups))


def find_most_similar(similarity, n, *, without=()):
    """Return the indices of the n largest similarities, in falling order; of equal ones the first.

    similarity : float array (n_images,); without : indices to leave out
    """
    left = np.array(similarity, float)
    left[list(without)] = -np.inf
    n = min(n, int(np.isfinite(left).sum()))
    if not n:
        return np.zeros(0, int)
    least = np.partition(left, len(left) - n)[len(left) - n]
    numbers = np.flatnonzero(left >= least)
    return numbers[np.argsort(-left[numbers], kind="stable")][:n]


def order_farthest_first(directions, begun=()):
    """Order patterns so that each is as different as possible from all before it.

    Parameters
    ----------
    directions : float array (n_patterns, n_axes) of rows of length 1, such as the groups of an
        ImageIndex
    begun : indices of patterns that come before all others
        Without any, the most typical pattern is first.

    Returns
    -------
    order : list of (index, distance) of the other patterns
        The distance is 1 - cosine to the nearest pattern before, from 0 to 2, and never rises. It is 2 for
        the first pattern of all.

    Source
    ------
    Gonzalez, Theoretical Computer Science 1985, doi:10.1016/0304-3975(85)90224-5.
    """
    distance = np.full(len(directions), 2.0)
    waits = np.ones(len(directions), bool)
    order = []
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


def _centre_unit_rows(features, mean):
    """Scale feature vectors to length 1, subtract the mean of a stage range, and scale them to 1 again."""
    return unit_rows(unit_rows(features) - mean)


def _principal_axes(rows):
    """Return the axes along which rows vary most, at most N_AXES, as an array (n_axes, n_features).

    rows : float array (n, n_features), from whose inner products the axes are computed
    """
    is_wide = rows.shape[1] >= len(rows)
    values, vectors = np.linalg.eigh((rows @ rows.T if is_wide else rows.T @ rows).astype(np.float64))
    kept = np.flatnonzero(values > _NO_VARIANCE * max(values[-1], 1e-12))[::-1][:N_AXES]
    if not len(kept):
        return np.zeros((1, rows.shape[1]), np.float32)  # all images are alike
    axes = vectors[:, kept].T
    return (axes / np.sqrt(values[kept])[:, None] @ rows if is_wide else axes).astype(np.float32)


def map_patterns(directions):
    """Place patterns on a plane by t-SNE, so that similar patterns lie side by side.

    Parameters
    ----------
    directions : float array (n_patterns, n_axes) of rows of length 1, such as the groups of an ImageIndex

    Returns
    -------
    places : float array (n_patterns, 2) from 0 to 1, the longer side of the cloud first
        A random sample of all patterns repels each pattern, but the same directions give the same bits.

    Source
    ------
    van der Maaten and Hinton, JMLR 2008, initialised by the first two axes.
    """
    n_patterns = len(directions)
    rng = np.random.default_rng(0)
    places = np.pad(directions, ((0, 0), (0, 1)))[:, :2].astype(np.float32)
    places *= 1e-4 / max(np.abs(places).max(), 1e-12)
    move = 0
    with limit_blas_threads():  # the order of sums changes their bits
        nearest, weights = _weigh_nearest(directions)
        for step in range(_MAP_STEPS):
            apart = places[nearest] - places[:, None]
            pulls = weights * apart / (1 + (apart[..., :1] ** 2 + apart[..., 1:] ** 2))
            back = [np.bincount(nearest.ravel(), one.ravel(), n_patterns) for one in np.moveaxis(pulls, 2, 0)]
            some = places[rng.permutation(n_patterns)[:_N_REPELLING]]
            squares = (places**2).sum(axis=1)[:, None] + (some**2).sum(axis=1) - 2 * places @ some.T
            kernel = 1 / (1 + np.maximum(squares, 0))
            scale = n_patterns / (kernel.sum() - len(some))  # without each pattern itself
            kernel *= kernel
            pushes = scale * (places * kernel.sum(axis=1, keepdims=True) - kernel @ some)
            early = 4 if step < _MAP_STEPS / 3 else 1  # pulls are exaggerated at first
            move = move / 2 + early * (pulls.sum(axis=1) - np.transpose(back)) + pushes
            places = (places + move).astype(np.float32)
        U, spread, _ = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)
    places = U * spread
    low, high = places.min(axis=0), places.max(axis=0)
    return (places - low) / np.where(high > low, high - low, 1)


def _weigh_nearest(directions):
    """Find the nearest patterns of each pattern, at most _N_PULLING, which attract it in t-SNE.

    Returns
    -------
    nearest : int array (n_patterns, n), their indices
    weights : float32 array (n_patterns, n, 1), larger for nearer patterns; the sum for a pattern is 1/2
    """
    n = min(_N_PULLING, len(directions) - 1)
    nearest, weights = [], []
    for start in range(0, len(directions), _N_AT_ONCE):
        far = np.maximum(1 - directions[start : start + _N_AT_ONCE] @ directions.T, 0)
        np.fill_diagonal(far[:, start:], np.inf)
        nearest.append(np.argpartition(far, n - 1, axis=1)[:, :n])
        far = np.take_along_axis(far, nearest[-1], axis=1)
        weights.append(np.exp(-2 * far / np.maximum(far.mean(axis=1, keepdims=True), 1e-12)))
    joined = np.concatenate(weights)[:, :, None]
    return np.concatenate(nearest), (joined / joined.sum(axis=1, keepdims=True) / 2).astype(np.float32)
