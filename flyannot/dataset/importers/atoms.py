"""Atoms that other programs learned: an array in an npy, npz or mat file.  Nothing is unpickled."""

import zipfile
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from flyannot.dataset.importers.by_suffix import read_by_suffix
from flyannot.errors import DataError, InputError
from flyannot.options import Choice, Flag, Options, Real, Text, option
from flyannot.runtime.subprocess_call import SubprocessDied, call_in_subprocess
from flyannot.runtime.wording import pluralise
from flyannot.stage_ranges import STAGE_RANGES

LAYOUTS = ("rows", "columns")
_MOST_BYTES = 2**30
_NORM_TOLERANCE = 1e-4  # a dictionary of float32 has norms that are 1 to 1e-7
_MAT_SECONDS = 60  # a gigabyte takes five
_FIX = "name an npy, npz or mat file that holds a matrix of numbers"


@dataclass(frozen=True, kw_only=True)
class AtomsOptions(Options):
    """How a matrix is understood."""

    table: ClassVar[str] = "import-dictionary"

    lam: float | None = option(
        None, Real(above=0), "Weight of the L1 norm when coding.", stands_for="1.2 / sqrt(128), about 0.106"
    )
    variable: str | None = option(
        None, Text(), "The array in an npz or mat file.", stands_for="D, or the only one"
    )
    atoms_in: str | None = option(
        None, Choice(LAYOUTS), "Where atoms are; SPAMS has them in columns.", stands_for="as the shape says"
    )
    scale: bool = option(False, Flag(), "Scale every atom to norm 1.")


def read_arrays(path):
    """The matrices of a file by name; the one of an npy file is called "".

    Raises
    ------
    InputError
        If there is no such file, or it is none of the three kinds.
    DataError
        If it cannot be read, would take more than a gigabyte, or holds no matrix of numbers.
    """
    arrays = read_by_suffix(path, {".npy": _read_npy, ".npz": _read_npz, ".mat": _read_mat}, _FIX)
    matrices = {n: a for n, a in arrays.items() if getattr(a, "ndim", 0) == 2 and a.dtype.kind in "fiu"}
    if not matrices:
        raise DataError(f"{path} holds no matrix of numbers", fix=_FIX)
    return matrices


def atoms_by_stage_range(arrays, stage_ranges, *, variable=None):
    """Which array is the dictionary of which stage range: stage range -> (name, array).

    Arrays named after stage ranges (`4-6`, `D_4_6`) are theirs; otherwise the one array, or the one that is
    named, serves all `stage_ranges`.

    Raises
    ------
    InputError
        If it is not clear which array is meant, or a stage range has none.
    """
    named = {s: n for s in STAGE_RANGES for n in arrays if n in (s, "D_" + s.replace("-", "_"))}
    if named and variable is None:
        missing = [s for s in stage_ranges if s not in named]
        if missing:
            raise InputError(
                f"no array for stage range {missing[0]}, only for {', '.join(named)}",
                fix="choose with --stage-range",
            )
        return {s: (named[s], arrays[named[s]]) for s in stage_ranges}
    if variable is None and "D" in arrays:
        variable = "D"
    if variable is None and len(arrays) == 1:
        (variable,) = arrays
    if variable not in arrays:
        raise InputError(
            f"which array are the atoms? There are {', '.join(arrays)}", fix="name one with --variable"
        )
    return dict.fromkeys(stage_ranges, (variable, arrays[variable]))


def as_rows(D, n_features, *, atoms_in=None):
    """The atoms as rows (n_atoms, n_features) float32, and the layout they came in.

    Parameters
    ----------
    D : matrix with atoms in rows, or in columns as SPAMS has them
    n_features : int, the length of an atom
    atoms_in : "rows" or "columns"; None to tell by the shape

    Raises
    ------
    InputError
        If the shape leaves both open.
    DataError
        If neither side is n_features long, or an atom is not finite or of a norm above 1.
    """
    fits = [layout for layout, n in zip(LAYOUTS, (D.shape[1], D.shape[0])) if n == n_features]
    if atoms_in:
        fits = [layout for layout in fits if layout == atoms_in]
    if not fits:
        wanted = f" in {atoms_in}" if atoms_in else ""
        raise DataError(
            f"a matrix of {D.shape[0]} x {D.shape[1]} holds no atoms of length {n_features}{wanted}",
            fix="atoms must be learned on the descriptors of these images, mean removed and scaled to norm 1",
        )
    if len(fits) > 1:
        raise InputError(
            f"{D.shape[0]} x {D.shape[1]}: the atoms may be rows or columns",
            fix="say --atoms-in rows, or --atoms-in columns as SPAMS has them",
        )
    atoms = np.ascontiguousarray(D if fits[0] == "rows" else D.T, dtype="f4")
    return _checked(atoms), fits[0]


def scaled_atoms(D):
    """Atoms scaled to norm 1; those of norm 0 stay."""
    norms = np.linalg.norm(D, axis=1, keepdims=True)
    return D / np.where(norms > 0, norms, 1)


def check_norms(D):
    """DataError if an atom is longer than 1: its codes would count for less than those of the others."""
    norms = np.linalg.norm(D, axis=1)
    if n := int((norms > 1 + _NORM_TOLERANCE).sum()):
        raise DataError(
            f"{pluralise(n, 'atom has', 'atoms have')} a norm above 1, up to {norms.max():.4g}",
            fix="add --scale to scale every atom to norm 1",
        )


def _checked(D):
    bad = ~np.isfinite(D).all(axis=1)
    if bad.any():
        raise DataError(
            f"{pluralise(bad.sum(), 'atom holds', 'atoms hold')} NaN or infinity, "
            f"the first is number {bad.argmax()}",
            fix="make the file again",
        )
    return D


def _read_npy(path):
    _require_small(path, path.stat().st_size)
    return {"": np.load(path, allow_pickle=False, mmap_mode=None)}


def _read_npz(path):
    with zipfile.ZipFile(path) as archive:
        _require_small(path, sum(member.file_size for member in archive.infolist()))
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _read_mat(path):
    """In a process of its own: SciPy's reader is compiled code that damage can crash."""
    try:
        return call_in_subprocess(_matrices_of_mat, path, limit_s=_MAT_SECONDS)
    except SubprocessDied as died:
        raise DataError(f"{path} is damaged: reading it {died}", fix=_FIX) from died


def _matrices_of_mat(path):
    from scipy.io import loadmat, whosmat

    try:
        found = whosmat(path)
    except NotImplementedError:
        raise DataError(f"{path} is a mat file of version 7.3", fix="save it with -v7 in MATLAB") from None
    _require_small(path, sum(8 * int(np.prod(shape, dtype=object)) for _, shape, _ in found))
    names = [name for name, shape, kind in found if len(shape) == 2 and kind in ("double", "single")]
    return {name: a for name, a in loadmat(path, variable_names=names).items() if name in names}


def _require_small(path, n_bytes):
    if n_bytes > _MOST_BYTES:
        raise DataError(f"{path} would take {n_bytes:,} bytes", fix=_FIX)
