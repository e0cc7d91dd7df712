"""A cache of open files: each file is validated once, and a few of them are open at a time.

Validating a file takes longer the more images it has. If each task did so, the time for an image would grow
with their number. Opening a file takes longer than reading some rows of it, and every open file takes memory.
"""

import os
from collections import OrderedDict
from contextlib import contextmanager

from flyannot.files.hdf5.layout import OpenFile, open_hdf5
from flyannot.files.hdf5.reading import StoredFile, damaged_file_error, open_stored

_MOST_OPEN = 16
_validated: dict = {}  # (path, kind, digest) -> CachedFile
_open: OrderedDict = OrderedDict()  # CachedFile -> its OpenFile, the most recently read at the end


class CachedFile(StoredFile):
    """A validated file, which is opened again whenever it is read.

    identity : the status of the file before it was validated
    """

    def __init__(self, stored, identity):
        vars(self).update({name: value for name, value in vars(stored).items() if name != "_open"})
        self._identity = identity

    @property
    def _open(self):
        if self not in _open:
            _close_oldest(_MOST_OPEN - 1)
            _open[self] = OpenFile.of(self._open_again())
        _open.move_to_end(self)
        return _open[self]

    def _open_again(self):
        """Open the contents that were validated, by h5py; DataError if they were replaced."""
        identity = _identity(self.path)
        if identity != self._identity:  # then it must have the same digest
            with open_stored(self.path, self.kind, digest=self.digest):
                self._identity = identity
        try:
            return open_hdf5(self.path)
        except OSError as error:
            raise damaged_file_error(self.path, f"it cannot be opened again ({error})", self.kind) from error


def cached_file(path, kind, digest=None):
    """Return the `CachedFile` of a path; parameters and errors as `open_stored`.

    It stays validated from one task of a process to the next.
    """
    key = os.path.abspath(path), kind, digest
    if key not in _validated:
        identity = _identity(path)
        with open_stored(path, kind, digest=digest) as stored:
            _validated[key] = CachedFile(stored, identity)
    return _validated[key]


def close_cached_files():
    """Close and forget all cached files of this process."""
    _validated.clear()
    _close_oldest(0)


def _close_oldest(n_left):
    """Close the files that were read longest ago, until `n_left` are open."""
    while len(_open) > n_left:
        _open.popitem(last=False)[1].h5.close()


def _identity(path):
    """Return the place, size and times of a file; None if it does not exist."""
    if not os.path.exists(path):
        return None
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@contextmanager
def open_many(paths, kind, digests):
    """Validate many files, and yield each as a `CachedFile`; all are closed on leaving.

    Parameters
    ----------
    paths : list of Path
    kind : str, the kind that the files must have
    digests : dict, path -> digest that a file must still have; it may lack files that are new

    Raises
    ------
    InputError, DataError
        As `open_stored`; DataError also if a file is read that was replaced since.
    """
    try:
        yield [cached_file(path, kind, digests.get(path)) for path in paths]
    finally:
        close_cached_files()
