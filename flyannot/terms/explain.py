"""Exact explanation of a decision value: the contribution of every patch.

The decision value of a linear model is b + sum_k w_k f_k.  With max pooling the feature f_k is the code of
one patch, which won its atom and cell among all images of the group.  So w_k f_k belongs to this patch alone.
Summed by patch,

    decision value = intercept + without_patch + sum over patches of contribution.

f_k is the feature as the model gets it, so this holds for any scaling of the features (such as by `l2`).
`without_patch` is the sum over the features without a patch.  They are zero unless something shifts them.

If the features of a group are means over its images, each image has its part of w_k f_k.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.base.errors import DataError, InputError
from flyannot.base.text import short_repr
from flyannot.encode.pooling import NO_PATCH
from flyannot.terms import CLASSIFIERS


@dataclass(frozen=True)
class Explanation:
    """One decision value, split into the contributions of patches.

    value, intercept, without_patch : float
    image : int array (n,), the number of the image in the group
    patch : int array (n,), the number of the patch in the image
    contribution : float64 array (n,), the part of the value that belongs to the patch

    The arrays are sorted by image, then by patch.
    """

    value: float
    intercept: float
    without_patch: float
    image: np.ndarray
    patch: np.ndarray
    contribution: np.ndarray

    __repr__ = short_repr

    @property
    def total(self):
        """Return the sum of all parts, which is the decision value up to rounding."""
        return self.intercept + self.without_patch + float(self.contribution.sum())

    @property
    def sums(self):
        """Return (plus, minus, rest); plus - minus + rest is the decision value."""
        plus = self.contribution[self.contribution > 0].sum()
        minus = -self.contribution[self.contribution < 0].sum()
        return float(plus), float(minus), self.intercept + self.without_patch

    def select_image(self, number):
        """Return the patches and the contributions of one image."""
        of_image = self.image == number
        return self.patch[of_image], self.contribution[of_image]

    def spread(self, number, patches, size_px, cell_px=1):
        """Return the `contribution_map` of one image.

        Parameters
        ----------
        number : int, the image in the group
        patches : DescribedPatches of the image
        size_px : (height, width) of the image
        cell_px : int, side of the cells of the map
        """
        patch, contribution = self.select_image(number)
        sides = patches.patch_px[patch].astype(int)
        return contribution_map(patches.centres_px[patch], contribution, sides, size_px, cell_px)


def require_linear(model):
    """Raise InputError unless the decision values of the model can be split exactly."""
    if not model.scorer.is_linear:
        linear = [name for name in CLASSIFIERS if CLASSIFIERS[name].is_linear]
        raise InputError(
            f"the decision value of {model.method} is not a sum over patches: it has no exact explanation",
            fix=f"train with --method {' or '.join(linear)}",
        )


def explain_group(model, term, X, features, winner, *, scheme="group"):
    """Split the decision value of one group for one term.

    Parameters
    ----------
    model : Model, of a linear method
    term : int, the number of the term
    X : float array (1, n_features), the group as the model gets it
    features : float array (n_images, n_features), the pooled features of the images of the group
    winner : int array (n_images, n_features), the patch of each feature, NO_PATCH for none
    scheme : one of SCHEMES, how the group was pooled

    Returns
    -------
    explanation : Explanation

    Raises
    ------
    InputError
        If the method is not linear.
    DataError
        If the features have no winners.
    """
    require_linear(model)
    if features.shape != winner.shape:
        raise DataError(f"{features.shape} features have {winner.shape} winning patches")
    weights, intercept, rows = model.scorer.linear_form(np.asarray(X), term)
    parts = rows[0].astype(np.float64) * weights  # (n_features,)
    split = _parts_of_mean if scheme == "mean" else _parts_of_maximum
    parts, image, patch = (array.ravel() for array in split(parts, features, winner))
    has_patch = patch != NO_PATCH
    key = image[has_patch].astype(np.int64) << 32 | patch[has_patch].astype(np.int64)
    keys, inverse = np.unique(key, return_inverse=True)
    return Explanation(
        float(model.decision_values(X)[0, term]),
        float(intercept),
        float(parts[~has_patch].sum()),
        keys >> 32,
        keys & 0xFFFFFFFF,
        np.bincount(inverse, parts[has_patch], len(keys)),
    )


def _parts_of_maximum(parts, features, winner):
    """Return the parts of the value of a group, with the image and the patch of each: equal shapes."""
    best = features.argmax(axis=0)  # a tie keeps the earlier image, as pooling keeps the earlier patch
    return parts, best, winner[best, np.arange(winner.shape[1])]


def _parts_of_mean(parts, features, winner):
    """Return the parts of all images of a group whose features are means, as `_parts_of_maximum`."""
    total = features.sum(axis=0, dtype=np.float64)
    shares = features / np.where(total > 0, total, 1)
    images = np.broadcast_to(np.arange(len(winner))[:, None], winner.shape)
    return parts * shares, images, winner


def contribution_map(centres_px, contribution, patch_px, size_px, cell_px=1):
    """Spread each contribution evenly over its patch, and add them up in the cells of the image.

    Parameters
    ----------
    centres_px : float array (n, 2), (row, column) of the centres of the patches
    contribution : float array (n,)
    patch_px : int, side of the patches, or int array (n,), the side of each
    size_px : (height, width) of the image
    cell_px : int, side of the cells of the map

    Returns
    -------
    spread : float64 array (height / cell_px, width / cell_px) of decision values; they add up to all
        contributions
    """
    centres_px = np.asarray(centres_px, float).reshape(-1, 2)
    sides = np.broadcast_to(np.asarray(patch_px, int), len(centres_px))
    corners = np.rint(centres_px - sides[:, None] / 2)
    rows, columns = (_pixels_in_cells(first, sides, size, cell_px) for first, size in zip(corners.T, size_px))
    return (rows * (np.asarray(contribution) / sides**2)[:, None]).T @ columns


def _pixels_in_cells(first, sides, size, cell_px):
    """Count the pixels of each patch in each cell along one side: (n, size / cell_px)."""
    edges = np.arange(0, size + 1, cell_px)
    return np.diff(np.clip(edges, first[:, None], (first + sides)[:, None]), axis=1)
