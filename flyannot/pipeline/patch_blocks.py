"""The patches of descriptors files in blocks that are read one by one, for data-parallel learning."""

from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from flyannot.files.hdf5.descriptors import n_patches
from flyannot.files.hdf5.file_cache import cached_file
from flyannot.images.sift import normalise_descriptors

_UNIT = 256  # patches: little of a large image, since patches that lie side by side are alike


class NormalisedPatches:
    """Stored descriptors as an array of rows that are centred and scaled to norm 1 as they are read."""

    def __init__(self, stored):
        self.stored = stored

    def __len__(self):
        return len(self.stored)

    def __getitem__(self, rows):
        return normalise_descriptors(self.stored[rows])


class BlockRows(NamedTuple):
    """Patches that follow each other in one file, all of one unit; of many pieces an array of such rows."""

    unit: int
    file: int
    stage_range: int
    first: int
    stop: int


class ImagesToCheck:
    """The images of files, each of which is to be checked once, whoever reads its patches.

    ends : dict, (file, stage range), both by number -> int array, where the patches of each image begin, and
        where the last one's end
    """

    def __init__(self, ends):
        self._ends = ends
        self._is_left = {place: np.ones(len(first) - 1, bool) for place, first in ends.items()}

    def take(self, pieces):
        """Those that an array of `BlockRows` is the first to have patches of: as `to_check`."""
        images = []
        for place, ends in self._ends.items():
            rows = pieces[(pieces[:, 1] == place[0]) & (pieces[:, 2] == place[1])]
            count = np.zeros(len(ends), int)  # of the pieces that begin, less those that have ended
            np.add.at(count, np.searchsorted(ends, rows[:, 3], side="right") - 1, 1)
            np.add.at(count, np.searchsorted(ends, rows[:, 4]), -1)
            numbers = np.flatnonzero((np.cumsum(count[:-1]) > 0) & self._is_left[place])
            self._is_left[place][numbers] = False
            images += [(*place, image) for image in numbers.tolist()]
        return images


@dataclass(frozen=True, eq=False)
class PatchBlocks:
    """The patches of one or more stage ranges, counted through all files end to end, `_UNIT` at a time.

    Where images and files begin does not matter: a unit may lie in two.

    files : list of (path, digest)
    stage_ranges : list of str
    pieces : int array (n_pieces, 5), of every `BlockRows`, unit by unit
    sizes : int array (n_units,), patches of each
    images : `ImagesToCheck` of all files, which says what a subset is to check; None in such a one
    to_check : list of (file, stage range, image), by number, which `read` checks first
    """

    files: list
    stage_ranges: list
    pieces: np.ndarray
    sizes: np.ndarray
    images: ImagesToCheck | None = None
    to_check: list = field(default_factory=list)

    def subset(self, units):
        """These units alone, in that order.  What reads them checks the images that nobody was asked to."""
        pieces = self._select_pieces(units)
        to_check = self.images.take(pieces) if self.images else []
        files, pieces[:, 1] = np.unique(pieces[:, 1], return_inverse=True)
        to_check = [(int(np.searchsorted(files, f)), s, image) for f, s, image in to_check]
        paths = [self.files[i] for i in files]
        return PatchBlocks(paths, self.stage_ranges, pieces, self.sizes[units], to_check=to_check)

    def at_most(self, n_patches, rng):
        """Units drawn at random, of so many patches together at most; one of them at least."""
        order = rng.permutation(len(self.sizes))
        n_units = np.searchsorted(np.cumsum(self.sizes[order]), n_patches, side="right")
        units = np.sort(order[: max(1, n_units)])
        return replace(self, pieces=self._select_pieces(units), sizes=self.sizes[units])

    def _select_pieces(self, units):
        start, stop = (np.searchsorted(self.pieces[:, 0], units, side) for side in ("left", "right"))
        pieces = np.concatenate([self.pieces[a:b] for a, b in zip(start, stop)])
        pieces[:, 0] = np.repeat(np.arange(len(units)), stop - start)
        return pieces

    def read(self):
        """The descriptors of every unit, one by one.

        Raises
        ------
        DataError
            If a file is damaged, or was replaced.
        """
        for file, stage_range, image in self.to_check:
            _open(*self.files[file]).images(self.stage_ranges[stage_range], image, image + 1)
        for _, pieces in groupby(map(BlockRows._make, self.pieces.tolist()), attrgetter("unit")):
            rows = [self._rows(piece) for piece in pieces]
            yield np.concatenate(rows) if len(rows) > 1 else rows[0]

    def samples(self, rows):
        """Descriptors as samples to learn from."""
        return NormalisedPatches(rows)

    def _rows(self, piece):
        stage_range = self.stage_ranges[piece.stage_range]
        opened = _open(*self.files[piece.file])
        return opened.array(stage_range, "descriptors", piece.first, piece.stop)


def build_patch_blocks(files, stage_ranges):
    """The `PatchBlocks` of open descriptors files."""
    of_stage_ranges = []
    n_units = 0
    images = {}
    for s, stage_range in enumerate(stage_ranges):
        for f, file in enumerate(files):
            if stage_range in file.stage_ranges:
                images[f, s] = file.array(stage_range, "first")
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
    paths = [(file.path, file.digest) for file in files]
    return PatchBlocks(paths, list(stage_ranges), pieces, sizes, ImagesToCheck(images))


def _open(path, digest):
    return cached_file(path, "descriptors", digest)
