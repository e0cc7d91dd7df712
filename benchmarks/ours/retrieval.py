"""Real images without terms: good features find a gene's other images.

Every image that has others of its gene and of other genes in its stage range ranks them by the cosine of
their features; the AUC is that of images of its own gene.  Images of a gene were mostly stained and lit
together, which is part of what is found.
"""

import numpy as np

from benchmarks.findings import Finding
from benchmarks.inputs.pictures import embryo_images
from benchmarks.items import Item
from benchmarks.scc.learning import learned_atoms
from flyannot.descriptors.extract import describe_patches
from flyannot.descriptors.images.picture import read_embryo
from flyannot.descriptors.options import ExtractOptions
from flyannot.features.groups import normalise_features
from flyannot.features.image_features import atoms_of_features, features_of
from flyannot.features.options import PoolOptions
from flyannot.scores.bootstrap import bootstrap_interval
from flyannot.scores.metrics import pair_counts

_STRIDE_PX = 8
_N_EPOCHS = 5
_N_SAMPLES = 1000
_TURNED = ("dorsal", "ventral")
_GREY, _LYING = "grey levels", "dorsal and ventral images alone"
# How features are made.  Shared: one dictionary for all stage ranges.  Views: of the images that take part.
_PLAIN = {"extract": {}, "pool": {"grid": ((2, 4),)}, "n_atoms": 200, "shared": False, "views": ()}
_WAYS = {
    _GREY: _PLAIN,
    "stain": _PLAIN | {"extract": {"channel": "stain"}},
    "stain, min-std 2": _PLAIN | {"extract": {"channel": "stain", "min_std": 2.0}},
    "registered": _PLAIN | {"extract": {"register": "axis"}},
    "the whole image": _PLAIN | {"pool": {"grid": ((1, 1),)}},
    "1,000 atoms": _PLAIN | {"n_atoms": 1000},
    "one dictionary for all": _PLAIN | {"shared": True},
    "one dictionary of 1,000 atoms for all": _PLAIN | {"n_atoms": 1000, "shared": True},
    _LYING: _PLAIN | {"views": _TURNED},
    f"{_LYING}, mirrored": _PLAIN | {"views": _TURNED, "pool": {"grid": ((2, 4),), "mirror": _TURNED}},
}


def measure(setup):
    """The mean AUC of every way, and its difference to the plain one, with an interval by bootstrap."""
    images, source = embryo_images(setup)
    rows, without = [], {}
    for patch_px in setup.sizes["patch_px"]:
        areas = {name: _areas(setup, images, patch_px, way) for name, way in _WAYS.items()}
        for name, mine in areas.items():
            if not len(mine):
                without[name] = f"no image that could be a query: {name}"
                continue
            base = _LYING if name.startswith(_LYING) else _GREY
            row = {"features": name, "patch_px": patch_px, "n_images": len(mine), "auc": mine.mean()}
            if name != base:
                drawn = setup.rng("bootstrap").integers(len(mine), size=(_N_SAMPLES, len(mine)))
                low, high = bootstrap_interval((mine - areas[base])[drawn].mean(axis=1))
                row |= {"over": base, "difference_low": low, "difference_high": high}
            rows.append(row)
    return Finding(
        source=source, rows=rows, variant=f"stride {_STRIDE_PX}, 2x4 grid, 200 atoms for each stage range",
        notes=["Intervals of 95 % of the difference, by bootstrap over images.", *without.values()],
    )  # fmt: skip


def _areas(setup, images, patch_px, way):
    """The AUC of every image that can be a query."""
    images = [image for image in images if not way["views"] or image.view in way["views"]]
    if not images:
        return np.zeros(0)
    X = normalise_features(features_of_images(setup, images, patch_px, way), "l2")
    genes, ranges = (np.array([getattr(i, name) for i in images]) for name in ("gene", "stage_range"))
    areas = []
    for i, x in enumerate(X):
        others = (ranges == ranges[i]) & (np.arange(len(X)) != i)
        n_ordered, n_pairs = pair_counts(X[others] @ x, genes[others] == genes[i])
        areas.append(n_ordered / n_pairs if n_pairs else np.nan)
    return np.array(areas)[np.isfinite(areas)]


def features_of_images(setup, images, patch_px, way):
    """One row for every image."""
    extract = ExtractOptions(**({"patch_px": patch_px, "stride_px": _STRIDE_PX} | way["extract"]))
    described = [describe_patches(read_embryo(image.path, extract)[0], extract) for image in images]
    options, rows = PoolOptions(**way["pool"]), {}
    ranges = [None if way["shared"] else image.stage_range for image in images]
    for stage_range in dict.fromkeys(ranges):
        mine = [i for i, s in enumerate(ranges) if s == stage_range]
        descriptors = np.concatenate([described[i].descriptors for i in mine])
        D, lam = learned_atoms(descriptors, way["n_atoms"], setup.rng("atoms"), n_epochs=_N_EPOCHS)
        atoms = atoms_of_features(D, lam, extract.patch_px)
        for i in mine:
            rows[i] = features_of(described[i], atoms, options, view=images[i].view).features
    return np.array([rows[i] for i in range(len(images))])


ITEM = Item(
    "retrieval", "A gene's other images found by their features", measure,
    sizes={"patch_px": ((32,), (16, 32, 64))},
)  # fmt: skip
