"""Descriptors to learn from, and others to evaluate on: files that the measurements read."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flyannot.benchmarks.findings import Source
from flyannot.benchmarks.inputs.pictures import embryo_pictures, photographs
from flyannot.descriptors.extract import ExtractOptions, describe
from flyannot.descriptors.sift import normalise
from flyannot.errors import DataError
from flyannot.sparse.fit import default_lam, random_patches

LAM = float(default_lam(128))
N_HELD = 2000  # evaluated, never learned from
STRIDES_PX = (16, 8, 4, 2, 1)
_N_STARTING = 20_000  # patches from which initial atoms are drawn
_VIEWS = ("lateral", "")  # an empty view is unknown; the papers took lateral images
_SEED = 0


@dataclass(frozen=True)
class Patches:
    """A folder with uint8 descriptors in random order: `patches.npy`, and `held.npy`, no patch in both."""

    folder: Path
    n: int
    source: Source

    def path(self, name):
        """The file of an array."""
        return str(self.folder / f"{name}.npy")

    def initial_atoms(self, n_atoms):
        """The file of initial atoms, the same for all methods."""
        path = self.path(f"initial-{n_atoms}")
        if not Path(path).is_file():
            X = normalise(np.load(self.path("patches"), mmap_mode="r")[:_N_STARTING])
            np.save(path, random_patches(X, n_atoms, np.random.default_rng(_SEED)))
        return path

    def problem(self, n_atoms):
        """The arguments that every measurement of learning takes."""
        files = {name: self.path(name) for name in ("patches", "held")}
        return files | {"initial": self.initial_atoms(n_atoms), "lam": LAM}


def patches_of(setup, n, stage_range=None):
    """`Patches`: n descriptors of one stage range, or of all, and N_HELD others.

    Patches of 16 px at the widest stride that yields so many; lateral images if they suffice, else all.

    Raises
    ------
    DataError
        If there are too few.
    """
    return setup.once(f"patches {stage_range} {n}", lambda: _made(setup, n, stage_range))


def _made(setup, n, stage_range):
    wanted = n + N_HELD
    descriptors, text, kind = _descriptors(setup, stage_range, wanted)
    order = setup.rng(f"patches {stage_range}").permutation(len(descriptors))[:wanted]
    folder = setup.scratch / f"patches-{stage_range}-{n}"
    folder.mkdir(parents=True)
    text = f"{n:,} of {len(descriptors):,} patches of 16 px {text}; {N_HELD:,} others are evaluated"
    made = Patches(folder, n, Source(text, kind))
    np.save(made.path("held"), descriptors[order[:N_HELD]])
    np.save(made.path("patches"), descriptors[order[N_HELD:]])
    return made


def _descriptors(setup, stage_range, wanted):
    """Descriptors (uint8) of at least `wanted` patches, where they are from, and how real they are."""
    n_found = 0
    for views, stride_px in ((v, s) for v in (_VIEWS, None) for s in STRIDES_PX):
        greys, source = _pictures(setup, stage_range, views)
        if sum((g.shape[0] // stride_px) * (g.shape[1] // stride_px) for g in greys) < wanted:
            continue  # not even with every patch kept
        options = ExtractOptions(stride_px=stride_px)
        descriptors = np.concatenate([describe(grey, options).descriptors for grey in greys])
        if len(descriptors) >= wanted:
            return descriptors, f"at stride {stride_px} of {source.text}", source.kind
        n_found = max(n_found, len(descriptors))
    raise DataError(
        f"there are {n_found:,} patches of stage range {stage_range or 'any'}, {wanted:,} are needed",
        fix="name a larger data set by --data-set, or measure with --quick",
    )


def _pictures(setup, stage_range, views):
    """Embryos; where only synthetic ones are to be had, and any picture will do, photographs."""
    if stage_range is None and setup.data_set is None and setup.data_file("flyexpress") is None:
        greys = photographs()
        return greys, Source(f"{len(greys)} photographs of scikit-image")
    return embryo_pictures(setup, stage_range, views=views)
