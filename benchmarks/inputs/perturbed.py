"""Patches of a file in random order, over and over, each time with other noise: as many as wanted."""

from dataclasses import dataclass

import numpy as np

from flyannot.steps.patch_blocks import NormalisedPatches

_UNIT = 4096  # patches that are read together
_SEED = 1


@dataclass(frozen=True, eq=False)
class PerturbedUnits:
    """Unit i has the i-th 4,096 patches of the file, which begins anew where it ends.

    path : of a uint8 array (n_patches, n_features), in random order
    noise : int, the most that is added to a number of a descriptor, of 0 to 255, or taken from it
    units : int array, the numbers of units, each of which has noise of its own
    """

    path: str
    noise: int
    units: np.ndarray
    sizes: np.ndarray

    def narrowed(self, units):
        """These units alone, in that order."""
        return PerturbedUnits(self.path, self.noise, self.units[units], self.sizes[units])

    def read(self):
        """The descriptors of every unit, one by one."""
        stored = np.load(self.path, mmap_mode="r")
        for unit, size in zip(self.units.tolist(), self.sizes):
            yield self._unit(stored, unit, size)

    def samples(self, rows):
        """Descriptors as samples to learn from."""
        return NormalisedPatches(rows)

    def _unit(self, stored, unit, size):
        """Read, not mapped: what is mapped stays in the memory of the process."""
        width = stored.shape[1]
        place = stored.offset + unit * _UNIT % max(1, len(stored) - size + 1) * width
        rows = np.fromfile(self.path, np.uint8, size * width, offset=place).reshape(size, width)
        if not self.noise:
            return rows
        rng = np.random.default_rng([_SEED, unit])
        noise = rng.integers(-self.noise, self.noise + 1, rows.shape, np.int8)
        return np.clip(rows + noise.astype(np.int16), 0, 255).astype(np.uint8)


def perturbed_units(path, n, noise):
    """n patches of a file as `PerturbedUnits`."""
    start = np.arange(0, n, _UNIT)
    return PerturbedUnits(path, noise, np.arange(len(start)), np.minimum(n - start, _UNIT))
