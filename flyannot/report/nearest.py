"""Similar patterns: the most similar groups of each group, and a map of all groups of a stage range.

A group is all images of one gene in one stage range. Similar groups are shown with their curated terms. A
map is a JPEG sheet of thumbnails, one per group, with the position of each group. The script of the page
loads the sheet when the user opens the map.
"""

import json
from dataclasses import dataclass

import numpy as np

from flyannot.encode.groups import group_images
from flyannot.encode.similarity import N_LEAST, find_most_similar, map_patterns, order_farthest_first
from flyannot.files.hdf5.reading import read_image_metadata
from flyannot.images.shown import decode_jpeg, encode_jpeg
from flyannot.results.similar import read_image_index

N_SHOWN = 5  # look-alikes beside a gene
N_ALIKE = 20  # look-alikes among which the page finds groups that lack a term
SMALL_PX = (32, 80)  # height and width of a picture on the map
N_IN_ROW = 40  # pictures of a sheet
_FINE = 9999  # places are whole numbers from 0 to this one
_NO_PICTURE = 238  # a grey level


@dataclass(frozen=True)
class SimilarGroup:
    """A group (all images of one gene in one stage range) with a pattern similar to another group.

    key : str, identifier of the similar group on the page
    gene : str
    image : str, name of the image in the similar group that is most similar to the other group
    similarity : float, larger for more similar patterns
    shared : list of its curated terms that the other group has, too; None if the similar group is not
        annotated
    other : list of its curated terms that the other group lacks; None if the similar group is not annotated
    """

    key: str
    gene: str
    image: str
    similarity: float
    shared: list | None
    other: list | None


class PatternIndex:
    """An index of the groups of one stage range of a run, for finding groups with similar features.

    If the run has no features, all methods return empty results.

    Parameters
    ----------
    run : Run
    stage_range : str

    Attributes
    ----------
    places : dict
        Maps the name of each group to its position (x, y) on the map of patterns. Empty if there are fewer
        than N_LEAST groups.
    review_distances : dict
        Maps the name of each group without annotations to its distance from all groups before it in the
        order of review, see `order_farthest_first`; annotated groups are first. Empty if the stage range has
        predictions.
    """

    def __init__(self, run, stage_range):
        self._annotations = run.annotations
        self._stage_range = stage_range
        self._numbers = {}
        self.places = {}
        self.review_distances = {}
        stored = run.stored("features", stage_range)
        if stored is None:
            return
        columns = read_image_metadata(stored, stage_range)
        groups = group_images(columns)
        if len(groups) < 2:
            return
        self._groups = groups
        self._images = columns["image"]
        self._numbers = {name: g for g, name in enumerate(groups.name)}
        collection = read_image_index(stored, stage_range, groups)
        self._patterns = collection.groups
        self._of_images = collection.images
        if len(groups) >= N_LEAST:
            places = map_patterns(self._patterns)
            self.places = {name: tuple(map(float, place)) for name, place in zip(groups.name, places)}
        if run.stored("predictions", stage_range) is None:
            begun = [g for g in range(len(groups)) if self._curated_terms(g) is not None]
            order = order_farthest_first(self._patterns, begun)
            self.review_distances = {groups.name[g]: distance for g, distance in order}

    def find(self, name, terms):
        """Find the groups most similar to a group. Groups that are no more similar than random are left out.

        Parameters
        ----------
        name : str, the name of the group
        terms : set of its terms, with which the curated terms of each similar group are compared

        Returns
        -------
        nearest : list of at most N_SHOWN SimilarGroup, the most similar first
        alike : list of the keys of at most N_ALIKE groups, the most similar first
        """
        g = self._numbers.get(name)
        if g is None:
            return [], []
        similarity = self._patterns @ self._patterns[g]
        found = find_most_similar(similarity, N_ALIKE, without=[g])
        found = found[similarity[found] > 0].tolist()
        keys = [f"{self._stage_range}.{self._groups.name[h]}" for h in found]
        nearest = []
        for h, key in zip(found[:N_SHOWN], keys):
            curated = self._curated_terms(h)
            gene = self._groups.gene[h] or self._groups.name[h]
            image = self._closest_image(h, self._patterns[g])
            shared = None if curated is None else sorted(curated & terms)
            other = None if curated is None else sorted(curated - terms)
            nearest.append(SimilarGroup(key, gene, image, float(similarity[h]), shared, other))
        return nearest, keys

    def unusualness(self, name, nearest, default):
        """Return 1 minus the similarity of a group to the most similar group.

        Parameters
        ----------
        name : str, the name of the group
        nearest : as `find` returns for this group
        default : returned if the index has no features of the group
        """
        if name not in self._numbers:
            return default
        return 1 - nearest[0].similarity if nearest else 1.0

    def typical_image(self, name):
        """Return the name of the image that is most similar to the average pattern of its group.

        `name` is the name of the group. Returns "" if the group has no features.
        """
        g = self._numbers.get(name)
        return "" if g is None else self._closest_image(g, self._patterns[g])

    def _closest_image(self, g, pattern):
        """Return the name of the image in group `g` that is most similar to a pattern.

        `g` is the index of the group, and `pattern` a feature vector.
        """
        rows = self._groups.rows[g]
        return self._images[rows[int((self._of_images[rows] @ pattern).argmax())]]

    def _curated_terms(self, g):
        """Return the set of curated terms of the group with index `g`; None if it is not annotated."""
        return self._annotations.terms_of(self._groups.gene[g], self._stage_range, self._groups.fbgn[g])


def draw_map(numbers, places, thumbnails):
    """Draw the map of patterns of one stage range.

    Parameters
    ----------
    numbers : sequence of int, indices of the groups on the page
    places : sequence of pairs of float in [0, 1], positions of the groups
    thumbnails : sequence of uint8 arrays, as `draw_thumbnail` returns

    Returns
    -------
    sheet : JPEG bytes of all thumbnails
    text : JSON with the index and the position of every group, in the order of the thumbnails
    """
    rounded = [[round(_FINE * x) for x in place] for place in places]
    text = json.dumps({"groups": numbers, "places": rounded}, separators=(",", ":"))
    return encode_jpeg(_tile(thumbnails)), text


def draw_thumbnail(shown):
    """Draw the thumbnail of a ShownPicture, uint8 (height, width, 3) of SMALL_PX; a grey one for None."""
    from PIL import Image

    if shown is None:
        return np.full((*SMALL_PX, 3), _NO_PICTURE, np.uint8)
    pixels = decode_jpeg(shown.jpeg, least_px=(2 * SMALL_PX[0], 2 * SMALL_PX[1]))
    picture = Image.fromarray(pixels).convert("RGB")
    return np.asarray(picture.resize(SMALL_PX[::-1], Image.Resampling.BILINEAR))


def _tile(pictures):
    """Join thumbnails, uint8 arrays of one shape, to one large picture with N_IN_ROW thumbnails in a row."""
    n_columns = min(N_IN_ROW, len(pictures))
    pictures = [*pictures, *[draw_thumbnail(None)] * (-len(pictures) % n_columns)]
    starts = range(0, len(pictures), n_columns)
    return np.vstack([np.hstack(pictures[start : start + n_columns]) for start in starts])
