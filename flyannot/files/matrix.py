"""The reader of a matrix in NumPy's format (.npy), whose rows are read from the file as they are needed.

Nothing is unpickled. A mapping of the file lasts for one read only, so memory holds no more than the rows in
use.
"""

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.lib import format as npy

from flyannot.base.errors import DataError, InputError
from flyannot.files.text_files import open_regular_file, read_first_bytes

_BLOCK_BYTES = 1 << 22  # bytes of a block of rows that is read at once
_MAX_BLOCK_ROWS = 1024
LARGEST_NUMBER = 1e140  # sums of squares of larger numbers overflow
_HEADER_READERS = dict.fromkeys(((2, 0), (3, 0)), npy.read_array_header_2_0)  # 3 is for names of fields
_HEADER_READERS[1, 0] = npy.read_array_header_1_0
_FIX = "save it with numpy.save(NAME.npy, X), where X is an array of real numbers with samples in rows"


@dataclass(frozen=True)
class MatrixFile:
    """A matrix of real numbers (n_rows, n_columns) in a file; an index of rows reads these rows.

    Attributes
    ----------
    path : Path of the file
    shape : tuple (n_rows, n_columns)
    stored_dtype : numpy.dtype of the numbers in the file
    order : "C" if the numbers of a row are neighbours in the file, "F" if those of a column are
    offset : int, the position of the first number in the file, in bytes
    identity : tuple of the size and the time of the last change, by which a replaced file is recognised
    """

    path: Path
    shape: tuple
    stored_dtype: np.dtype
    order: Literal["C", "F"]
    offset: int
    identity: tuple

    def __len__(self):
        return self.shape[0]

    @property
    def dtype(self):
        """The type of rows that are read: float32 if the file has this type, otherwise float64."""
        return np.dtype(np.float32 if self.stored_dtype.newbyteorder("=") == np.float32 else np.float64)

    def __getitem__(self, rows):
        """Read some rows, given by a slice or an int array, as an array (n, n_columns).

        Raises
        ------
        DataError
            If the file was replaced since it was opened.
        """
        with open_regular_file(self.path) as file:
            if _identity(file) != self.identity:
                raise DataError(f"{self.path} was replaced while this ran", fix="run the same command again")
            mapped = np.memmap(file, self.stored_dtype, "r", self.offset, self.shape, self.order)
            with np.errstate(over="ignore"):  # a long double may become infinite
                return np.array(mapped[rows], self.dtype, order="C", subok=False)

    def blocks(self):
        """Return the list of consecutive blocks of rows, slices of at most 1,024 rows and about 4 MiB."""
        row_bytes = self.shape[1] * self.dtype.itemsize
        n_rows = max(1, min(_MAX_BLOCK_ROWS, _BLOCK_BYTES // row_bytes))
        return [slice(at, min(at + n_rows, len(self))) for at in range(0, len(self), n_rows)]

    def read_numbers(self, block, *, may_be_nan=False):
        """Read a block of rows, and check that all numbers are finite, and none is above `LARGEST_NUMBER`.

        Parameters
        ----------
        block : slice of rows
        may_be_nan : bool, whether nan is allowed, which stands for a missing value

        Raises
        ------
        DataError
            If a number is not finite or too large; the message says where it is.
        """
        X = self[block]
        most = min(LARGEST_NUMBER, float(np.finfo(X.dtype).max))
        is_wrong = np.abs(X) > most if may_be_nan else ~(np.abs(X) <= most)
        if is_wrong.any():
            row, column = np.argwhere(is_wrong)[0].tolist()
            remedy = f"replace it by a number up to {LARGEST_NUMBER:g}, or leave out the row"
            what = f"{self.path} has {X[row, column]} in row {block.start + row}, column {column}, from 0"
            raise DataError(what, fix=f"{remedy}; --learner modl takes nan as missing")
        return X


def is_matrix_file(path):
    """Return whether a path names a matrix: by its suffix .npy, or by the first bytes of the file."""
    try:
        return (
            path.suffix.lower() == ".npy" or read_first_bytes(path, len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX
        )
    except OSError:
        return False


def open_matrix(path):
    """Check the header of a matrix in NumPy's format, and return its `MatrixFile`; no number is read.

    Raises
    ------
    InputError
        If the file does not exist or cannot be read.
    DataError
        If it is not in NumPy's format, is no matrix of real numbers, is empty, or is cut short.
    """
    try:
        with open_regular_file(path) as file:
            shape, is_fortran, dtype = _read_header(file, path)
            offset = file.tell()
            identity = _identity(file)
    except FileNotFoundError:
        raise InputError(f"no such file: {path}", fix="give a matrix, such as X.npy") from None
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {error.strerror}", fix="give a matrix, such as X.npy"
        ) from error
    if dtype.names or dtype.kind not in "biuf":
        kind = "fields" if dtype.names else "Python objects" if dtype.hasobject else f"the type {dtype}"
        raise DataError(f"{path} has {kind}, not real numbers", fix=_FIX)
    if len(shape) != 2:
        raise DataError(f"{path} has the shape {shape}, not rows and columns", fix=_FIX)
    if not all(shape):
        raise DataError(f"{path} is empty: it has {shape[0]} rows and {shape[1]} columns", fix=_FIX)
    n_bytes = math.prod(shape) * dtype.itemsize
    if identity[0] != offset + n_bytes:
        what = f"{path} is damaged: its numbers take {identity[0] - offset:,} bytes, not {n_bytes:,}"
        raise DataError(what, fix=f"copy the file again, or {_FIX}")
    return MatrixFile(Path(path), shape, dtype, "F" if is_fortran else "C", offset, identity)


def _read_header(file, path):
    """Return shape, whether the order is Fortran's, and dtype from the header of an open file."""
    try:
        version = npy.read_magic(file)
    except ValueError:
        raise DataError(f"{path} is not in NumPy's format", fix=_FIX) from None
    try:
        return _HEADER_READERS[version](file)
    except Exception as error:  # the parser raises any exception for a damaged header
        raise DataError(f"{path} is damaged: its header cannot be read", fix=_FIX) from error


def _identity(file):
    """Return the size and the time of the last change of an open file."""
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns
