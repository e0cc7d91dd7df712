"""The patches of descriptors files as units that are read one by one: what shares are made of."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from flyannot.descriptors.sift import normalise_descriptors
from flyannot.store.reading import open_stored

_UNIT = 2048  # patches: images of fewer are read together, those of more alone
_OPEN_FILES = 64


class NormalisedPatches:
    """Stored descriptors as an array of rows that are centred and scaled to norm 1 as they are read."""

    def __init__(self, stored):
        self._stored = stored

    def __len__(self):
        return len(self._stored)

    def __getitem__(self, rows):
        return normalise_descriptors(self._stored[rows])


class Piece(NamedTuple):
    """Images that follow each other in one file, all of one unit; of many pieces an array of such rows."""

    unit: int
    file: int
    stage_range: int
    first: int
    stop: int


@dataclass(frozen=True, eq=False)
class StoredUnits:
    """Images of one or more stage ranges, counted through all files end to end.

    A unit is an image, or as many that follow each other as begin in the same `_UNIT` patches: where files
    begin and end does not matter, and a unit may lie in two.

    files : list of (path, digest)
    stage_ranges : list of str
    pieces : int array (n_pieces, 5), of every `Piece`, unit by unit
    sizes : int array (n_units,), patches of each
    """

    files: list
    stage_ranges: list
    pieces: np.ndarray
    sizes: np.ndarray

    def narrowed(self, units):
        """These units alone, in that order."""
        start, stop = (np.searchsorted(self.pieces[:, 0], units, side) for side in ("left", "right"))
        pieces = np.concatenate([self.pieces[a:b] for a, b in zip(start, stop)])
        pieces[:, 0] = np.repeat(np.arange(len(units)), stop - start)
        files, pieces[:, 1] = np.unique(pieces[:, 1], return_inverse=True)
        return replace(self, files=[self.files[i] for i in files], pieces=pieces, sizes=self.sizes[units])

    def at_most(self, n_patches, rng):
        """Units drawn at random, of so many patches together at most; one of them at least."""
        order = rng.permutation(len(self.sizes))
        n_units = np.searchsorted(np.cumsum(self.sizes[order]), n_patches, side="right")
        return self.narrowed(np.sort(order[: max(1, n_units)]))

    def read(self):
        """The descriptors of every unit.

        Raises
        ------
        DataError
            If a file is damaged, or was replaced.
        """
        found = [[] for _ in self.sizes]
        for piece in map(Piece._make, self.pieces.tolist()):
            _, stored = _open(*self.files[piece.file])
            stage_range = self.stage_ranges[piece.stage_range]
            found[piece.unit].append(stored.images(stage_range, piece.first, piece.stop)[0])
        return [np.concatenate(arrays) if len(arrays) > 1 else arrays[0] for arrays in found]

    def samples(self, rows):
        """Descriptors as samples to learn from."""
        return NormalisedPatches(rows)


def units_of(files, stage_ranges):
    """The `StoredUnits` of open descriptors files."""
    pieces, sizes, n_units = [], [], 0
    for s, stage_range in enumerate(stage_ranges):
        first = {
            i: one.array(stage_range, "first")
            for i, one in enumerate(files)
            if stage_range in one.stage_ranges
        }
        n_images = [len(ends) - 1 for ends in first.values()]
        counts = np.concatenate([np.diff(ends) for ends in first.values()])
        file, image = np.repeat(list(first), n_images), np.concatenate([np.arange(n) for n in n_images])
        unit = np.unique((np.cumsum(counts) - counts) // _UNIT, return_inverse=True)[1]
        begin = np.flatnonzero(np.diff(unit, prepend=-1) | np.diff(file, prepend=-1))
        length = np.diff(begin, append=len(unit))
        where = n_units + unit[begin], file[begin], np.full(len(begin), s), image[begin]
        pieces.append(np.stack([*where, image[begin] + length], axis=1))
        sizes.append(np.bincount(unit, weights=counts).astype(np.int64))
        n_units += len(sizes[-1])
    names = [(one.path, one.digest) for one in files]
    return StoredUnits(names, list(stage_ranges), np.concatenate(pieces), np.concatenate(sizes))


@lru_cache(maxsize=_OPEN_FILES)
def _open(path, digest):
    """A file that is looked over once and stays open, in a worker for good, with what closes it."""
    stack = ExitStack()
    return stack, stack.enter_context(open_stored(path, "descriptors", digest=digest))


def close_units():
    """Close what this process holds open."""
    _open.cache_clear()
