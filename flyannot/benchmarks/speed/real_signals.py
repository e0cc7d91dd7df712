"""Signals of other kinds than embryos, one a row: patches of photographs, volumes of a brain scan."""

import gzip
from pathlib import Path

import numpy as np

from flyannot.benchmarks.speed.real_patches import bench_photographs
from flyannot.errors import DataError

PATCH_PX = 14  # as in Lee et al. 2006
_LEAST_STD = 4.0  # grey levels: sky and shadow are left out
_NIFTI_HEADER, _NIFTI_TYPES = 348, {4: "i2", 8: "i4", 16: "f4", 64: "f8"}


def photograph_patches(n, rng):
    """float32 (n, 196): random windows of 14 x 14 grey levels of the photographs of scikit-image."""
    greys = bench_photographs()
    kept, n_kept = [], 0
    while n_kept < n:
        grey = greys[rng.integers(len(greys))]
        top, left = (rng.integers(side - PATCH_PX) for side in grey.shape)
        patch = grey[top : top + PATCH_PX, left : left + PATCH_PX].astype(np.float32)
        if patch.std() >= _LEAST_STD:
            kept.append(patch.ravel())
            n_kept += 1
    return unit_rows(np.stack(kept))


def scan_volumes(path, rng):
    """float32 (n_volumes, n_voxels), in random order: every voxel in units of its own deviation.

    A plain 4-dimensional NIfTI-1 file, gzipped; voxels that never change are left out.
    """
    volumes = read_nifti(path).astype(np.float32)
    X = volumes.reshape(-1, volumes.shape[-1]).T
    X = X[:, X.std(axis=0) > 0]
    return unit_rows(rng.permutation((X - X.mean(axis=0)) / X.std(axis=0)))


def unit_rows(X):
    """Every row less its mean, at norm 1; constant rows become 0."""
    X = X - X.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.divide(X, norms, out=np.zeros_like(X), where=norms > 1e-9)


def read_nifti(path):
    """The array of a gzipped little-endian NIfTI-1 file, in the order of its axes.

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
