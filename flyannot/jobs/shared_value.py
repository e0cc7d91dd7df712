"""A value that all tasks of a step need, which other processes read once, from a file."""

import pickle
from functools import lru_cache


class SharedValue:
    """A large value for the function of `Executor.run_all`; pickled, it is only the path of its file.

    value : the value
    path : Path of the file that `write` makes; a process remembers its contents by this name
    """

    def __init__(self, value, path):
        self.value = value
        self._path = path

    def write(self):
        """Write the file, which is needed if other processes do some of the tasks."""
        with self._path.open("wb") as file:
            pickle.dump(self.value, file, pickle.HIGHEST_PROTOCOL)

    def __reduce__(self):
        return _read_shared_value, (self._path,)


@lru_cache(maxsize=1)
def _read_shared_value(path):
    """Read the SharedValue in the file at `path`, and keep it in memory for the next task."""
    with path.open("rb") as file:
        return SharedValue(pickle.load(file), path)
