"""Signals to code, as Lee et al. have them: photographs, embryo patches and a slice of fMRI."""

import gzip
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import gaussian_filter

from benchmarks.findings import Source
from benchmarks.inputs.patches import patches_of
from benchmarks.inputs.pictures import PHOTOGRAPH_PX, photographs
from flyannot.base.errors import DataError
from flyannot.images.sift import normalise_descriptors

NATURAL = "natural image"  # patches of photographs
_BLOCK = 10_000  # patches at a time
_PATCH_PX = 14  # as in Lee et al. 2006
_NIFTI_HEADER, _NIFTI_TYPES = 348, {4: "i2", 8: "i4", 16: "f4", 64: "f8"}


def stimuli(setup, n):
    """Name -> (X, Source) of all signals there are, float64 (n, n_features), rows centred and of norm 1."""
    found = {
        NATURAL: photograph_patches(setup.rng("photographs"), n, _PATCH_PX),
        "embryo patches": _embryo_patches(setup, n),
    }
    if setup.data_file("fmri") is not None:
        X, source = fmri_volumes(setup)
        found["fMRI"] = unit_signals(X[setup.rng("fmri").permutation(len(X))[:n]]), source
    return found


def photograph_patches(rng, n, patch_px, *, dtype=np.float64):
    """Square patches of photographs, centred, of norm 1: (n, patch_px^2), and their `Source`.

    Patches without any detail are left out.
    """
    greys = np.stack(photographs()).astype(np.float64) / 255  # in float32 a plain patch would not be plain
    height, width = np.subtract(PHOTOGRAPH_PX, patch_px)
    which, top, left = (rng.integers(below, size=3 * n) for below in (len(greys), height, width))
    patches = sliding_window_view(greys, (patch_px, patch_px), axis=(1, 2))
    X, n_kept = np.empty((n, patch_px**2), dtype), 0
    for rows in np.array_split(np.arange(3 * n), 3 * n // _BLOCK + 1):
        drawn = unit_signals(patches[which[rows], top[rows], left[rows]].reshape(len(rows), -1))
        drawn = drawn[(drawn != 0).any(axis=1)][: n - n_kept]
        X[n_kept : n_kept + len(drawn)] = drawn
        n_kept += len(drawn)
    text = f"{n_kept:,} patches of {patch_px} px of {len(greys)} photographs of scikit-image, 320x240"
    return X[:n_kept], Source(text)


def planted_signals(rng, n, n_features, n_atoms, *, n_nonzeros=10, noise=0.1):
    """Float32 (n, n_features) of Gaussian atoms and codes, centred, of norm 1, and their `Source`."""
    D = rng.normal(size=(n_atoms, n_features)) / np.sqrt(n_features)
    X = np.empty((n, n_features), np.float32)
    for rows in np.array_split(np.arange(n), n // _BLOCK + 1):
        Z = (rng.random((len(rows), n_atoms)) < n_nonzeros / n_atoms) * rng.normal(size=(len(rows), n_atoms))
        signals = Z @ D
        sizes = np.linalg.norm(signals, axis=1, keepdims=True) / np.sqrt(n_features)
        X[rows] = unit_signals(signals + noise * sizes * rng.normal(size=signals.shape))
    text = f"{n:,} samples of {n_features:,} features, sparse in {n_atoms} Gaussian atoms, a tenth noise"
    return X, Source(text, "synthetic")


def decay_curves(rng, n, *, n_times=48, n_decays=80, noise=0.01):
    """Return float32 curves (n, n_times), exponentials (n_decays, n_times), all of norm 1, and a `Source`.

    A curve is the sum of three exponentials, and of Gaussian noise.
    """
    times, decays = np.linspace(20, 960, n_times), np.geomspace(10, 3000, n_decays)
    D = np.exp(-times / decays[:, None])
    Z = np.zeros((n, n_decays))
    chosen = rng.random(Z.shape).argpartition(3, axis=1)[:, :3]
    np.put_along_axis(Z, chosen, rng.uniform(0.2, 1, (n, 3)), axis=1)
    X = Z @ D + noise * rng.normal(size=(n, n_times))
    X, D = (np.float32(A / np.linalg.norm(A, axis=1, keepdims=True)) for A in (X, D))
    text = f"{n:,} curves at {n_times} times, each of 3 of {n_decays} exponentials, noise {noise:g}"
    return X, D, Source(text, "synthetic")


def _embryo_patches(setup, n):
    """SIFT descriptors of embryo patches, centred, of norm 1: float64 (n, 128), `Source`."""
    given = patches_of(setup, n, "4-6")
    return normalise_descriptors(np.load(given.path("patches"))[:n]).astype(np.float64), given.source


def fmri_volumes(setup):
    """Return the Haxby slice and its `Source`: float64 (1452, 800), a row for each time point.

    Voxels are standardised.
    """
    volumes = read_nifti(setup.data_file("fmri"))
    X = volumes.reshape(-1, volumes.shape[-1], order="F").T.astype(np.float64)
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    return X, Source(f"{len(X):,} time points of {X.shape[1]} voxels, one slice of Haxby et al. 2001")


VOLUME = (30, 30, 23)  # voxels of a synthetic one
_N_MAPS, _N_FIELDS = 40, 60
_PARTS = (0.5, 0.25, 0.25)  # of the variance: maps, smooth fields, white noise


def synthetic_volumes(rng, n):
    """Draw float32 (n, 20700) volumes of maps and noise, like fMRI's; return them with their `Source`.

    A map is a blob and its mirror image.  Every map has a heavy-tailed weight in every volume.  A field is
    smoothed noise, of which a volume has four.
    """
    grid = np.indices(VOLUME).reshape(3, -1)
    centres, widths = rng.uniform(0.1, 0.9, (_N_MAPS, 3)) * VOLUME, rng.uniform(1.5, 3.5, _N_MAPS)
    mirrored = np.where([True, False, False], np.subtract(VOLUME, 1) - centres, centres)
    maps = sum(
        np.exp(-0.5 * ((grid - c[:, :, None]) ** 2).sum(axis=1) / widths[:, None] ** 2)
        for c in (centres, mirrored)
    )
    fields = [gaussian_filter(rng.normal(size=VOLUME), 2).ravel() for _ in range(_N_FIELDS)]
    maps, fields = np.float32(maps), np.float32(fields)
    X = np.empty((n, maps.shape[1]), np.float32)
    for rows in np.array_split(np.arange(n), n // 1000 + 1):
        A = np.float32(rng.laplace(size=(len(rows), _N_MAPS)))
        B = np.zeros((len(rows), _N_FIELDS), np.float32)
        np.put_along_axis(B, rng.integers(_N_FIELDS, size=(len(rows), 4)), rng.normal(size=(len(rows), 4)), 1)
        parts = A @ maps, B @ fields, rng.standard_normal((len(rows), maps.shape[1]), np.float32)
        X[rows] = sum(np.float32(np.sqrt(share) / part.std()) * part for share, part in zip(_PARTS, parts))
    sizes = "x".join(map(str, VOLUME))
    return X, Source(
        f"{n:,} SYNTHETIC volumes of {sizes} voxels: {_N_MAPS} maps, smooth and white noise", "synthetic"
    )


def unit_signals(X):
    """Return every row less its mean, at norm 1; constant rows become 0."""
    X = X - X.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.divide(X, norms, out=np.zeros_like(X), where=norms > 1e-9)


def read_nifti(path):
    """Read the array of a gzipped little-endian NIfTI-1 file, in the order of its axes.

    Raises
    ------
    DataError
        If it is another kind of file.
    """
    content = gzip.decompress(Path(path).read_bytes())
    shape = np.frombuffer(content, "<i2", 8, 40)
    kind, first = np.frombuffer(content, "<i2", 1, 70)[0], int(np.frombuffer(content, "<f4", 1, 108)[0])
    if np.frombuffer(content, "<i4", 1)[0] != _NIFTI_HEADER or int(kind) not in _NIFTI_TYPES:
        raise DataError(f"{path} is no NIfTI-1 file that can be read here")
    shape = tuple(int(n) for n in shape[1 : 1 + shape[0]])
    values = np.frombuffer(content, f"<{_NIFTI_TYPES[int(kind)]}", int(np.prod(shape)), first)
    return values.reshape(shape, order="F")
