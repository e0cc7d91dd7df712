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
from functools import cache

import numpy as np

from flyannot.base.errors import DataError
from flyannot.encode.pooling import NO_PATCH
from flyannot.images.geometry import STANDARD_PX, blur_image

CELL_PX = 8  # the side of a cell of a drawn map
_BLUR_CELLS = 1.5  # standard deviation; it hides the edges of patches and of the cells of the grid


@dataclass(frozen=True)
class Explanation:
    """A decision value, written as a sum of contributions of patches.

    value : float, the decision value of one group for one term
    intercept : float, the intercept of the linear model
    without_patch : float, the contribution of features that no patch won
    image : int array (n,), the number of the image that the patch belongs to, within the group
    patch : int array (n,), the number of the patch within its image
    contribution : float64 array (n,), the amount that the patch adds to the decision value

    The arrays are sorted by image, then by patch.
    """

    value: float
    intercept: float
    without_patch: float
    image: np.ndarray
    patch: np.ndarray
    contribution: np.ndarray

    @property
    def total(self):
        """Return the sum of all parts, which is the decision value up to rounding."""
        return self.intercept + self.without_patch + float(self.contribution.sum())

    @property
    def sums(self):
        """Three floats: plus, minus and rest, with which plus - minus + rest is the decision value.

        plus is the sum of the positive contributions, minus the sum of the sizes of the negative ones. rest
        is what comes from no patch.
        """
        plus = self.contribution[self.contribution > 0].sum()
        minus = -self.contribution[self.contribution < 0].sum()
        return float(plus), float(minus), self.intercept + self.without_patch

    def select_image(self, number):
        """Return the numbers of the patches of one image, and their contributions.

        number : int, the number of the image within the group
        """
        of_image = self.image == number
        return self.patch[of_image], self.contribution[of_image]


def draw_smooth_maps(explanations, number, patches):
    """Draw blurred maps of the contributions of one image, with cells of CELL_PX.

    Parameters
    ----------
    explanations : list of Explanation, of several terms and one group, which has the same patches for all
    number : int, the number of the image within the group
    patches : DescribedPatches of the image

    Returns
    -------
    maps : float64 array (n_explanations, height / CELL_PX, width / CELL_PX)
        The sum over a map is the sum of the contributions of the image.
    """
    contribution = np.zeros((len(explanations), len(patches.centres_px)))
    patch = explanations[0].select_image(number)[0]
    contribution[:, patch] = [explanation.select_image(number)[1] for explanation in explanations]
    blurs = [_blur_matrix(size // CELL_PX) for size in STANDARD_PX]
    return contribution_map(patches.centres_px, contribution, patches.patch_px, STANDARD_PX, CELL_PX, blurs)


@cache
def _blur_matrix(n_cells):
    """Return the matrix (n_cells, n_cells) that blurs a row of cells, multiplied from the right."""
    return blur_image(np.eye(n_cells), (_BLUR_CELLS, 0)).T


def explain_group(model, terms, X, features, winner, *, scheme="group"):
    """Write the decision values of one group as sums of contributions of patches.

    Parameters
    ----------
    model : Model
    terms : list of int, the numbers of the terms in the model
    X : float array (1, n_features), the pooled and normalised features of the group
    features : float array (n_images, n_features), the pooled features of each image of the group
    winner : int array (n_images, n_features)
        The number of the patch whose code is the largest, for each feature; NO_PATCH if there is none.
    scheme : name in SCHEMES, how the group was pooled

    Returns
    -------
    explanations : list with the Explanation of each term

    Raises
    ------
    DataError
        If the features have no winning patches, because another program made them.
    """
    if features.shape != winner.shape:
        raise DataError(f"{features.shape} features have {winner.shape} winning patches")
    shares, images, patches = (_parts_of_mean if scheme == "mean" else _parts_of_maximum)(features, winner)
    has_patch = patches != NO_PATCH
    key = images[has_patch].astype(np.int64) << 32 | patches[has_patch].astype(np.int64)
    keys, inverse = np.unique(key, return_inverse=True)
    values = model.decision_values(X)[0]
    explanations = []
    for term in terms:
        weights, intercept, rows = model.scorer.linear_form(np.asarray(X), term)
        parts = rows[0].astype(np.float64) * weights * shares
        without_patch = float(parts[~has_patch].sum())
        contribution = np.bincount(inverse, parts[has_patch], len(keys))
        split = float(values[term]), float(intercept), without_patch, keys >> 32, keys & 0xFFFFFFFF
        explanations.append(Explanation(*split, contribution))
    return explanations


def _parts_of_maximum(features, winner):
    """Attribute the summands of a decision value to images and patches, for features that are maxima.

    Parameters
    ----------
    features, winner : arrays (n_images, n_features), as in `explain_group`

    Returns
    -------
    shares, images, patches : arrays of one shape
        The share of a summand, from 0 to 1, and the numbers of the image and of the patch that have it.
    """
    best = features.argmax(axis=0)  # a tie keeps the earlier image, as pooling keeps the earlier patch
    return np.ones(winner.shape[1]), best, winner[best, np.arange(winner.shape[1])]


def _parts_of_mean(features, winner):
    """Attribute the summands of a decision value to images and patches, for features that are means.

    The parameters and the result are as in `_parts_of_maximum`.
    """
    total = features.sum(axis=0, dtype=np.float64)
    images = np.broadcast_to(np.arange(len(winner))[:, None], winner.shape)
    return features / np.where(total > 0, total, 1), images, winner


def contribution_map(centres_px, contribution, patch_px, size_px, cell_px=1, blurs=()):
    """Draw maps: spread each contribution evenly over its patch, and add up all patches.

    Parameters
    ----------
    centres_px : float array (n, 2), (row, column) of the centres of the patches
    contribution : float array (n,), or (n_maps, n) to draw several maps
    patch_px : int, the side of the patches, or int array (n,) with the side of each
    size_px : (height, width) of the image
    cell_px : int, the side of the cells of the map
    blurs : pair of arrays as from `_blur_matrix`, down and across; without them the maps are not blurred

    Returns
    -------
    spread : float64 array (height / cell_px, width / cell_px), or (n_maps, ...) of several maps
        The sum over all cells is the sum of all contributions.
    """
    centres_px = np.asarray(centres_px, float).reshape(-1, 2)
    sides = np.broadcast_to(np.asarray(patch_px, int), len(centres_px))
    corners = np.rint(centres_px - sides[:, None] / 2)
    rows, columns = (_pixels_in_cells(first, sides, size, cell_px) for first, size in zip(corners.T, size_px))
    if blurs:  # fewer products than to blur each map
        rows, columns = (n_pixels @ blur for n_pixels, blur in zip((rows, columns), blurs))
    return (rows.T * (np.asarray(contribution) / sides**2)[..., None, :]) @ columns


def _pixels_in_cells(first, sides, size, cell_px):
    """Count how many pixels of each patch lie in each cell of a grid, along one axis.

    Parameters
    ----------
    first : int array (n,), the first pixel of each patch
    sides : int array (n,), the number of pixels of each patch
    size : int, the number of pixels of the image along the axis
    cell_px : int, the number of pixels of a cell

    Returns
    -------
    n_pixels : array (n, size / cell_px)
    """
    edges = np.arange(0, size + 1, cell_px)
    inside = np.minimum(np.maximum(edges, first[:, None]), (first + sides)[:, None])
    return inside[:, 1:] - inside[:, :-1]
