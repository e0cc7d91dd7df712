"""Arrays that begin on a cache line, and rows of whole chunks, as vector code reads them."""

import numpy as np

from flyannot.sparse.simd.vectors import CHUNK


def aligned_zeros(shape, dtype):
    """Zeros that begin on a cache line, so that neither speed nor bits hang on where memory was found."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    buffer = np.zeros(size + CHUNK, np.uint8)
    first = -buffer.ctypes.data % CHUNK
    return buffer[first : first + size].view(dtype).reshape(shape)


def padded_zeros(*shape, dtype):
    """Zeros whose rows begin on a cache line, long enough for whole chunks."""
    *n_rows, n = shape
    return aligned_zeros((*n_rows, round_up(n, CHUNK)), dtype)


def whole_chunks(X, dtype):
    """X as contiguous rows of `dtype`, with zeros after the last feature where they fill no whole chunk."""
    missing = -np.shape(X)[1] % CHUNK
    return np.ascontiguousarray(np.pad(X, ((0, 0), (0, missing))) if missing else X, dtype)


def round_up(n, multiple):
    """The least multiple that is at least n."""
    return -(-n // multiple) * multiple
