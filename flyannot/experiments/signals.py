"""Signals to code, as Lee et al. have them: photographs, embryo patches and a slice of fMRI."""

import numpy as np

from flyannot.bench.real_patches import packaged_photographs
from flyannot.bench.real_signals import read_nifti, unit_rows
from flyannot.descriptors import normalise
from flyannot.experiments.embryos import Source, problem
from flyannot.images import read_grey

PHOTOGRAPH_PX = (240, 320)
_FMRI = ("fmri", "haxby_1slice_bold.nii.gz")


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
    """The Haxby slice, a sample a time point, voxels standardised: float64 (1452, 800), `Source`, or None."""
    path = setup.shared_file(*_FMRI)
    if path is None:
        return None
    volumes = read_nifti(path)
    n_times = volumes.shape[-1]
    X = volumes.reshape(-1, n_times, order="F").T.astype(np.float64)
    n_voxels = X.shape[1]
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    return X, Source(f"{n_times:,} time points of {n_voxels} voxels, one slice of Haxby et al. 2001", "real")


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
