"""Content digests: what a file says, whatever bytes HDF5 chose to say it in.

Small datasets and attributes are digested as a whole, and checked whenever a file is opened.  What is
bulky lies image by image, and so do its digests (`content`), which are among the small datasets: the
rows of an image are checked when they are read.  No command believes a byte that it has not checked.
"""

import hashlib

import numpy as np

from flyannot.store.schema import BULK

_BLOCK_BYTES = 1 << 22  # read at a time


def content_digest(h5, kind, items=None):
    """SHA-256 over every small dataset (name, type, shape, values) and every attribute but `digest` itself.

    The package's version is left out, so that an upgrade does not orphan the files it can still read.
    `items` are all groups and datasets by name, where they are known.
    """
    sha = hashlib.sha256()
    for name, item in [("/", h5["/"]), *sorted((items or _items_of(h5)).items())]:
        sha.update(f"\0{name}\0".encode())
        for key in sorted(set(item.attrs) - {"digest", "flyannot_version"}) if len(item.attrs) else ():
            value = np.asarray(item.attrs[key])
            sha.update(f"@{key}={value.tolist()!r}\0".encode())
        if hasattr(item, "shape"):
            sha.update(f"{item.dtype.str}{item.shape}\0".encode())
            if name.partition("/")[2] not in BULK.get(kind, ()):
                for values in _blocks_of(item):
                    sha.update(np.ascontiguousarray(values).data)
    return sha.hexdigest()


def _items_of(h5):
    names = []
    h5.visit(names.append)
    return {name: h5[name] for name in names}


def _blocks_of(dataset):
    """Its values, some megabytes at a time."""
    try:
        if not dataset.shape or not dataset.size:
            yield dataset[()]
            return
        n_rows = max(1, _BLOCK_BYTES * len(dataset) // max(1, dataset.nbytes))
        for start in range(0, len(dataset), n_rows):
            yield dataset[start : start + n_rows]
    except (OSError, RuntimeError) as error:
        raise OSError(f"{dataset.name.strip('/')} cannot be read: {error}") from error


def digest_of_image(*arrays):
    """The digest of what a file holds of one image, uint8 (32,).

    Parameters
    ----------
    arrays : its rows of the kind's BULK datasets, in that order
    """
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(f"{array.dtype.str}{array.shape}\0".encode())
        sha.update(np.ascontiguousarray(array).data)
    return np.frombuffer(sha.digest(), np.uint8)
