"""Files that stay open, so that each is validated once.

To validate a file takes longer the more images it holds: done for every task, the cost of an image would
grow with their number.
"""

import os
from collections import OrderedDict
from contextlib import ExitStack, contextmanager
from functools import lru_cache

import h5py

from flyannot.store.reading import Stored, damaged_file, open_stored

_MOST_OPEN = 64


class _OpenFile:
    """A file that is open as long as this lives."""

    def __init__(self, path, kind, digest, cache_bytes):
        self._opened = ExitStack()  # whose end closes it
        opened = open_stored(path, kind, digest=digest, cache_bytes=cache_bytes)
        self.stored = self._opened.enter_context(opened)
        self._datasets = {}

    def dataset(self, stage_range, name):
        """A dataset that stays open, for to open it takes longer than to read some rows."""
        if (stage_range, name) not in self._datasets:
            self._datasets[stage_range, name] = self.stored.group(stage_range)[name]
        return self._datasets[stage_range, name]


@lru_cache(maxsize=_MOST_OPEN)
def kept_open(path, kind, digest, *, cache_bytes=None):
    """`.stored`, an open file as `flyannot.store.reading.open_stored` yields it, and `.dataset`.

    It is looked over once, and stays open until other files take its place, or all are closed; a file that
    replaces it meanwhile is not seen.
    """
    return _OpenFile(path, kind, digest, cache_bytes)


def close_kept():
    """Close what this process holds open."""
    kept_open.cache_clear()


_MOST_IN_TURN = 8


@contextmanager
def open_in_turn(paths, kind, digests):
    """Look files over, and yield them as `Stored` that open again when they are read.

    Parameters
    ----------
    digests : dict, path -> digest that the file must still have; those of others are what is found

    Raises
    ------
    InputError, DataError
        As `open_stored`; the latter also when a file is read that was replaced since.
    """
    open_files = OrderedDict()
    try:
        yield [_looked_over(path, kind, digests.get(path), open_files) for path in paths]
    finally:
        for file in open_files.values():
            file.close()


def _looked_over(path, kind, digest, open_files):
    before = _identity(path) if os.path.exists(path) else None
    with open_stored(path, kind, digest=digest) as stored:
        return _InTurn(stored, before, open_files)


class _InTurn(Stored):
    """A file that was looked over; `identity` is what the system said of it before that."""

    def __init__(self, stored, identity, open_files: OrderedDict):
        vars(self).update({name: value for name, value in vars(stored).items() if name != "_file"})
        self._identity, self._open_files = identity, open_files

    @property
    def _file(self):
        if self.path in self._open_files:
            self._open_files.move_to_end(self.path)
            return self._open_files[self.path]
        while len(self._open_files) >= _MOST_IN_TURN:
            self._open_files.popitem(last=False)[1].close()
        found = _identity(self.path) if self.path.exists() else None
        if found != self._identity:  # then it must hold the same all the same
            with open_stored(self.path, self.kind, digest=self.digest):
                self._identity = found
        try:
            file = h5py.File(self.path, "r", locking=False)
        except OSError as error:
            raise damaged_file(self.path, f"it cannot be opened again ({error})", self.kind) from error
        self._open_files[self.path] = file
        return file


def _identity(path):
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
