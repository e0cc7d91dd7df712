"""The samples from which one dictionary is learned: patches of descriptors files, or rows of a matrix."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from flyannot.base.errors import DataError
from flyannot.base.stage_ranges import NO_STAGE_RANGE, stage_range_rng
from flyannot.files.hdf5.descriptors import count_patches, read_patches
from flyannot.files.matrix import LARGEST_NUMBER, MatrixFile
from flyannot.pipeline.learning.patch_blocks import UNIT, NormalisedPatches, build_patch_blocks, draw_blocks
from flyannot.sparse.coders.verified import power_of_two_scale
from flyannot.sparse.learners import LEARNERS

_BYTES_OF_CODES = 300  # of a row with ten non-zeros, of this epoch and the last, and to sort them


def join_name(stage_ranges):
    """Return the name of the dictionary of some stage ranges, for messages and as seed of its generator."""
    return stage_ranges[0] if len(stage_ranges) == 1 else "all"


class PatchSamples:
    """The patches of some stage ranges in descriptors files.

    Parameters
    ----------
    files : list of StoredFile
    stage_ranges : tuple of str
    """

    words = "patch", "patches"
    source = "images"
    remedy = "lower stride-px at extraction, or add images"
    scale = 1.0  # the number by which samples are divided
    dtype = None  # of the dictionary; None for that of the learner

    def __init__(self, files, stage_ranges):
        self.files = files
        self.stage_ranges = stage_ranges
        self.name = join_name(stage_ranges)
        self._counts = [sum(count_patches(file, s) for file in files) for s in stage_ranges]

    def __len__(self):
        return sum(self._counts)

    def rng(self, seed):
        """Return the random generator of the dictionary for the seed of the run."""
        return stage_range_rng(seed, self.name)

    def bytes_for(self, n):
        """Return the bytes of memory in which n patches are learned from."""
        return 330 * n  # a descriptor, and its codes

    def draw(self, n, rng):
        """Return n patches of all files, drawn at random, as `NormalisedPatches`."""
        ends = np.cumsum(self._counts)
        rows = draw_rows(len(self), n, rng)
        parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
        starts = [0, *ends[:-1]]
        picked = [
            read_patches(self.files, s, part - start)
            for s, part, start in zip(self.stage_ranges, parts, starts)
        ]
        return NormalisedPatches(picked[0] if len(picked) == 1 else np.concatenate(picked))

    def blocks(self):
        """Return the patches as `PatchBlocks`, for data-parallel learning."""
        return build_patch_blocks(self.files, self.stage_ranges)


@dataclass(frozen=True, eq=False)
class MatrixSamples:
    """The rows of a matrix, in memory only while they are used.

    matrix : MatrixFile
    options : LearnOptions
    """

    matrix: MatrixFile
    options: Any

    words = "row", "rows"
    source = "rows"
    remedy = "or add rows"
    name = NO_STAGE_RANGE
    stage_ranges = (NO_STAGE_RANGE,)

    def __len__(self):
        return len(self.matrix)

    @property
    def dtype(self):
        """The type of the rows, in which the dictionary is stored."""
        return self.matrix.dtype

    def rng(self, seed):
        """Return the random generator of a seed, as the estimator `DictionaryLearning` makes it."""
        return np.random.default_rng(seed)

    @cached_property
    def scale(self):
        """The power of two by which rows are divided, so that their squares do not overflow.

        All numbers are read for it. It is a DataError if one is not finite, or if all are very small.
        """
        may_be_nan = LEARNERS[self.options.learner].takes_missing_values
        blocks = (self.matrix.read_numbers(b, may_be_nan=may_be_nan) for b in self.matrix.blocks())
        largest = np.fmax.reduce([np.fmax.reduce(abs(X), axis=None) for X in blocks])
        if 0 < largest < 1 / LARGEST_NUMBER:
            raise DataError(
                f"{self.matrix.path} has no number above {largest:g}",
                fix="multiply all numbers, such as by 1e200",
            )
        return power_of_two_scale(float(largest) * np.sqrt(self.matrix.shape[1]))

    def bytes_for(self, n):
        """Return the bytes of memory in which n rows are learned from; all rows are left in the file."""
        row_bytes = self.matrix.shape[1] * self.matrix.dtype.itemsize if n < len(self) else 0
        return (_BYTES_OF_CODES + row_bytes) * n

    def draw(self, n, rng):
        """Return n rows, drawn at random: all are read when they are used, fewer are in memory."""
        rows = ScaledRows(self.matrix, self.scale)
        return rows if n == len(self) else rows[draw_rows(len(self), n, rng)]

    def blocks(self):
        """Return the rows as `MatrixBlocks`, for data-parallel learning."""
        return MatrixBlocks(ScaledRows(self.matrix, self.scale), np.arange(-(-len(self) // UNIT)))


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """The rows of a `MatrixFile`, divided by a power of two when they are read."""

    matrix: MatrixFile
    scale: float

    def __len__(self):
        return len(self.matrix)

    def __getitem__(self, rows):
        X = self.matrix[rows]
        return X if self.scale == 1 else X / X.dtype.type(self.scale)


@dataclass(frozen=True, eq=False)
class MatrixBlocks:
    """The rows of a matrix in blocks of UNIT rows, for data-parallel learning; compare `PatchBlocks`.

    rows : ScaledRows
    units : int array, the numbers of the blocks
    """

    rows: ScaledRows
    units: np.ndarray

    @property
    def sizes(self):
        """The number of rows of each block, an int array."""
        return np.minimum(UNIT, len(self.rows) - UNIT * self.units)

    @property
    def files(self):
        """The file that is read, as `PatchBlocks` lists files: (path, identity)."""
        return [(self.rows.matrix.path, self.rows.matrix.identity)]

    def subset(self, units):
        """Return the MatrixBlocks of some blocks alone, in the given order."""
        return replace(self, units=self.units[units])

    def at_most(self, n_rows, rng):
        """Draw blocks at random that have at most `n_rows` rows together; at least one block."""
        return self.subset(draw_blocks(self.sizes, n_rows, rng))

    def read(self):
        """Yield the rows of every block, a float array (n_rows, n_columns)."""
        for unit in self.units.tolist():
            yield self.rows[UNIT * unit : UNIT * (unit + 1)]

    def samples(self, rows):
        """Return rows as samples for a learner, unchanged."""
        return rows


def draw_rows(n_all, n, rng):
    """Return n of the indices of `n_all` rows, drawn at random, ascending; no number is drawn for all."""
    return np.sort(rng.choice(n_all, n, replace=False)) if n < n_all else np.arange(n_all)
