"""Embryo images and their descriptors: the user's, FlyExpress's, or synthetic ones where there are none."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from flyannot.benchmarks.papers.findings import KINDS
from flyannot.benchmarks.speed.real_patches import N_HELD, Inputs
from flyannot.dataset.folder import read_images
from flyannot.dataset.synthetic.generate import synthesize
from flyannot.descriptors.extract import describe
from flyannot.descriptors.options import ExtractOptions
from flyannot.descriptors.standard_image import read_grey
from flyannot.errors import DataError

STRIDES_PX = (16, 8, 4, 2, 1)
_N_GENES = 12  # synthetic ones, where no images are at hand
_VIEWS = ("lateral", "")  # an empty view is unknown; the paper took lateral images


@dataclass(frozen=True)
class Source:
    """Where data are from: a sentence, and how real they are (of `findings.KINDS`)."""

    text: str
    kind: str


def all_of(sources):
    """Several as one: each is named once, and the least real kind counts."""
    sources = list(dict.fromkeys(sources))
    text = "; ".join(source.text for source in sources)
    return Source(text, max((source.kind for source in sources), key=KINDS.index))


@dataclass(frozen=True)
class Problem:
    """A dictionary to learn: the files of `flyannot.benchmarks.speed.real_patches.Inputs`, and where they
    are from."""

    inputs: Inputs
    source: Source

    def arguments(self, n_atoms):
        """What the measurements of `flyannot.benchmarks.speed.children.learning` take."""
        return self.inputs.problem(n_atoms)


@lru_cache(maxsize=4)
def embryo_images(setup):
    """The images (a list of `flyannot.dataset.folder.Image`) and their `Source`."""
    folder, name = setup.data_set, None
    if folder is None and setup.shared_file("flyexpress", "images.csv"):
        folder, name = setup.shared / "flyexpress", "FlyExpress"
    if folder is None:
        folder = setup.scratch / "embryos"
        synthesize(
            folder, n_genes=_N_GENES, stage_ranges=("4-6", "7-8", "9-10", "11-12", "13-16"), force=True
        )
    images = read_images(folder)
    if any(image.source == "synthetic" for image in images):
        return images, Source(f"{len(images)} SYNTHETIC embryos", "synthetic")
    return images, Source(f"{len(images)} real images of {name or folder.name}", "real")


def grey_pictures(setup, stage_range=None, *, views=None):
    """The pictures (uint8) of one stage range, or of all, and their `Source`."""
    images, source = embryo_images(setup)
    kept = [i for i in images if stage_range in (None, i.stage_range) and (views is None or i.view in views)]
    greys = [np.rint(read_grey(image.path)).astype(np.uint8) for image in kept]
    where = f" of stage range {stage_range}" if stage_range else ""
    return greys, Source(f"{len(greys)} of {source.text}{where}", source.kind)


def problem(setup, stage_range, n_patches):
    """The `Problem` of learning from `n_patches` descriptors of one stage range, and N_HELD to judge by.

    Windows of 16 px at the widest stride that yields so many; lateral images if they suffice, else all.

    Raises
    ------
    DataError
        If the stage range has too few.
    """
    folder = setup.scratch / f"{stage_range}-{n_patches}"
    wanted = n_patches + N_HELD
    descriptors, source = _descriptors(setup, stage_range, wanted)
    order = setup.rng(f"patches {stage_range}").permutation(len(descriptors))[:wanted]
    inputs = Inputs(folder, n_patches, source.text)
    if not folder.is_dir():
        folder.mkdir(parents=True)
        np.save(inputs.path("held"), descriptors[order[:N_HELD]])
        np.save(inputs.path("patches"), descriptors[order[N_HELD:]])
    return Problem(inputs, source)


@lru_cache(maxsize=1)
def _descriptors(setup, stage_range, wanted):
    """Descriptors (uint8) of at least `wanted` windows, and their `Source`."""
    found = 0
    for views, stride_px in ((v, s) for v in (_VIEWS, None) for s in STRIDES_PX):
        greys, source = grey_pictures(setup, stage_range, views=views)
        if sum((g.shape[0] // stride_px) * (g.shape[1] // stride_px) for g in greys) < wanted:
            continue  # not even with every window kept
        options = ExtractOptions(stride_px=stride_px)
        descriptors = np.concatenate([describe(grey, options).descriptors for grey in greys])
        found = max(found, len(descriptors))
        if len(descriptors) >= wanted:
            view = "lateral" if views else "all views"
            text = f"{wanted - N_HELD:,} of {len(descriptors):,} windows of 16 px at stride {stride_px} of "
            return descriptors, Source(f"{text}{source.text} ({view}); {N_HELD:,} others judge", source.kind)
    raise DataError(
        f"stage range {stage_range} has {found:,} windows, {wanted:,} are needed",
        fix="name a larger data set by --data-set, or measure with --quick",
    )
