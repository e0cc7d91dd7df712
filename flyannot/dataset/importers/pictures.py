"""The picture files of a folder, found by the names that published tables give them."""

import os
import re

from flyannot.errors import InputError

_NUMBERED = re.compile(r"(?:insitu)?(\d+)(?:_s)?\.(\w{3,4})", re.ASCII)
_SUFFIXES = {"bmp", "jpe", "jpg", "jpeg", "png", "tif", "tiff", "gif"}


class Pictures:
    """All files below a folder; nothing outside it is ever named.

    `N_s.bmp`, `insituN_s.bmp` and `insituN.jpe` are the same picture, N being BDGP's number of it.
    """

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        if not os.path.isdir(self.folder):
            raise InputError(f"no such folder: {folder}", fix="name the folder that holds the images")
        self._paths, self._by_name, self._by_number = set(), {}, {}
        for path in sorted(_files(self.folder)):
            self._add(path)

    def __len__(self):
        return len(self._paths)

    def _add(self, path):
        name = path.rpartition("/")[2]
        self._paths.add(path)
        self._by_name.setdefault(name, []).append(path)
        if (number := _number_of(name)) is not None:
            self._by_number.setdefault(number, []).append(path)

    def find(self, name):
        """The path, relative to the folder, of the picture a table calls `name`: (path, "") or ("", why).

        By its whole path, else by its last part, else by its number.
        """
        path = name.replace("\\", "/").removeprefix("./")
        if path in self._paths:
            return path, ""
        last = path.rpartition("/")[2]
        found = self._by_name.get(last) or _likest(last, self._by_number.get(_number_of(last), ()))
        if not found:
            return "", NOT_THERE
        return (found[0], "") if len(found) == 1 else ("", SEVERAL)


NOT_THERE = "image is not in the folder"
SEVERAL = "several images in the folder have this name"


def _number_of(name):
    match = _NUMBERED.fullmatch(name)
    return match[1].lstrip("0") if match and match[2].lower() in _SUFFIXES else None


def _likest(name, paths):
    """The paths that are most like a name: of its suffix, if there are any."""
    suffix = name.rpartition(".")[2].lower()
    return [path for path in paths if path.lower().endswith(f".{suffix}")] or list(paths)


def _files(folder):
    """The paths below a folder that a table can name, relative to it."""
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        below = os.path.relpath(parent, folder)
        for name in names:
            path = name if below == "." else f"{below}/{name}"
            if path.isprintable() and not name.startswith("."):
                yield path
