"""A matrix that need not fit in memory, as units of rows that are read one by one."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from flyannot.errors import InputError

_UNIT = 256  # rows
_FLOATS = (np.float64, np.float32)


@dataclass(frozen=True, eq=False)
class RowUnits:
    """Rows of a matrix in blocks, checked as they are read.

    X : whatever has a shape, a dtype, and rows by slices: an array, a memory map, a dataset of h5py or zarr,
        an array of dask
    dtype : of the samples
    start, stop : int arrays (n_units,)
    """

    X: object
    dtype: np.dtype
    start: np.ndarray
    stop: np.ndarray

    @property
    def sizes(self):
        return self.stop - self.start

    def narrowed(self, units):
        """These units alone, in that order."""
        return replace(self, start=self.start[units], stop=self.stop[units])

    def read(self):
        """The rows of every unit, one by one; ValueError where one is not finite."""
        for a, b in zip(self.start.tolist(), self.stop.tolist()):
            yield self._checked(self.X[a:b])

    def samples(self, rows):
        """Rows are samples."""
        return rows

    def _checked(self, rows):
        return check_array(np.asarray(rows), dtype=self.dtype, input_name="X", ensure_min_samples=0)


def row_units(X):
    """The `RowUnits` of a matrix; those of an array of dask are its chunks of rows."""
    chunks = getattr(X, "chunks", None)
    if chunks and isinstance(chunks[0], tuple):  # dask; what h5py calls so are two numbers
        ends = np.cumsum(chunks[0])
        if np.isnan(ends).any():
            raise InputError(
                "X is an array of dask whose rows are not counted", fix="X.compute_chunk_sizes()"
            )
    else:
        ends = np.append(np.arange(_UNIT, X.shape[0], _UNIT), X.shape[0])
    dtype = np.dtype(X.dtype if X.dtype in _FLOATS else np.float64)
    return RowUnits(X, dtype, np.concatenate([[0], ends[:-1]]), ends)


def is_read_in_blocks(X):
    """Whether X is a matrix that is no array and knows its shape: a dataset of a file, an array of dask."""
    is_matrix = all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__")) and len(X.shape) == 2
    return is_matrix and not isinstance(X, np.ndarray) and not sp.issparse(X) and not hasattr(X, "iloc")
