"""Whole pictures as samples: embryos, 40,960 pixels each."""

import numpy as np

from flyannot.benchmarks.findings import Source, all_of
from flyannot.benchmarks.inputs.pictures import drawn_patterns, embryo_images, grey_levels

_HELD_PART = 5  # one gene of so many is evaluated, never learned from


def stain_by_gene(setup):
    """Files "train" and "test" of stain in [0, 1] (1 is black), float32 (n_images, n_pixels); the `Source`.

    The images of the data set and, where they are to be had, the patterns of Wu et al. 2016 at the same
    size.  A gene is in one file or in the other.
    """
    images, source = embryo_images(setup)
    X, genes, sources = [grey_levels(i.path).ravel() for i in images], [i.gene for i in images], [source]
    patterns = drawn_patterns(setup)
    if patterns is not None:
        greys, arrays, source = patterns
        X, genes = X + [grey.ravel() for grey in greys], genes + arrays["gene"].tolist()
        sources.append(source)
    known = np.unique(genes)
    held = np.isin(genes, setup.rng("held").permutation(known)[: max(1, len(known) // _HELD_PART)])
    stain = 1 - np.stack(X).astype(np.float32) / 255
    files = {name: str(setup.scratch / f"stain-{name}.npy") for name in ("train", "test")}
    for name, rows in (("train", ~held), ("test", held)):
        np.save(files[name], stain[rows])
    source = all_of(sources)
    text = f"{(~held).sum():,} pictures learned from, {held.sum():,} of other genes evaluated: {source.text}"
    return files, Source(text, source.kind)


def whole_embryos(setup):
    """Whole pictures, less the mean picture, of norm 1: float32 (n, 40,960), and their `Source`."""
    found = drawn_patterns(setup)
    if found is None:
        images, source = embryo_images(setup)
        greys = [grey_levels(image.path) for image in images]
    else:
        greys, _, source = found
    rows = setup.rng("pictures").permutation(len(greys))[: setup.sizes["n_pictures"]]
    X = np.array([255.0 - greys[i].ravel() for i in rows], np.float32)
    X -= X.mean(axis=0)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-6)
    return X, Source(f"{len(X):,} of {source.text}, {X.shape[1]:,} pixels each", source.kind)


def centred(stain, mean):
    """The pictures less the mean picture, each scaled to norm 1 over its observed entries; the norms."""
    X = stain - mean
    observed = np.mean(~np.isnan(X), axis=1, keepdims=True)
    norms = np.sqrt(np.nansum(X**2, axis=1, keepdims=True) / np.maximum(observed, 1e-12))
    return X / np.maximum(norms, 1e-12), norms
