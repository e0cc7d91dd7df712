"""The samples from which one dictionary is learned: patches of descriptors files."""

import numpy as np

from flyannot.base.stage_ranges import stage_range_rng
from flyannot.files.hdf5.descriptors import count_patches, read_patches
from flyannot.pipeline.learning.patch_blocks import NormalisedPatches, build_patch_blocks


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
        rows = np.arange(n)
        if n < len(self):  # no number is drawn for all
            rows = np.sort(rng.choice(len(self), n, replace=False))
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
