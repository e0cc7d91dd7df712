"""Blocks of the patches of descriptors files, read one by one in data-parallel learning."""

from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from flyannot.files.hdf5.descriptors import count_patches
from flyannot.files.hdf5.file_cache import open_cached_file
from flyannot.images.sift import normalise_descriptors
from flyannot.sparse.data_parallel import UNIT


class NormalisedPatches:
    """An array of stored descriptors whose rows are centred and scaled to norm 1 when they are read."""

    def __init__(self, stored):
        self.stored = stored

    def __len__(self):
        return len(self.stored)

    def __getitem__(self, rows):
        return normalise_descriptors(self.stored[rows])


class BlockRows(NamedTuple):
    """Consecutive patches in one file that belong to one block; its fields are ints.

    Blocks of UNIT patches are counted through all files. A list of BlockRows converts to an int array (n,
    5).
    """

    unit: int
    file: int
    stage_range: int
    first: int
    stop: int


class ImagesToCheck:
    """The images in descriptors files that must still be compared with their digests, each once.

    ends : dict, (index of the file, index of the stage range) -> int array
        The first patch of each image, and the end of the last image.
    """

    def __init__(self, ends):
        self._ends = ends
        self._is_left = {place: np.ones(len(first) - 1, bool) for place, first in ends.items()}

    def take(self, pieces):
        """Return the images that have patches in these pieces and were not returned before.

        Parameters
        ----------
        pieces : int array (n_pieces, 5) of `BlockRows`

        Returns
        -------
        images : list of (index of the file, index of the stage range, index of the image)
        """
        images = []
        for place, ends in self._ends.items():
            rows = pieces[(pieces[:, 1] == place[0]) & (pieces[:, 2] == place[1])]
            count = np.zeros(len(ends), int)  # pieces that begin minus pieces that end
            np.add.at(count, np.searchsorted(ends, rows[:, 3], side="right") - 1, 1)
            np.add.at(count, np.searchsorted(ends, rows[:, 4]), -1)
            numbers = np.flatnonzero((np.cumsum(count[:-1]) > 0) & self._is_left[place])
            self._is_left[place][numbers] = False
            images += [(*place, image) for image in numbers.tolist()]
        return images


@dataclass(frozen=True, eq=False)
class PatchBlocks:
    """The patches of one or more stage ranges in descriptors files, divided into blocks of UNIT patches.

    Blocks are counted through all files: a block may lie in two images or two files.

    files : list of (path, digest)
    stage_ranges : list of str
    pieces : int array (n_pieces, 5) of `BlockRows`, block by block
    sizes : int array (n_blocks,), the number of patches of each block
    images : `ImagesToCheck` of all files; None in a subset
    to_check : list of (file, stage range, image), by index, that `read` compares with their digests first
    """

    files: list
    stage_ranges: list
    pieces: np.ndarray
    sizes: np.ndarray
    images: ImagesToCheck | None = None
    to_check: list = field(default_factory=list)

    def subset(self, units):
        """Return the PatchBlocks of some blocks alone, in the given order.

        It checks the images of these blocks that no earlier subset checks.

        units : int array, the numbers of the blocks
        """
        pieces = self._select_pieces(units)
        to_check = self.images.take(pieces) if self.images else []
        files, pieces[:, 1] = np.unique(pieces[:, 1], return_inverse=True)
        to_check = [(int(np.searchsorted(files, f)), s, image) for f, s, image in to_check]
        paths = [self.files[i] for i in files]
        return PatchBlocks(paths, self.stage_ranges, pieces, self.sizes[units], to_check=to_check)

    def at_most(self, n_patches, rng):
        """Draw blocks at random that have at most `n_patches` patches together; at least one block."""
        order = rng.permutation(len(self.sizes))
        n_units = np.searchsorted(np.cumsum(self.sizes[order]), n_patches, side="right")
        units = np.sort(order[: max(1, n_units)])
        return replace(self, pieces=self._select_pieces(units), sizes=self.sizes[units])

    def _select_pieces(self, units):
        """Return the pieces of some blocks; the blocks are numbered from 0 in the result.

        units : int array, the numbers of the blocks
        """
        start, stop = (np.searchsorted(self.pieces[:, 0], units, side) for side in ("left", "right"))
        pieces = np.concatenate([self.pieces[a:b] for a, b in zip(start, stop)])
        pieces[:, 0] = np.repeat(np.arange(len(units)), stop - start)
        return pieces

    def read(self):
        """Yield the descriptors of every block, uint8 (n_patches, n_descriptor).

        Raises
        ------
        DataError
            If a file is damaged, or was replaced.
        """
        for file, stage_range, image in self.to_check:
            _open(*self.files[file]).read_image_rows(self.stage_ranges[stage_range], image, image + 1)
        for _, pieces in groupby(map(BlockRows._make, self.pieces.tolist()), attrgetter("unit")):
            rows = [self._rows(piece) for piece in pieces]
            yield np.concatenate(rows) if len(rows) > 1 else rows[0]

    def samples(self, rows):
        """Return descriptors as samples for a learner, scaled when they are read.

        rows : array (n_patches, n_descriptor), as `read` yields
        """
        return NormalisedPatches(rows)

    def _rows(self, piece):
        """Read the descriptors of one piece, given as `BlockRows`."""
        stage_range = self.stage_ranges[piece.stage_range]
        opened = _open(*self.files[piece.file])
        return opened.read_array(stage_range, "descriptors", piece.first, piece.stop)


def build_patch_blocks(files, stage_ranges):
    """Build the PatchBlocks of descriptors files: their patches, divided into blocks to read one by one.

    Parameters
    ----------
    files : list of StoredFile
    stage_ranges : list of str, the stage ranges whose patches are included, all together
    """
    of_stage_ranges = []
    n_units = 0
    images = {}
    for s, stage_range in enumerate(stage_ranges):
        for f, file in enumerate(files):
            if stage_range in file.stage_ranges:
                images[f, s] = file.read_array(stage_range, "first")
        ends = np.cumsum([0, *(count_patches(file, stage_range) for file in files)])
        cuts = np.unique(np.append(np.arange(0, ends[-1], UNIT), ends))
        start, stop = cuts[:-1], cuts[1:]
        file = np.searchsorted(ends, start, side="right") - 1
        rows = start - ends[file], stop - ends[file]
        columns = n_units + start // UNIT, file, np.full(len(start), s), *rows
        of_stage_ranges.append(np.stack(columns, axis=1))
        n_units += -(-ends[-1] // UNIT)
    pieces = np.concatenate(of_stage_ranges)
    sizes = np.bincount(pieces[:, 0], weights=pieces[:, 4] - pieces[:, 3]).astype(np.int64)
    paths = [(file.path, file.digest) for file in files]
    return PatchBlocks(paths, list(stage_ranges), pieces, sizes, ImagesToCheck(images))


def _open(path, digest):
    """Open a descriptors file, or return it if this process has it open already.

    digest : that the file must have
    """
    return open_cached_file(path, "descriptors", digest)
