"""Feature vectors of other programs, such as the embeddings of a network.

This module is the only one that opens npz files.  Nothing is unpickled.

A row of a table of vectors is an image: its name, gene, stage range and vector; perhaps fbgn, view, group
and source.
"""

from collections import Counter
from pathlib import Path

import numpy as np

from flyannot.base.errors import DataError, InputError
from flyannot.base.quality_warnings import parse_warnings
from flyannot.base.stage_ranges import STAGE_RANGES, parse_stage_range
from flyannot.base.text import clean_name, is_unknown, is_valid_cell
from flyannot.base.views import parse_view
from flyannot.files.text_files import open_regular_file, row_limit, unpacked_size_limit

NEEDED = ("image", "gene", "stage_range")
_MOST_BYTES = 2**35
_FIX = "give an npz file with image, gene, stage_range and vector"


def read_arrays(path, *, fix, names):
    """Read arrays of an npz file by name.

    Names that the file lacks are left out of the result, a dict.

    Parameters
    ----------
    path : Path of the file
    fix : remedy in messages
    names : names of the arrays

    Raises
    ------
    InputError
        If the file does not exist or has another suffix.
    DataError
        If the file cannot be read, or would unpack to far more than its size.
    """
    path = Path(path)
    if path.suffix.lower() != ".npz":
        raise InputError(f"{path} does not end in .npz", fix=fix)
    try:
        with open_regular_file(path) as file, np.load(file, allow_pickle=False) as archive:
            most = unpacked_size_limit(path, _MOST_BYTES)
            _require_small(sum(member.file_size for member in archive.zip.infolist()), most)
            arrays = {name: archive[name] for name in archive.files if name in names}
        for array in arrays.values():
            _require_small(4 * array.size, most)  # as float32
            _require_small(*array.shape[:1] or (1,), row_limit(path), "rows")
        return arrays
    except FileNotFoundError:
        raise InputError(f"no such file: {path}", fix=fix) from None
    except Exception as error:  # parsers raise any exception for a damaged file
        raise DataError(f"{path} cannot be read: {(str(error).splitlines() or [''])[0]}", fix=fix) from error


def _require_small(n, most, unit="bytes"):
    if n > most:
        raise ValueError(f"it would take {n:,} {unit}, more than {most:,} for its size")


def read_vectors(path):
    """Read the feature vectors of images from a table that another program made.

    Returns
    -------
    vectors : dict, stage range -> (columns, vectors)
        The columns of the images are a dict of lists of str. The vectors are float32 (n_images, n_features),
        in the order of features files.

    Raises
    ------
    InputError
        If the file does not exist or is of another kind.  Also if a column is missing, a stage range is
        unknown, or an image is named twice.
    DataError
        If the file cannot be read, or a vector is no row of finite numbers.
    """
    from flyannot.files.hdf5.schema import IMAGE_COLUMNS  # imported here, so that `--help` stays quick

    wanted = {"vector", *NEEDED, *IMAGE_COLUMNS}
    table = read_arrays(path, fix=_FIX, names=wanted)
    if missing := [name for name in ("vector", *NEEDED) if name not in table]:
        there = ", ".join(name for name in sorted(wanted) if name in table) or "nothing that is known"
        raise InputError(f"{path} has no {missing[0]}, only {there}", fix=_FIX)
    vectors = np.asarray(table.pop("vector"))
    with np.errstate(over="ignore"):  # numbers that are too large for float32 become infinite
        vectors = vectors.astype(np.float32, copy=False) if vectors.dtype.kind in "fiub" else np.zeros(0)
    if vectors.ndim != 2 or not vectors.size or not np.isfinite(vectors).all():
        raise DataError(f"{path}: vectors must be rows of finite numbers of one length", fix=_FIX)
    columns = {name: np.asarray(table[name], object) for name in table}
    for name, values in columns.items():
        if values.shape != (len(vectors),):
            shape = " x ".join(map(str, values.shape)) or "a single one"
            raise DataError(f"{path} has {len(vectors)} vectors and {shape} of {name}", fix=_FIX)
        columns[name] = [_text(value) for value in values.tolist()]
        if unfit := next((text for text in columns[name] if not is_valid_cell(text)), None):
            raise InputError(f"{path}: {name} {unfit!r}: a control character, or no Unicode", fix="rename it")
    columns["gene"] = list(map(clean_name, columns["gene"]))
    for row, gene in enumerate(columns["gene"], start=1):
        if gene and is_unknown(gene, "gene"):
            fix = "write its symbol, or leave it empty"
            raise InputError(f'{path}, row {row}: "{gene}" is not the name of a gene', fix=fix)
    stage_ranges = [parse_stage_range(text) for text in columns["stage_range"]]
    for (stage_range, image), n in Counter(zip(stage_ranges, columns["image"])).items():
        if not image:
            raise InputError(f"{path} has an image without a name", fix="give every image a name")
        if n > 1:
            what = f"{path} has the image {image} twice in stage range {stage_range}"
            raise InputError(what, fix="give every image one row")
    columns = {name: columns.get(name, [""] * len(vectors)) for name in IMAGE_COLUMNS}
    columns["view"] = list(map(parse_view, columns["view"]))
    columns["quality_warnings"] = list(map(parse_warnings, columns["quality_warnings"]))
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
