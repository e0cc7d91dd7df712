"""Feature vectors that another program made, such as the embeddings of a network, from a table of its own.

A row is an image: its name, gene, stage range and vector; fbgn, view, group and source where they are known.
Nothing is unpickled.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.dataset.importers.by_suffix import read_by_suffix
from flyannot.errors import DataError, InputError
from flyannot.runtime.environment import optional_package
from flyannot.stage_ranges import STAGE_RANGES, parse_stage_range
from flyannot.store.schema import IMAGE_COLUMNS

NEEDED = ("image", "gene", "stage_range")
_VECTOR = ("vector", "features")  # the second is what `flyannot export --to parquet` writes
_FIX = "name an npz, parquet or h5ad file with image, gene, stage_range and vector"


@dataclass(frozen=True)
class Vectors:
    """The rows of a table in the order of features files: image columns (a dict of lists of str), stage range
    of each row, and vectors, float32 (n_images, n_features)."""

    columns: dict
    stage_ranges: list
    vectors: np.ndarray

    def of_stage_range(self, stage_range):
        """Its columns and vectors."""
        rows = [i for i, s in enumerate(self.stage_ranges) if s == stage_range]
        return {name: [column[i] for i in rows] for name, column in self.columns.items()}, self.vectors[rows]


def read_vectors(path):
    """The Vectors of a file.

    Raises
    ------
    InputError
        If there is no such file, it is of no known kind, a column is missing, a stage range is unknown, an
        image is named twice, or the package that reads it is not installed.
    DataError
        If it cannot be read, or a vector is no row of finite numbers.
    """
    found = read_by_suffix(path, {".npz": _read_npz, ".parquet": _read_parquet, ".h5ad": _read_h5ad}, _FIX)
    return _checked(path, found)


def _read_npz(path):
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in (*NEEDED, *_VECTOR, *IMAGE_COLUMNS) if name in arrays}


def _read_parquet(path):
    table = optional_package("pyarrow.parquet", "parquet").read_table(path)
    wanted = [name for name in (*NEEDED, *_VECTOR, *IMAGE_COLUMNS) if name in table.column_names]
    return {name: table.column(name).to_pylist() for name in wanted}


def _read_h5ad(path):
    made = optional_package("anndata", "anndata").read_h5ad(path)
    X = made.X.toarray() if hasattr(made.X, "toarray") else made.X
    columns = {name: made.obs[name].tolist() for name in ("stage_range", *IMAGE_COLUMNS) if name in made.obs}
    return {"image": made.obs_names.tolist()} | columns | {"vector": X}


def _checked(path, found):
    vector = next((found[name] for name in _VECTOR if name in found), None)
    missing = ([] if vector is not None else ["vector"]) + [name for name in NEEDED if name not in found]
    if missing:
        there = ", ".join(found) or "nothing that is known"
        raise InputError(f"{path} has no {missing[0]}, only {there}", fix=_FIX)
    try:
        vectors = np.asarray([np.asarray(row, np.float32) for row in vector], np.float32)
    except (TypeError, ValueError):
        vectors = np.zeros(0)
    if vectors.ndim != 2 or not vectors.size or not np.isfinite(vectors).all():
        raise DataError(f"{path}: the vectors are no rows of as many finite numbers each", fix=_FIX)
    texts = {name: [_text(value) for value in found[name]] for name in found if name not in _VECTOR}
    for name, values in texts.items():
        if len(values) != len(vectors):
            raise DataError(f"{path} has {len(vectors)} vectors and {len(values)} of {name}", fix=_FIX)
    return _in_order(path, texts, vectors)


def _text(value):
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None or value != value else str(value)


def _in_order(path, texts, vectors):
    """Sorted as the images of a data set are: the order of rows in the table does not matter."""
    ranges = [parse_stage_range(text) for text in texts["stage_range"]]
    columns = {name: texts.get(name, [""] * len(vectors)) for name in IMAGE_COLUMNS}
    names = zip(columns["group"], columns["fbgn"], columns["gene"], columns["image"])
    columns["group"] = [next(filter(None, one), "") for one in names]
    seen = set()
    for place in zip(ranges, columns["image"]):
        if place in seen or not place[1]:
            what = (
                f"the image {place[1]} twice in stage range {place[0]}"
                if place[1]
                else "an image without a name"
            )
            raise InputError(f"{path} has {what}", fix="give every image one row, and a name")
        seen.add(place)
    keys = list(zip([STAGE_RANGES.index(s) for s in ranges], columns["group"], columns["image"]))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    columns = {name: [column[i] for i in order] for name, column in columns.items()}
    return Vectors(columns, [ranges[i] for i in order], vectors[order])
