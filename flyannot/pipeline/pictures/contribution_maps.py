"""Maps of where in the images of a group a term is supported or opposed, as a page shows them."""

from typing import NamedTuple

import numpy as np

from flyannot.base.errors import DataError
from flyannot.terms.explain import draw_smooth_maps, explain_group
from flyannot.terms.training_set import training_rows

_TOLERANCE = 1e-6  # relative, between the sum of the parts and the stored decision value


class TermMap(NamedTuple):
    """The map of the contributions to one term in one image of a group.

    numbers : float array (5,): the decision value, the sum of the supporting contributions, of the opposing
        ones, the intercept, and the largest absolute contribution of a cell in the group
    cells : int8 array (height / CELL_PX, width / CELL_PX), contributions of cells; the largest is 127
    """

    numbers: np.ndarray
    cells: np.ndarray


def map_contributions(loaded, group, values, described, features, winner):
    """Map the contributions to terms of one group.

    Parameters
    ----------
    loaded : StageRangeModel, which is linear
    group : Groups with one group, whose rows are all images
    values : dict, term -> its decision value; a term is left out if the features do not give this value
    described : list of the DescribedPatches of each image
    features, winner : arrays (n_images, n_features), as in PooledFeatures

    Returns
    -------
    maps : list with a dict, term -> TermMap, for each image

    Raises
    ------
    DataError
        If the features are not of these patches.
    """
    maps: list = [{} for _ in described]
    terms = [term for term in values if term in loaded.terms]  # others are of another model
    if not terms:
        return maps
    X = training_rows([(0, features)], group, loaded.classify)
    numbers = [loaded.terms.index(term) for term in terms]
    splits = explain_group(loaded.model, numbers, X, features, winner, scheme=loaded.classify.scheme)
    kept = {
        term: split
        for term, split in zip(terms, splits)
        if abs(split.total - values[term]) <= _TOLERANCE * max(abs(values[term]), _TOLERANCE)
    }
    if not kept:
        return maps
    drawn = [_draw(list(kept.values()), number, patches) for number, patches in enumerate(described)]
    for (term, split), *of_images in zip(kept.items(), *drawn):
        full = max(float(np.abs(cells).max()) for cells in of_images) or 1.0
        sums = np.array([split.value, *split.sums, full])
        for of_image, cells in zip(maps, of_images):
            levels = np.clip(np.rint(cells / full * 127), -127, 127).astype(np.int8)
            of_image[term] = TermMap(sums, levels)
    return maps


def _draw(splits, number, patches):
    """Draw the map of one image for each Explanation.

    number : int, the number of the image in the group; patches : its DescribedPatches
    """
    used = [split.patch[split.image == number].max(initial=0) for split in splits]
    if max(used, default=0) >= max(1, len(patches.centres_px)):
        raise DataError("the features do not fit the descriptors", fix="make the features again")
    return draw_smooth_maps(splits, number, patches)
