"""Arrays of other programs: dictionaries of atoms, and feature vectors such as the embeddings of a network.

This module is the only one that opens npy, npz, mat and parquet files.  Nothing is unpickled.  Files that
compiled code reads are read in a process of their own, since damage may crash it.

A row of a table of vectors is an image: its name, gene, stage range and vector; perhaps fbgn, view, group
and source.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from flyannot.base.errors import DataError, FlyannotError, InputError
from flyannot.base.options import Choice, Flag, Options, Real, Text, option
from flyannot.base.packages import optional_package
from flyannot.base.stage_ranges import STAGE_RANGES, parse_stage_range
from flyannot.base.text import is_fit_for_cells, pluralise
from flyannot.files.text_files import most_unpacked_bytes, open_regular
from flyannot.jobs.subprocess_call import SubprocessDied, call_in_subprocess

LAYOUTS = ("rows", "columns")
NEEDED = ("image", "gene", "stage_range")
_VECTOR = ("vector", "features")  # the second is what `flyannot export --to parquet` writes
_MOST_BYTES = 2**35
_NORM_TOLERANCE = 1e-4  # rounding to float32 changes norms by 1e-7
_SECONDS = 60  # limit for the process that reads; a gigabyte takes five
_BYTES_BESIDE = 2**29  # memory of that process, besides a few copies of the file's contents
_FIX_MATRIX = "name an npy, npz or mat file that holds a matrix of numbers"
_FIX_VECTORS = "name an npz or parquet file with image, gene, stage_range and vector"


def read_arrays(path, suffixes, *, fix, names=None):
    """Read the arrays in a file by name, or the columns of a table; the array of an npy file has the name "".

    Parameters
    ----------
    path : path of the file
    suffixes : accepted suffixes
    fix : remedy in messages
    names : names that are wanted, as far as they exist; None for all

    Raises
    ------
    InputError
        If the file does not exist or has another suffix, or the package that reads it is not installed.
    DataError
        If the file cannot be read, or would unpack to far more than its size.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        raise InputError(f"{path} ends in none of {', '.join(suffixes)}", fix=fix)
    try:
        with open_regular(path) as file:
            most = most_unpacked_bytes(path, _MOST_BYTES)
            if suffix in _READERS:
                return _READERS[suffix](file, names, most)
        read = _READERS_APART[suffix]
        most_memory = _BYTES_BESIDE + 4 * most
        return call_in_subprocess(read, path, names, most, limit_s=_SECONDS, most_bytes=most_memory)
    except FlyannotError:
        raise
    except FileNotFoundError:
        raise InputError(f"no such file: {path}", fix=fix) from None
    except SubprocessDied as died:
        raise DataError(f"{path} is damaged: reading it {died}", fix=fix) from died
    except Exception as error:  # parsers raise any exception for a damaged file
        raise DataError(f"{path} cannot be read: {(str(error).splitlines() or [''])[0]}", fix=fix) from error


def _require_small(n_bytes, most_bytes):
    if n_bytes > most_bytes:
        raise ValueError(f"it would take {n_bytes:,} bytes")


def _read_npy(file, _names, _most_bytes):
    return {"": np.load(file, allow_pickle=False)}


def _read_npz(file, names, most_bytes):
    with np.load(file, allow_pickle=False) as archive:
        _require_small(sum(member.file_size for member in archive.zip.infolist()), most_bytes)
        return {name: archive[name] for name in archive.files if names is None or name in names}


def _read_mat(path, _names, most_bytes):
    from scipy.io import loadmat, whosmat

    try:
        shapes = whosmat(path)
    except NotImplementedError:
        raise DataError(f"{path} is a mat file of version 7.3", fix="save it with -v7 in MATLAB") from None
    _require_small(sum(8 * int(np.prod(shape, dtype=object)) for _, shape, _ in shapes), most_bytes)
    names = [name for name, shape, kind in shapes if len(shape) == 2 and kind in ("double", "single")]
    return {name: a for name, a in loadmat(path, variable_names=names).items() if name in names}


