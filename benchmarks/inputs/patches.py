"""Descriptors to learn from, and others to evaluate on: files that the measurements read."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.findings import Source
from benchmarks.inputs.pictures import embryo_pictures
from flyannot.base.errors import DataError
from flyannot.images.extract import describe_patches
from flyannot.images.options import ExtractOptions
from flyannot.images.sift import normalise_descriptors
from flyannot.sparse.fit import default_lam, random_patches

LAM = float(default_lam(128))
N_HELD = 2000  # evaluated, never learned from
_STRIDES_PX = (16, 8, 4, 2, 1)
_LATERAL = ("lateral", "")  # an empty view is unknown; the papers took lateral images
_N_STARTING = 20_000  # patches from which initial atoms are drawn
_SEED = 0


@dataclass(frozen=True)
class Patches:
    """A folder with uint8 descriptors in random order: `patches.npy`, and `held.npy`, no patch in both."""

    folder: Path
    n: int
    source: Source

    def path(self, name):
        """Return the file of an array."""
        return str(self.folder / f"{name}.npy")

    def initial_atoms(self, n_atoms):
        """Return the file of initial atoms, which all methods share."""
        path = self.path(f"initial-{n_atoms}")
        if not Path(path).is_file():
            X = normalise_descriptors(np.load(self.path("patches"), mmap_mode="r")[:_N_STARTING])
            np.save(path, random_patches(X, n_atoms, np.random.default_rng(_SEED)))
        return path

    def problem(self, n_atoms):
        """Return the arguments that every measurement of learning takes."""
        files = {name: self.path(name) for name in ("patches", "held")}
        return files | {"initial": self.initial_atoms(n_atoms), "lam": LAM}


def patches_of(setup, n, stage_range=None):
    """`Patches`: n descriptors of one stage range, or of all, and N_HELD others; made once in a run.

    Raises
    ------
    DataError
        If there are too few.
    """
    return setup.once(("patches", stage_range, n), lambda: _made(setup, n, stage_range))


def _made(setup, n, stage_range):
    found, source = described_patches(setup, n + N_HELD, stage_range)
    descriptors = np.concatenate([one.descriptors for one in found])
    order = setup.rng(f"patches {stage_range}").permutation(len(descriptors))[: n + N_HELD]
    folder = setup.scratch / f"patches-{stage_range}-{n}"
    folder.mkdir()
    made = Patches(folder, n, Source(f"{n:,} of {source.text}; {N_HELD:,} others are evaluated", source.kind))
    np.save(made.path("held"), descriptors[order[:N_HELD]])
    np.save(made.path("patches"), descriptors[order[N_HELD:]])
    return made


def described_patches(setup, wanted, stage_range=None, *, views=(_LATERAL, None)):
    """Return `Described` pictures with at least `wanted` patches, and their `Source`.

    Patches have 16 px and the widest stride that gives enough of them. `views` are tried in order, None for
    all. DataError if there are too few.
    """
    n_found = 0
    for those, stride_px in ((v, s) for v in views for s in _STRIDES_PX):
        greys, source = embryo_pictures(setup, stage_range, views=those)
        if sum((g.shape[0] // stride_px) * (g.shape[1] // stride_px) for g in greys) < wanted:
            continue  # not even with every patch kept
        found = [describe_patches(grey, ExtractOptions(stride_px=stride_px)) for grey in greys]
        n_found = max(n_found, sum(len(one.descriptors) for one in found))
        if n_found >= wanted:
            text = f"{n_found:,} patches of 16 px at stride {stride_px} of {source.text}"
            return found, Source(text, source.kind)
    raise DataError(
        f"there are {n_found:,} patches of stage range {stage_range or 'any'}, {wanted:,} are needed",
        fix="name a larger data set by --data-set, or measure with --quick",
    )
