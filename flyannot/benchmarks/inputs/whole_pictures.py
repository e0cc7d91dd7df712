"""Whole pictures as samples: embryos, 40,960 pixels each."""

import numpy as np

from flyannot.benchmarks.findings import Source
from flyannot.benchmarks.inputs.pictures import drawn_patterns, embryo_images, grey_levels

_HELD_PART = 5  # one gene of so many is evaluated, never learned from


def whole_pictures(setup):
    """Stain in [0, 1] (1 is black), float32 (n_images, n_pixels), the genes, and the `Source`.

    The patterns of Wu et al. 2016, else the images of the data set.
    """
    patterns = drawn_patterns(setup)
    if patterns is not None:
        greys, arrays, source = patterns
        genes = arrays["gene"]
    else:
        images, source = embryo_images(setup)
        greys, genes = [grey_levels(i.path) for i in images], np.array([i.gene for i in images])
    X = 1 - np.array([grey.ravel() for grey in greys], np.float32) / 255
    return X, genes, Source(f"{source.text}, {X.shape[1]:,} pixels each", source.kind)


def split_by_gene(setup):
    """Files "train" and "test" of whole pictures, and the `Source`; a gene is in one file or in the other."""
    X, genes, source = whole_pictures(setup)
    known = np.unique(genes)
    held = np.isin(genes, setup.rng("held").permutation(known)[: max(1, len(known) // _HELD_PART)])
    files = {name: str(setup.scratch / f"pictures-{name}.npy") for name in ("train", "test")}
    for name, rows in (("train", ~held), ("test", held)):
        np.save(files[name], X[rows])
    text = f"{(~held).sum():,} pictures learned from, {held.sum():,} of other genes evaluated: {source.text}"
    return files, Source(text, source.kind)


def centred(stain, mean):
    """The pictures less the mean picture, each scaled to norm 1 over its observed entries; the norms."""
    X = stain - mean
    observed = np.mean(~np.isnan(X), axis=1, keepdims=True)
    norms = np.sqrt(np.nansum(X**2, axis=1, keepdims=True) / np.maximum(observed, 1e-12))
    return X / np.maximum(norms, 1e-12), norms