def _read_parquet(path, names, most_bytes):
    file = optional_package("pyarrow.parquet", "parquet").ParquetFile(path)
    blocks = [block for group in file.metadata.to_dict()["row_groups"] for block in group["columns"]]
    blocks = [block for block in blocks if block["path_in_schema"].split(".")[0] in names]
    _require_small(sum(max(8 * b["num_values"], b["total_uncompressed_size"]) for b in blocks), most_bytes)
    table = file.read(columns=[name for name in file.schema_arrow.names if name in names])
    columns = dict(zip(table.column_names, table.columns))
    return {n: np.stack(c.to_numpy()) if "list" in str(c.type) else c.to_pylist() for n, c in columns.items()}


_READERS = {".npy": _read_npy, ".npz": _read_npz}
_READERS_APART = {".mat": _read_mat, ".parquet": _read_parquet}


@dataclass(frozen=True, kw_only=True)
class AtomsOptions(Options):
    """How the matrix of a dictionary is read."""

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


def read_matrices(path):
    """Read the matrices of numbers in an npy, npz or mat file by name.

    Raises InputError and DataError as `read_arrays`; DataError also if there is no matrix.
    """
    arrays = read_arrays(path, (".npy", ".npz", ".mat"), fix=_FIX_MATRIX)
    matrices = {n: a for n, a in arrays.items() if getattr(a, "ndim", 0) == 2 and a.dtype.kind in "fiu"}
    if not matrices:
        raise DataError(f"{path} has no matrix of numbers", fix=_FIX_MATRIX)
    return matrices


