"""Similar patterns: the look-alikes of each group, and the map of all groups of a stage range.

Look-alikes are shown with the terms that curators gave them. A map is a sheet of small pictures, one for each
group, and the place of each. The script of the page loads the sheet when the map is looked at.
"""

import io
import json
from dataclasses import dataclass

import numpy as np

from flyannot.encode.groups import group_images
from flyannot.encode.similarity import N_LEAST, build_collection, farthest_first, map_patterns, most_similar
from flyannot.files.hdf5.reading import read_image_metadata
from flyannot.report.drawing import encode_jpeg
from flyannot.terms.answers import YES

N_SHOWN = 5  # look-alikes beside a gene
N_ALIKE = 20  # look-alikes among which the page finds groups that lack a term
SMALL_PX = (32, 80)  # height and width of a picture on the map
N_IN_ROW = 40  # pictures of a sheet
_FINE = 9999  # places are whole numbers from 0 to this one
_NO_PICTURE = 238  # a grey level


@dataclass(frozen=True)
class SimilarGroup:
    """A group that looks like another group.

    key : its identifier on the page
    image : the name of its most similar image
    shared : its curated terms that the other group has; None if it is not annotated
    other : its curated terms that the other group does not have; None if it is not annotated
    """

    key: str
    gene: str
    image: str
    similarity: float
    shared: list | None
    other: list | None


class SimilarPatterns:
    """Similar groups of one stage range, by the features of a run; without features it finds nothing."""

    def __init__(self, run, stage_range):
        stored = run.stored("features", stage_range)
        self._is_predicted = run.stored("predictions", stage_range) is not None
        self._annotations = run.annotations
        self._stage_range = stage_range
        self._numbers = {}
        if stored is None:
            return
        columns = read_image_metadata(stored, stage_range)
        self._groups = group_images(columns)
        self._images = columns["image"]
        if len(self._groups) > 1:
            self._numbers = {name: g for g, name in enumerate(self._groups.name)}
            blocks = stored.iterate_image_rows
            collection = build_collection(lambda: (rows for rows, _ in blocks(stage_range)), self._groups)
            self._patterns = collection.groups
            self._of_images = collection.images

    def find(self, entry):
        """Return the groups that look like a GroupEntry, a list of SimilarGroup, the most similar first.

        The terms of the entry are its curated terms, otherwise its predicted terms. A group that is no more
        similar than any two embryos is left out.
        """
        g = self._numbers.get(entry.name)
        if g is None:
            return []
        own = {
            one.term
            for one in entry.terms
            if (one.curated == YES if entry.annotated else one.status == "predicted")
        }
        similarity = self._patterns @ self._patterns[g]
        near = []
        for h in most_similar(similarity, N_ALIKE, without=[g]).tolist():
            if similarity[h] > 0:
                name = self._groups.name[h]
                terms = self._curated_terms(h)
                similar = SimilarGroup(
                    key=f"{self._stage_range}.{name}",
                    gene=self._groups.gene[h] or name,
                    image=self._closest_image(h, self._patterns[g]),
                    similarity=float(similarity[h]),
                    shared=None if terms is None else sorted(terms & own),
                    other=None if terms is None else sorted(terms - own),
                )
                near.append(similar)
        return near

    def typical_image(self, entry):
        """Return the name of the image that is most like the pattern of its group; "" without features."""
        g = self._numbers.get(entry.name)
        return "" if g is None else self._closest_image(g, self._patterns[g])

    def _closest_image(self, g, pattern):
        """Return the name of the image of the group number g that is most like a pattern."""
        rows = self._groups.rows[g]
        return self._images[rows[int((self._of_images[rows] @ pattern).argmax())]]

    def _curated_terms(self, g):
        """Return the curated terms of the group number g; None if it is not annotated."""
        return self._annotations.terms_of(self._groups.gene[g], self._stage_range, self._groups.fbgn[g])

    def review_distances(self):
        """Return an order of review for a stage range without predictions, by `farthest_first`.

        Returns
        -------
        dict
            Name of a group without annotations -> its distance from the groups to review before it. Empty if
            there are predictions.
        """
        if self._is_predicted or not self._numbers:
            return {}
        begun = [g for g in range(len(self._groups)) if self._curated_terms(g) is not None]
        return {self._groups.name[g]: far for g, far in farthest_first(self._patterns, begun)}

    def places(self):
        """Return the place of every group on the map, a dict of pairs by name; empty for a few groups."""
        if len(self._numbers) < N_LEAST:
            return {}
        places = map_patterns(self._patterns)
        return {name: tuple(map(float, places[g])) for name, g in self._numbers.items()}


class PatternMaps:
    """Collects the groups of a page that have a place on a map, by stage range."""

    def __init__(self):
        self._entries = {}

    def add(self, number, entry, jpeg_bytes):
        """Add a GroupEntry with its number on the page and the JPEG of its typical picture, or None."""
        if entry.place is not None:
            place = [round(_FINE * x) for x in entry.place]
            self._entries.setdefault(entry.stage_range, []).append((number, place, _thumbnail(jpeg_bytes)))

    def maps(self):
        """Yield (stage range, JPEG of the sheet, JSON for the script) of every map."""
        for stage_range, entries in self._entries.items():
            numbers, places, pictures = zip(*entries)
            text = json.dumps({"groups": numbers, "places": places}, separators=(",", ":"))
            yield stage_range, encode_jpeg(_tile(pictures)), text


def _thumbnail(jpeg_bytes):
    """Return a JPEG at SMALL_PX, uint8 (height, width, 3); grey if it is None."""
    from PIL import Image

    if not jpeg_bytes:
        return np.full((*SMALL_PX, 3), _NO_PICTURE, np.uint8)
    with Image.open(io.BytesIO(jpeg_bytes)) as picture:
        picture.draft("RGB", (2 * SMALL_PX[1], 2 * SMALL_PX[0]))  # decodes no more than is needed
        small = picture.convert("RGB").resize(SMALL_PX[::-1], Image.Resampling.BILINEAR, reducing_gap=2)
    return np.asarray(small)


def _tile(pictures):
    """Put pictures side by side, N_IN_ROW in a row."""
    n_columns = min(N_IN_ROW, len(pictures))
    pictures = [*pictures, *[_thumbnail(None)] * (-len(pictures) % n_columns)]
    starts = range(0, len(pictures), n_columns)
    return np.vstack([np.hstack(pictures[start : start + n_columns]) for start in starts])
