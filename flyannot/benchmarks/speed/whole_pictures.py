"""Whole pictures as samples: embryos, their stain less the mean picture, one row of 40,960 pixels each."""

from pathlib import Path

import numpy as np

from flyannot.benchmarks.speed.real_patches import default_data_set
from flyannot.dataset.folder import read_images
from flyannot.dataset.importers.wu2016 import read_patterns, render_patterns
from flyannot.descriptors.standard_image import read_grey

_SEED = 0
_HELD_PART = 5  # one gene of so many is judged, never learned from


def write_pictures(folder, data_set=None):
    """Write `train.npy` and `test.npy` into `folder`; a line that says what they are, or "" without images.

    Both hold float32 stain in [0, 1] (1 is black), (n_images, n_pixels): the images of a data set
    folder and, where they lie beside it, the patterns of Wu et al. 2016 drawn at the same size.  Genes are
    in one file or in the other.
    """
    data_set = Path(data_set or default_data_set() or "")
    if not (data_set / "images.csv").is_file():
        return ""
    images = read_images(data_set)
    X, genes = [read_grey(image.path).ravel() for image in images], [image.gene for image in images]
    patterns = data_set.parent / "wu2016" / "patterns.npz"
    if patterns.is_file():
        arrays = read_patterns(patterns)
        X += [picture.ravel() for picture in render_patterns(arrays["patterns"], arrays["mask"])]
        genes += arrays["gene"].tolist()
    known = np.unique(genes)
    held = np.random.default_rng(_SEED).permutation(known)[: max(1, len(known) // _HELD_PART)]
    is_held = np.isin(genes, held)
    stain = 1 - np.stack(X).astype(np.float32) / 255
    for name, rows in (("train", ~is_held), ("test", is_held)):
        np.save(Path(folder) / f"{name}.npy", stain[rows])
    return f"{(~is_held).sum():,} pictures learned from, {is_held.sum():,} of other genes judged"


def centred(stain, mean):
    """The pictures less the mean picture, each scaled to the norm 1 (over what is not missing)."""
    X = stain - mean
    known_part = np.mean(~np.isnan(X), axis=1, keepdims=True)
    norms = np.sqrt(np.nansum(X**2, axis=1, keepdims=True) / np.maximum(known_part, 1e-12))
    return X / np.maximum(norms, 1e-12), norms
