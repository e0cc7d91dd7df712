"""Signals to code, as Lee et al. have them: photographs, embryo patches and a slice of fMRI."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from flyannot.benchmarks.papers.embryos import Source, problem
from flyannot.benchmarks.speed.real_patches import packaged_photographs
from flyannot.benchmarks.speed.real_signals import read_nifti, unit_rows
from flyannot.descriptors.sift import normalise
from flyannot.descriptors.standard_image import read_grey

PHOTOGRAPH_PX = (240, 320)
_BLOCK = 10_000  # patches at a time
_FMRI = ("fmri", "haxby_1slice_bold.nii.gz")


def photograph_patches(rng, n, patch_px, *, dtype=np.float64):
    """Square patches of scikit-image's photographs, centred, of norm 1: (n, patch_px^2), and their `Source`.

    Patches without any detail are left out.
    """
    greys = np.stack([read_grey(path, size_px=PHOTOGRAPH_PX) / 255 for path in packaged_photographs()])
    height, width = np.subtract(PHOTOGRAPH_PX, patch_px)
    which, top, left = (rng.integers(below, size=3 * n) for below in (len(greys), height, width))
    windows = sliding_window_view(greys, (patch_px, patch_px), axis=(1, 2))
    X, n_kept = np.empty((n, patch_px**2), dtype), 0
    for rows in np.array_split(np.arange(3 * n), 3 * n // _BLOCK + 1):
        drawn = unit_rows(windows[which[rows], top[rows], left[rows]].reshape(len(rows), -1))
        drawn = drawn[(drawn != 0).any(axis=1)][: n - n_kept]
        X[n_kept : n_kept + len(drawn)] = drawn
        n_kept += len(drawn)
    X = X[:n_kept]
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