def atoms_by_stage_range(arrays, stage_ranges, *, variable=None):
    """Choose the array with the dictionary of each stage range: a dict, stage range -> (name, array).

    Arrays named after stage ranges (`4-6`, `D_4_6`) belong to these.  Otherwise one array, the only one
    or the one that is named, is used for all `stage_ranges`.

    Raises InputError if several arrays are possible, or a stage range has none.
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
    if variable is None:
        variable = "D" if "D" in arrays or len(arrays) > 1 else next(iter(arrays))
    if variable not in arrays:
        raise InputError(
            f"which array are the atoms? There are {', '.join(arrays)}", fix="name one with --variable"
        )
    return dict.fromkeys(stage_ranges, (variable, arrays[variable]))


def atoms_as_rows(D, n_features, *, atoms_in=None):
    """Return the atoms as rows, float32 (n_atoms, n_features), and the layout that they had.

    Parameters
    ----------
    D : matrix with atoms in rows, or in columns as in SPAMS
    n_features : length of an atom
    atoms_in : "rows" or "columns"; None to decide by the shape

    Raises
    ------
    InputError
        If both layouts fit the shape.
    DataError
        If neither fits, or an atom is not finite.
    """
    fits = [layout for layout, n in zip(LAYOUTS, (D.shape[1], D.shape[0])) if n == n_features]
    if atoms_in:
        fits = [layout for layout in fits if layout == atoms_in]
    if not fits:
        wanted = f" in {atoms_in}" if atoms_in else ""
        raise DataError(
            f"a matrix of {D.shape[0]} x {D.shape[1]} has no atoms of length {n_features}{wanted}",
            fix="atoms must be learned on the descriptors of these images, mean removed and scaled to norm 1",
        )
    if len(fits) > 1:
        raise InputError(
            f"{D.shape[0]} x {D.shape[1]}: the atoms may be rows or columns",
            fix="add --atoms-in rows, or --atoms-in columns as in SPAMS",
        )
    atoms = np.ascontiguousarray(D if fits[0] == "rows" else D.T, dtype="f4")
    bad = ~np.isfinite(atoms).all(axis=1)
    if bad.any():
        what = pluralise(bad.sum(), "atom holds", "atoms hold")
        raise DataError(f"{what} NaN or infinity, first atom {bad.argmax()}", fix="make the file again")
    return atoms, fits[0]


def require_short_atoms(D):
    """Raise DataError if an atom is longer than 1, since its codes would be too small."""
    norms = np.linalg.norm(D, axis=1)
    if n := int((norms > 1 + _NORM_TOLERANCE).sum()):
        raise DataError(
            f"{pluralise(n, 'atom has', 'atoms have')} a norm above 1, up to {norms.max():.4g}",
            fix="add --scale to scale every atom to norm 1",
        )


def read_vectors(path):
    """Read the vectors of images from a table.

    Returns
    -------
    vectors : dict, stage range -> image columns (a dict of lists of str) and vectors, float32 (n_images,
        n_features), in the order of features files

    Raises
    ------
    InputError
        If the file does not exist, is of another kind, or needs a package that is not installed.  Also if
        a column is missing, a stage range is unknown, or an image is named twice.
    DataError
        If the file cannot be read, or a vector is no row of finite numbers.
    """
    from flyannot.files.hdf5.schema import IMAGE_COLUMNS  # imported here, so that `--help` stays quick

    wanted = {*NEEDED, *_VECTOR, *IMAGE_COLUMNS}
    table = read_arrays(path, (".npz", ".parquet"), fix=_FIX_VECTORS, names=wanted)
    vectors = next((table[name] for name in _VECTOR if name in table), None)
    missing = ([] if vectors is not None else ["vector"]) + [name for name in NEEDED if name not in table]
    if missing:
        there = ", ".join(name for name in sorted(wanted) if name in table) or "nothing that is known"
        raise InputError(f"{path} has no {missing[0]}, only {there}", fix=_FIX_VECTORS)
    vectors = np.asarray(vectors)
    with np.errstate(over="ignore"):  # numbers that are too large for float32 become infinite
        vectors = vectors.astype(np.float32) if vectors.dtype.kind in "fiub" else np.zeros(0)
    if vectors.ndim != 2 or not vectors.size or not np.isfinite(vectors).all():
        raise DataError(f"{path}: vectors must be rows of finite numbers of one length", fix=_FIX_VECTORS)
    columns = {name: np.asarray(table[name], object) for name in table if name not in _VECTOR}
    for name, values in columns.items():
        if values.shape != (len(vectors),):
            shape = " x ".join(map(str, values.shape)) or "a single one"
            raise DataError(f"{path} has {len(vectors)} vectors and {shape} of {name}", fix=_FIX_VECTORS)
        columns[name] = [_text(value) for value in values.tolist()]
        if unfit := next((text for text in columns[name] if not is_fit_for_cells(text)), None):
            raise InputError(f"{path}: {name} {unfit!r}: a control character, or no Unicode", fix="rename it")
    stage_ranges = [parse_stage_range(text) for text in columns["stage_range"]]
    for (stage_range, image), n in Counter(zip(stage_ranges, columns["image"])).items():
        if not image:
            raise InputError(f"{path} has an image without a name", fix="give every image a name")
        if n > 1:
            raise InputError(
                f"{path} has the image {image} twice in stage range {stage_range}",
                fix="give every image one row",
            )
    columns = {name: columns.get(name, [""] * len(vectors)) for name in IMAGE_COLUMNS}
    names = zip(columns["group"], columns["fbgn"], columns["gene"], columns["image"])
    columns["group"] = [next(filter(None, of_image), "") for of_image in names]
    return {
        s: _select_rows(columns, vectors, [i for i, of in enumerate(stage_ranges) if of == s])
        for s in STAGE_RANGES
        if s in stage_ranges
    }


def _select_rows(columns, vectors, rows):
    """Return the columns and vectors of some rows, sorted by group and image."""
    rows = sorted(rows, key=lambda i: (columns["group"][i], columns["image"][i]))
    return {name: [column[i] for i in rows] for name, column in columns.items()}, vectors[rows]


def _text(value):
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None or value != value else str(value)
