"""Feature vectors of other programs, such as the embeddings of a network.

This module is the only one that opens npz and parquet files.  Nothing is unpickled.  Parquet files are read
in a process of their own, since damage may crash the compiled code that reads them.

A row of a table of vectors is an image: its name, gene, stage range and vector; perhaps fbgn, view, group
and source.
"""

from collections import Counter
from pathlib import Path

import numpy as np

from flyannot.base.errors import DataError, FlyannotError, InputError
from flyannot.base.packages import import_optional
from flyannot.base.stage_ranges import STAGE_RANGES, parse_stage_range
from flyannot.base.text import clean_name, is_unknown, is_valid_cell
from flyannot.base.views import parse_view
from flyannot.files.text_files import open_regular_file, row_limit, unpacked_size_limit
from flyannot.jobs.subprocess_call import SubprocessDied, call_in_subprocess

NEEDED = ("image", "gene", "stage_range")
_VECTOR = ("vector", "features")  # the second is what `flyannot export --to parquet` writes
_MOST_BYTES = 2**35
_SECONDS = 60  # limit for the process that reads; a gigabyte takes five
_BYTES_BESIDE = 2**28  # memory of that process, besides a few copies of the file's contents
_PROCESS_COPIES = 4  # the two processes have four times as many copies of the contents as one has
_FIX = "give an npz or parquet file with image, gene, stage_range and vector"


def read_arrays(path, suffixes, *, fix, names):
    """Read arrays of an npz file, or columns of a parquet table, by name.

    Names that the file lacks are left out of the result, a dict.

    Parameters
    ----------
    path : Path of the file
    suffixes : accepted suffixes, of .npz and .parquet
    fix : remedy in messages
    names : names of the arrays or columns

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
        with open_regular_file(path) as file:
            most = unpacked_size_limit(path, _MOST_BYTES)
            if suffix == ".npz":
                return _read_npz(path, file, names, most)
        most //= _PROCESS_COPIES
        memory = _BYTES_BESIDE + 4 * most
        return call_in_subprocess(_read_parquet, path, names, most, limit_s=_SECONDS, most_bytes=memory)
    except FlyannotError:
        raise
    except FileNotFoundError:
        raise InputError(f"no such file: {path}", fix=fix) from None
    except SubprocessDied as died:
        raise DataError(f"{path} is damaged: reading it {died}", fix=fix) from died
    except Exception as error:  # parsers raise any exception for a damaged file
        raise DataError(f"{path} cannot be read: {(str(error).splitlines() or [''])[0]}", fix=fix) from error


def _require_small(n, most, unit="bytes"):
    if n > most:
        raise ValueError(f"it would take {n:,} {unit}, more than {most:,} for its size")


def _read_npz(path, file, names, most_bytes):
    with np.load(file, allow_pickle=False) as archive:
        _require_small(sum(member.file_size for member in archive.zip.infolist()), most_bytes)
        arrays = {name: archive[name] for name in archive.files if name in names}
    for array in arrays.values():
        _require_small(4 * array.size, most_bytes)  # as float32
        _require_small(*array.shape[:1] or (1,), row_limit(path), "rows")
    return arrays


def _read_parquet(path, names, most_bytes):
    """Return the columns of a parquet table as a dict of arrays or lists.

    Texts are kept once until their total length is known: a few bytes can repeat a long text a million times.
    """
    compute = import_optional("pyarrow.compute", "parquet")
    parquet = import_optional("pyarrow.parquet", "parquet")
    file = parquet.ParquetFile(path)
    _require_small(file.metadata.num_rows, row_limit(path) // _PROCESS_COPIES, "rows")
    blocks = [block for group in file.metadata.to_dict()["row_groups"] for block in group["columns"]]
    blocks = [block for block in blocks if block["path_in_schema"].split(".")[0] in names]
    _require_small(sum(max(8 * b["num_values"], b["total_uncompressed_size"]) for b in blocks), most_bytes)
    texts = {block["path_in_schema"] for block in blocks if block["physical_type"] == "BYTE_ARRAY"}
    names = [name for name in file.schema_arrow.names if name in names]
    if odd := [n for n in names if "fixed_size_binary" in str(file.schema_arrow.field(n).type)]:
        raise ValueError(f"{odd[0]} is neither text nor numbers")
    if odd := texts.difference(names):
        raise ValueError(f"{min(odd)} is a list of texts")
    table = parquet.ParquetFile(path, read_dictionary=sorted(texts)).read(columns=names)
    for chunk in (chunk for name in texts for chunk in table[name].chunks):
        lengths = compute.binary_length(chunk.dictionary).take(chunk.indices)
        _require_small(compute.sum(lengths).as_py() or 0, most_bytes)
    columns = dict(zip(table.column_names, table.columns))
    return {n: np.stack(c.to_numpy()) if "list" in str(c.type) else c.to_pylist() for n, c in columns.items()}


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
        If the file does not exist, is of another kind, or needs a package that is not installed.  Also if
        a column is missing, a stage range is unknown, or an image is named twice.
    DataError
        If the file cannot be read, or a vector is no row of finite numbers.
    """
    from flyannot.files.hdf5.schema import IMAGE_COLUMNS  # imported here, so that `--help` stays quick

    wanted = {*NEEDED, *_VECTOR, *IMAGE_COLUMNS}
    table = read_arrays(path, (".npz", ".parquet"), fix=_FIX, names=wanted)
    vectors = next((table[name] for name in _VECTOR if name in table), None)
    missing = ([] if vectors is not None else ["vector"]) + [name for name in NEEDED if name not in table]
    if missing:
        there = ", ".join(name for name in sorted(wanted) if name in table) or "nothing that is known"
        raise InputError(f"{path} has no {missing[0]}, only {there}", fix=_FIX)
    vectors = np.asarray(vectors)
    with np.errstate(over="ignore"):  # numbers that are too large for float32 become infinite
        vectors = vectors.astype(np.float32, copy=False) if vectors.dtype.kind in "fiub" else np.zeros(0)
    if vectors.ndim != 2 or not vectors.size or not np.isfinite(vectors).all():
        raise DataError(f"{path}: vectors must be rows of finite numbers of one length", fix=_FIX)
    columns = {name: np.asarray(table[name], object) for name in table if name not in _VECTOR}
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
