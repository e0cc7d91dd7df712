"""Content digests: what a file says, whatever bytes HDF5 chose to say it in."""

import hashlib

import numpy as np

_ROWS_BYTES = 1 << 24  # read and hashed at a time


def content_digest(h5):
    """SHA-256 over every dataset (name, type, shape, values) and every attribute but `digest` itself.

    The package's version is left out, so that an upgrade does not orphan the files it can still read.
    """
    sha = hashlib.sha256()
    names = []
    h5.visit(names.append)
    for name in ["/", *sorted(names)]:
        item = h5[name]
        sha.update(f"\0{name}\0".encode())
        for key in sorted(set(item.attrs) - {"digest", "flyannot_version"}):
            value = np.asarray(item.attrs[key])
            sha.update(f"@{key}={value.tolist()!r}\0".encode())
        if hasattr(item, "shape"):
            sha.update(f"{item.dtype.str}{item.shape}\0".encode())
            for block in row_blocks(item):
                sha.update(np.ascontiguousarray(block))
    return sha.hexdigest()


def row_blocks(dataset):
    """The rows of a dataset, some megabytes at a time."""
    if dataset.size == 0:
        return
    row_bytes = max(1, dataset.dtype.itemsize * dataset.size // len(dataset))
    step = max(1, _ROWS_BYTES // row_bytes)
    for start in range(0, len(dataset), step):
        yield dataset[start : start + step]
