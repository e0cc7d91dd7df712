"""Signals to code, as Lee et al. have them: photographs, embryo patches and a slice of fMRI."""

import gzip

import numpy as np

from flyannot.bench.real_patches import packaged_photographs
from flyannot.descriptors import normalise
from flyannot.experiments.embryos import Source, problem
from flyannot.images import read_grey

PHOTOGRAPH_PX = (240, 320)
_FMRI = ("fmri", "haxby_1slice_bold.nii.gz")
_NIFTI_HEADER_BYTES = 352


def photograph_patches(rng, n, patch_px):
    """Square patches of scikit-image's photographs, centred, of norm 1: float64 (n, patch_px^2), `Source`."""
    greys = [read_grey(path, size_px=PHOTOGRAPH_PX) / 255 for path in packaged_photographs()]
    height, width = np.subtract(PHOTOGRAPH_PX, patch_px)
    which, top, left = rng.integers(len(greys), size=3 * n), rng.integers(height, size=3 * n), None
    left = rng.integers(width, size=3 * n)
    drawn = [greys[i][r : r + patch_px, c : c + patch_px].ravel() for i, r, c in zip(which, top, left)]
    X = unit_rows(np.array(drawn, np.float64))
    X = X[(X != 0).any(axis=1)][:n]
    return X, Source(
        f"{len(X):,} patches of {patch_px} px of {len(greys)} photographs of scikit-image, 320x240", "real"
    )


def embryo_patches(setup, n):
    """Dense SIFT descriptors of embryo windows, centred, of norm 1: float64 (n, 128), `Source`."""
    given = problem(setup, "4-6", n)
    X = normalise(np.load(given.inputs.path("patches"))[:n]).astype(np.float64)
    return X, given.source


def fmri_volumes(setup):
    """The Haxby slice, one sample a time point, voxels standardised: float64 (1452, 800), `Source`, or None.

    A NIfTI-1 file of int16: a header of 352 bytes, then 40 x 20 x 1 x 1452 numbers, the first axis fastest.
    """
    path = setup.shared_file(*_FMRI)
    if path is None:
        return None
    content = gzip.decompress(path.read_bytes())
    shape = np.frombuffer(content, "<i2", 8, offset=40)
    kind = {4: "<i2", 16: "<f4", 64: "<f8"}[int(np.frombuffer(content, "<i2", 1, offset=70)[0])]
    n_voxels, n_times = int(np.prod(shape[1:4])), int(shape[4])
    X = np.frombuffer(content, kind, n_voxels * n_times, offset=_NIFTI_HEADER_BYTES)
    X = X.reshape(n_times, n_voxels).astype(np.float64)
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    return X, Source(f"{n_times:,} time points of {n_voxels} voxels, one slice of Haxby et al. 2001", "real")


def unit_rows(X):
    """Rows centred and scaled to norm 1; constant rows become 0."""
    X = X - X.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.divide(X, norms, out=np.zeros_like(X), where=norms > 1e-9)


def stimuli(setup, n):
    """Name -> (X, Source) of all signals at hand."""
    found = {
        "natural image": photograph_patches(setup.rng("photographs"), n, 14),
        "embryo patches": embryo_patches(setup, n),
    }
    fmri = fmri_volumes(setup)
    if fmri is not None:
        X, source = fmri
        rows = setup.rng("fmri").permutation(len(X))[:n]
        found["fMRI"] = unit_rows(X[rows]), source
    return found
