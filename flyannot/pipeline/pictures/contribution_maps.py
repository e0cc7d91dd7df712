"""Contributions of the patches of a group: from its coded images to the maps that a page shows."""

from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from flyannot.base.errors import DataError
from flyannot.encode.groups import Groups, training_rows
from flyannot.pipeline.engine.inputs import read_described_patches
from flyannot.terms.explain import draw_smooth_maps, explain_group

_TOLERANCE = 1e-6  # relative, between the sum of the parts and the stored decision value


class CodedImages(NamedTuple):
    """All images of one group: their patches, and the features that the codes of the patches gave.

    described : list with the DescribedPatches of each image
    features, winner : arrays (n_images, n_features), as in PooledFeatures
    """

    described: list
    features: np.ndarray
    winner: np.ndarray

    def group_features(self, options):
        """Return the features of the group as a model gets them, (1, n_features).

        options : TrainOptions of the model
        """
        group = Groups([""], [""], [""], [np.arange(len(self.features))])
        return training_rows([(0, self.features)], group, options)

    def explain(self, loaded, terms):
        """Return a list with the Explanation of the decision value of the group for each term.

        loaded : StageRangeModel; terms : list of the numbers of terms in the model
        """
        X = self.group_features(loaded.classify)
        scheme = loaded.classify.scheme
        return explain_group(loaded.model, terms, X, self.features, self.winner, scheme=scheme)


def join_codes(described, pooled):
    """Return the CodedImages of the DescribedPatches and the PooledFeatures of each image of a group."""
    features, winner = (np.stack([getattr(one, name) for one in pooled]) for name in ("features", "winner"))
    return CodedImages(list(described), features, winner)


class StoredCodes:
    """The CodedImages of one stage range in the files of a run, which are found by the names of images.

    Parameters
    ----------
    stage_range : str
    features, descriptors : open StoredFiles with the stage range; None if the run has no such file
    """

    def __init__(self, stage_range, features, descriptors):
        self._stage_range = stage_range
        self._files = features, descriptors
        names = [() if file is None else file.read_array(stage_range, "image") for file in self._files]
        self._rows = [{name: i for i, name in enumerate(of_file)} for of_file in names]

    @property
    def is_complete(self):
        """True if the run has both files."""
        return all(self._rows)

    def read(self, names):
        """Return the CodedImages of the images with these names; None if a file lacks one of them."""
        if not all(name in rows for name in names for rows in self._rows):
            return None
        features, descriptors = self._files
        of_features, of_descriptors = ([rows[name] for name in names] for rows in self._rows)
        pooled = [features.read_image_rows(self._stage_range, *run) for run in _split_runs(of_features)]
        runs = _split_runs(of_descriptors)
        described = chain(*(read_described_patches(descriptors, self._stage_range, *run) for run in runs))
        return CodedImages(list(described), *(np.concatenate(arrays) for arrays in zip(*pooled)))


def _split_runs(rows):
    """Return a list with the (first, stop) of each run of consecutive numbers in a list, in its order."""
    starts = [i for i, row in enumerate(rows) if not i or row != rows[i - 1] + 1]
    return [(rows[a], rows[b - 1] + 1) for a, b in pairwise([*starts, len(rows)])]


class TermMap(NamedTuple):
    """The map of the contributions to one term in one image of a group.

    numbers : float array (5,): the decision value, the sum of the supporting contributions, of the opposing
        ones, the intercept, and the largest absolute contribution of a cell in the group
    cells : int8 array (height / CELL_PX, width / CELL_PX), contributions of cells; the largest is 127
    """

    numbers: np.ndarray
    cells: np.ndarray


def map_contributions(loaded, coded, values):
    """Map the contributions to terms of one group.

    Parameters
    ----------
    loaded : StageRangeModel
    coded : CodedImages of the group
    values : dict, term -> its decision value; a term is left out if the features do not give this value

    Returns
    -------
    maps : list with a dict, term -> TermMap, for each image

    Raises
    ------
    DataError
        If the features are not of these patches.
    """
    maps: list = [{} for _ in coded.described]
    terms = [term for term in values if term in loaded.terms]  # others are of another model
    if not terms:
        return maps
    splits = coded.explain(loaded, [loaded.terms.index(term) for term in terms])
    kept = {
        term: split
        for term, split in zip(terms, splits)
        if abs(split.total - values[term]) <= _TOLERANCE * max(abs(values[term]), _TOLERANCE)
    }
    if not kept:
        return maps
    splits = list(kept.values())
    drawn = np.stack([_draw(splits, number, patches) for number, patches in enumerate(coded.described)])
    full = np.abs(drawn).max(axis=(0, 2, 3))
    full[full == 0] = 1.0
    levels = np.rint(drawn / full[:, None, None] * 127).astype(np.int8)  # from -127 to 127
    for i, (term, split) in enumerate(kept.items()):
        sums = np.array([split.value, *split.sums, full[i]])
        for of_image, cells in zip(maps, levels[:, i]):
            of_image[term] = TermMap(sums, cells)
    return maps


def _draw(splits, number, patches):
    """Draw the map of one image for each Explanation.

    number : int, the number of the image in the group; patches : its DescribedPatches
    """
    if splits[0].select_image(number)[0].max(initial=0) >= max(1, len(patches.centres_px)):
        raise DataError("the features do not fit the descriptors", fix="make the features again")
    return draw_smooth_maps(splits, number, patches)
