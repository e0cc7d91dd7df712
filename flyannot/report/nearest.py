"""What looks alike: the patterns that are most like that of a group, with the terms that the curators gave
them, and where each lies on the map of all patterns of its stage range."""

from dataclasses import dataclass

from flyannot.features.groups import groups_of
from flyannot.features.pattern_map import N_LEAST, map_of
from flyannot.features.similarity import collection_of, nearest
from flyannot.store.reading import read_image_columns

N_SHOWN = 5


@dataclass(frozen=True)
class NearGroup:
    """A group that looks like another.

    key : what the page calls it; shared, other : its curated terms that the other group has too, and those
    that it has not; None where it is not annotated
    """

    key: str
    gene: str
    similarity: float
    shared: list | None
    other: list | None


class Nearest:
    """What is nearest to the groups of one stage range, by the features of a run; nothing without these."""

    def __init__(self, run, stage_range):
        stored = run.stored("features", stage_range)
        self._annotations, self._stage_range, self._numbers = run.annotations, stage_range, {}
        if stored is None:
            return
        self._groups = groups_of(read_image_columns(stored, stage_range))
        if len(self._groups) > 1:
            self._numbers = {name: g for g, name in enumerate(self._groups.name)}
            blocks = stored.blocks_of_images
            self._found = collection_of(lambda: (rows for rows, _ in blocks(stage_range)), self._groups)

    def of_group(self, entry):
        """A list of NearGroup, the most similar first; none that has less in common than any two embryos.

        Parameters
        ----------
        entry : flyannot.report.groups.GroupEntry; its own terms are the curated ones, else the predicted ones
        """
        g = self._numbers.get(entry.name)
        if g is None:
            return []
        own = {
            one.term
            for one in entry.terms
            if one.curated or (not entry.annotated and one.status == "predicted")
        }
        similarity = self._found.groups @ self._found.groups[g]
        found = [int(h) for h in nearest(similarity, N_SHOWN, without=[g]) if similarity[h] > 0]
        return [self._near(h, float(similarity[h]), own) for h in found]

    def places(self):
        """The place of every group on the map, by name: dict of pairs; empty if there are too few."""
        if len(self._numbers) < N_LEAST:
            return {}
        found = map_of(self._found.groups)
        return {name: tuple(map(float, found[g])) for name, g in self._numbers.items()}

    def _near(self, number, similarity, own):
        gene, fbgn, name = (
            column[number] for column in (self._groups.gene, self._groups.fbgn, self._groups.name)
        )
        terms = self._annotations and self._annotations.terms_of(gene, self._stage_range, fbgn)
        shared, other = (None, None) if terms is None else (sorted(terms & own), sorted(terms - own))
        return NearGroup(f"{self._stage_range}.{name}", gene or name, similarity, shared, other)
