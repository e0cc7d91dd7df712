"""What looks alike: the patterns that are most like that of a group, and the map of all of a stage range.

The most similar ones come with the terms that the curators gave them.  A map is a sheet of small pictures,
one a group, and where each lies; the page's script cuts the pictures from the sheet, which it loads when a
map is looked at.
"""

import io
import json
from dataclasses import dataclass

import numpy as np

from flyannot.encode.groups import groups_of
from flyannot.encode.similarity import N_LEAST, collection_of, farthest_first, map_of_patterns, most_similar
from flyannot.files.hdf5.reading import read_image_columns
from flyannot.report.drawing import jpeg
from flyannot.terms.answers import YES

N_SHOWN, N_ALIKE = 5, 20  # beside a gene, and those of which the page lists what lacks its terms
SMALL_PX = (32, 80)  # height and width of a picture
N_IN_ROW = 40
_FINE = 9999  # places are whole numbers from 0 to this
_NO_PICTURE = 238  # grey


@dataclass(frozen=True)
class NearGroup:
    """A group that looks like another.

    key : what the page calls it; image : the name of its image that matched best
    shared, other : its curated terms that the other group has too, and those that it has not; None where it
    is not annotated
    """

    key: str
    gene: str
    image: str
    similarity: float
    shared: list | None
    other: list | None


class Nearest:
    """What is nearest to the groups of one stage range, by the features of a run; nothing without these."""

    def __init__(self, run, stage_range):
        stored, self._is_predicted = (run.stored(k, stage_range) for k in ("features", "predictions"))
        self._annotations, self._stage_range, self._numbers = run.annotations, stage_range, {}
        if stored is None:
            return
        columns = read_image_columns(stored, stage_range)
        self._groups, self._images = groups_of(columns), columns["image"]
        if len(self._groups) > 1:
            self._numbers = {name: g for g, name in enumerate(self._groups.name)}
            blocks = stored.blocks_of_images
            collection = collection_of(lambda: (rows for rows, _ in blocks(stage_range)), self._groups)
            self._patterns, self._of_images = collection.groups, collection.images

    def of_group(self, entry):
        """A list of NearGroup, the most similar first; none that has less in common than any two embryos.

        A group's own terms are the curated ones, else the predicted ones.
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
                gene, name = self._groups.gene[h], self._groups.name[h]
                terms = self._curated_terms(h)
                shared, other = (None, None) if terms is None else (sorted(terms & own), sorted(terms - own))
                key = f"{self._stage_range}.{name}"
                image = self._most_like(h, self._patterns[g])
                near.append(NearGroup(key, gene or name, image, float(similarity[h]), shared, other))
        return near

    def typical_image(self, entry):
        """The name of a group's image that is most like its pattern; "" without features."""
        g = self._numbers.get(entry.name)
        return "" if g is None else self._most_like(g, self._patterns[g])

    def _most_like(self, g, pattern):
        """The name of the image of a group, by its number, that is most like a pattern."""
        rows = self._groups.rows[g]
        return self._images[rows[int((self._of_images[rows] @ pattern).argmax())]]

    def _curated_terms(self, g):
        """Those of a group, by its number; None where it is not annotated."""
        gene, fbgn = self._groups.gene[g], self._groups.fbgn[g]
        return self._annotations.terms_of(gene, self._stage_range, fbgn)

    def unlike(self):
        """Of a stage range of which nothing is predicted, how far each group that is not annotated is from
        those to look at before it (`farthest_first`), by name."""
        if self._is_predicted or not self._numbers:
            return {}
        begun = [g for g in range(len(self._groups)) if self._curated_terms(g) is not None]
        return {self._groups.name[g]: far for g, far in farthest_first(self._patterns, begun)}

    def places(self):
        """The place of every group on the map, by name: dict of pairs; empty if there are too few."""
        if len(self._numbers) < N_LEAST:
            return {}
        places = map_of_patterns(self._patterns)
        return {name: tuple(map(float, places[g])) for name, g in self._numbers.items()}


class PatternMaps:
    """Collects the groups of a page that have a place on a map, stage range by stage range."""

    def __init__(self):
        self._entries = {}

    def add(self, number, entry, jpeg_bytes):
        """Take a group, by its number on the page, with the JPEG of its typical picture, or None."""
        if entry.place is not None:
            place = [round(_FINE * x) for x in entry.place]
            self._entries.setdefault(entry.stage_range, []).append((number, place, _small(jpeg_bytes)))

    def maps(self):
        """(stage range, JPEG of its sheet, JSON of what the script needs) of every map."""
        for stage_range, entries in self._entries.items():
            numbers, places, pictures = zip(*entries)
            text = json.dumps({"groups": numbers, "places": places}, separators=(",", ":"))
            yield stage_range, jpeg(_sheet(pictures)), text


def _small(jpeg_bytes):
    """A picture at SMALL_PX, uint8 (height, width, 3)."""
    from PIL import Image

    if not jpeg_bytes:
        return np.full((*SMALL_PX, 3), _NO_PICTURE, np.uint8)
    with Image.open(io.BytesIO(jpeg_bytes)) as picture:
        picture.draft("RGB", (2 * SMALL_PX[1], 2 * SMALL_PX[0]))  # it need not decode more
        small = picture.convert("RGB").resize(SMALL_PX[::-1], Image.Resampling.BILINEAR, reducing_gap=2)
    return np.asarray(small)


def _sheet(pictures):
    """Put pictures side by side, N_IN_ROW in a row."""
    n_columns = min(N_IN_ROW, len(pictures))
    pictures = [*pictures, *[_small(None)] * (-len(pictures) % n_columns)]
    starts = range(0, len(pictures), n_columns)
    return np.vstack([np.hstack(pictures[start : start + n_columns]) for start in starts])
