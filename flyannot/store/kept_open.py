"""Files that stay open from one task of a process to the next, so that each is looked over once.

To look a file over takes longer the more images it holds: done for every task, the cost of an image would
grow with their number.
"""

from contextlib import ExitStack
from functools import lru_cache

from flyannot.store.reading import open_stored

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
