"""A cache of HDF5 files that were checked: each file is checked once per process.

Checking a file takes longer the more images it has, so a task must not check a file for each image.
"""

import copyreg
import os
from contextlib import contextmanager

from flyannot.files.hdf5.reading import StoredFile, open_stored_file

_checked: dict = {}  # (path, kind, digest) -> StoredFile


def open_cached_file(path, kind, digest=None):
    """Return the `StoredFile` for a path, checking the file if this process has not done so before.

    Parameters
    ----------
    path : Path of the file
    kind : str, the kind that the file must have, such as "features"
    digest : str, the digest that the file must have; None for any

    Raises
    ------
    InputError, DataError
        As `open_stored_file`.
    """
    key = os.path.abspath(path), kind, digest
    if key not in _checked:
        with open_stored_file(path, kind, digest=digest) as stored:
            _checked[key] = stored
    return _checked[key]


def _check_in_another_process(stored):
    """Return how another process checks a StoredFile by itself, for pickle."""
    return open_cached_file, (stored.path, stored.kind, stored.digest)


copyreg.pickle(StoredFile, _check_in_another_process)


def clear_file_cache():
    """Forget all files that this process has checked."""
    _checked.clear()


@contextmanager
def open_many(paths, kind, digests):
    """Check several files, and yield a list of `StoredFile` for a `with` block.

    At the end of the block all files in the cache are forgotten, including those of other callers.

    Parameters
    ----------
    paths : list of Path
    kind : str, the kind that the files must have, such as "features"
    digests : dict, path -> digest that the file must have; files that are not in it may have any

    Raises
    ------
    InputError, DataError
        As `open_stored_file`. Also DataError if a file is replaced before it is read.
    """
    try:
        yield [open_cached_file(path, kind, digests.get(path)) for path in paths]
    finally:
        clear_file_cache()
