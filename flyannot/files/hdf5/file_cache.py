"""A cache of open HDF5 files: each file is validated once per process, and at most 16 are open at a time.

Validating a file takes longer the more images it has, so a task must not validate a file for each image.
Opening a file takes longer than reading some rows of it. Every open file takes memory.
"""

import copyreg
import os
from collections import OrderedDict
from contextlib import contextmanager

from flyannot.files.hdf5.layout import OpenFile, open_hdf5
from flyannot.files.hdf5.reading import StoredFile, damaged_file_error, open_stored_file

_MAX_OPEN_FILES = 16  # in one process
_validated: dict = {}  # (path, kind, digest) -> CachedFile
_open: OrderedDict = OrderedDict()  # CachedFile -> its OpenFile, the most recently read at the end


class CachedFile(StoredFile):
    """A `StoredFile` that was validated once, and is opened when it is read if it is not open.

    If the file on disk was replaced since, reading raises DataError, unless the new file has the same digest.

    Parameters
    ----------
    stored : StoredFile, open and validated
    identity : tuple, device, inode, size and times of the file before it was validated
    """

    def __init__(self, stored, identity):
        vars(self).update({name: value for name, value in vars(stored).items() if name != "_open"})
        self._file_identity = identity

    @property
    def _open(self):
        """The `OpenFile` to read from; opened if needed, after which at most 16 cached files are open."""
        if self not in _open:
            _close_oldest(_MAX_OPEN_FILES - 1)
            _open[self] = OpenFile.from_h5py(self._open_again())
        _open.move_to_end(self)
        return _open[self]

    def _open_again(self):
        """Open the file again with h5py, and return it.

        If its inode, size or times have changed, it is validated again. Raises DataError if its contents have
        changed.
        """
        identity = _file_identity(self.path)
        if identity != self._file_identity:  # then it must have the same digest
            with open_stored_file(self.path, self.kind, digest=self.digest):
                self._file_identity = identity
        try:
            return open_hdf5(self.path)
        except OSError as error:
            raise damaged_file_error(self.path, f"it cannot be opened again ({error})", self.kind) from error


def open_cached_file(path, kind, digest=None):
    """Return the `CachedFile` for a path, validating the file if this process has not done so before.

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
    if key not in _validated:
        identity = _file_identity(path)
        with open_stored_file(path, kind, digest=digest) as stored:
            _validated[key] = CachedFile(stored, identity)
    return _validated[key]


def _reopen_in_another_process(stored):
    """Return how another process opens a StoredFile by itself, for pickle."""
    return open_cached_file, (stored.path, stored.kind, stored.digest)


copyreg.pickle(StoredFile, _reopen_in_another_process)
copyreg.pickle(CachedFile, _reopen_in_another_process)


def close_cached_files():
    """Close all cached files of this process and empty the cache."""
    _validated.clear()
    _close_oldest(0)


def _close_oldest(n_left):
    """Close the cached files that were read least recently, until at most `n_left` are open."""
    while len(_open) > n_left:
        _open.popitem(last=False)[1].h5.close()


def _file_identity(path):
    """Return device, inode, size and times of a file as a tuple; None if the file does not exist.

    The tuple differs after the file was replaced or changed.
    """
    if not os.path.exists(path):
        return None
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@contextmanager
def open_many(paths, kind, digests):
    """Validate several files, and yield a list of `CachedFile` for a `with` block.

    At the end of the block all cached files of this process are closed, including those of other callers.

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
        close_cached_files()
