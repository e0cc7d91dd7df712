"""The one cache of open files: each is validated once, and a few of them are open at a time.

To validate a file takes longer the more images it holds: done for every task, the cost of an image would
grow with their number.  To open one takes longer than to read some rows of it, and each that is open takes
memory.
"""

import os
from collections import OrderedDict
from contextlib import contextmanager

from flyannot.files.hdf5.layout import OpenFile, open_hdf5
from flyannot.files.hdf5.reading import StoredFile, damaged_file, open_stored

_MOST_OPEN_BY_TASKS = 64
_MOST_OPEN_OF_INPUTS = 8


class FileCache:
    """Validated files by path, kind and digest, of which at most `most_open` are open."""

    def __init__(self, most_open):
        self._most_open, self._validated, self._open = most_open, {}, OrderedDict()

    def file(self, path, kind, digest=None):
        """The `CachedFile` of a path; parameters and errors as of `open_stored`."""
        key = os.path.abspath(path), kind, digest
        if key not in self._validated:
            identity = _identity(path) if os.path.exists(path) else None
            with open_stored(path, kind, digest=digest) as stored:
                self._validated[key] = CachedFile(stored, identity, self)
        return self._validated[key]

    def open_handle(self, file):
        """The `OpenFile` of a `CachedFile`."""
        if file not in self._open:
            while len(self._open) >= self._most_open:
                self._close_oldest()
            self._open[file] = OpenFile.of(file.open_again())
        self._open.move_to_end(file)
        return self._open[file]

    def close(self):
        """Close and forget all of them."""
        self._validated.clear()
        while self._open:
            self._close_oldest()

    def _close_oldest(self):
        self._open.popitem(last=False)[1].h5.close()


class CachedFile(StoredFile):
    """A file that was validated, and is opened again when it is read; `identity` is what the system
    said of it before that."""

    def __init__(self, stored, identity, cache):
        vars(self).update({name: value for name, value in vars(stored).items() if name != "_open"})
        self._identity, self._cache = identity, cache

    @property
    def _open(self):
        return self._cache.open_handle(self)

    def open_again(self):
        """An h5py file of the contents that were validated; DataError if they were replaced."""
        identity = _identity(self.path) if self.path.exists() else None
        if identity != self._identity:  # then it must hold the same all the same
            with open_stored(self.path, self.kind, digest=self.digest):
                self._identity = identity
        try:
            return open_hdf5(self.path)
        except OSError as error:
            raise damaged_file(self.path, f"it cannot be opened again ({error})", self.kind) from error


def _identity(path):
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


_of_tasks = FileCache(_MOST_OPEN_BY_TASKS)


def cached_file(path, kind, digest):
    """The `CachedFile` of a path that stays validated from one task of a process to the next."""
    return _of_tasks.file(path, kind, digest)


def close_cached_files():
    """Close and forget the files that tasks of this process have read."""
    _of_tasks.close()


@contextmanager
def open_many(paths, kind, digests):
    """Validate very many files, and yield each as a `CachedFile`; all are closed on leaving.

    `digests` maps a path to the digest that the file must still have; those of others are what is found.
    Errors are as of `open_stored`; DataError also when a file is read that was replaced since.
    """
    cache = FileCache(_MOST_OPEN_OF_INPUTS)
    try:
        yield [cache.file(path, kind, digests.get(path)) for path in paths]
    finally:
        cache.close()
