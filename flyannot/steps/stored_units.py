"""The patches of descriptors files as units that are read one by one: what shares are made of."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from flyannot.descriptors.sift import normalise_descriptors
from flyannot.store.descriptors import n_patches
from flyannot.store.reading import open_stored

_UNIT = 256  # patches: little of a large image, since patches that lie side by side are alike
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
    """Patches that follow each other in one file, all of one unit; of many pieces an array of such rows."""

    unit: int
    file: int
    stage_range: int
    first: int
    stop: int


@dataclass(frozen=True, eq=False)
class StoredUnits:
    """The patches of one or more stage ranges, counted through all files end to end, `_UNIT` at a time.

    Where images and files begin does not matter: a unit may lie in two.

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
            opened = _open(*self.files[piece.file])
            found[piece.unit].append(
                opened.rows(self.stage_ranges[piece.stage_range], piece.first, piece.stop)
            )
        return [np.concatenate(arrays) if len(arrays) > 1 else arrays[0] for arrays in found]

    def samples(self, rows):
        """Descriptors as samples to learn from."""
        return NormalisedPatches(rows)


def units_of(files, stage_ranges):
    """The `StoredUnits` of open descriptors files."""
    of_stage_ranges, n_units = [], 0
    for s, stage_range in enumerate(stage_ranges):
        ends = np.cumsum([0, *(n_patches(file, stage_range) for file in files)])
        cuts = np.unique(np.append(np.arange(0, ends[-1], _UNIT), ends))
        start, stop = cuts[:-1], cuts[1:]
        file = np.searchsorted(ends, start, side="right") - 1
        rows = start - ends[file], stop - ends[file]
        columns = n_units + start // _UNIT, file, np.full(len(start), s), *rows
        of_stage_ranges.append(np.stack(columns, axis=1))
        n_units += -(-ends[-1] // _UNIT)
    pieces = np.concatenate(of_stage_ranges)
    sizes = np.bincount(pieces[:, 0], weights=pieces[:, 4] - pieces[:, 3]).astype(np.int64)
    return StoredUnits([(one.path, one.digest) for one in files], list(stage_ranges), pieces, sizes)


class _OpenFile:
    """A descriptors file of which every image is checked once, when the first of its patches is read."""

    def __init__(self, path, digest):
        self._stack = ExitStack()  # whose end closes the file
        self._stored = self._stack.enter_context(open_stored(path, "descriptors", digest=digest))
        self._first = {s: self._stored.array(s, "first") for s in self._stored.stage_ranges}
        self._checked = {s: np.zeros(len(first) - 1, bool) for s, first in self._first.items()}

    def rows(self, stage_range, first, stop):
        """The descriptors with the numbers `first` to `stop`."""
        ends, checked = self._first[stage_range], self._checked[stage_range]
        images = range(np.searchsorted(ends, first, side="right") - 1, np.searchsorted(ends, stop))
        for image in images:
            if not checked[image]:
                self._stored.images(stage_range, image, image + 1)
                checked[image] = True
        return self._stored.array(stage_range, "descriptors", first, stop)


@lru_cache(maxsize=_OPEN_FILES)
def _open(path, digest):
    """A file that is looked over once and stays open, in a worker for good."""
    return _OpenFile(path, digest)


def close_units():
    """Close what this process holds open."""
    _open.cache_clear()
