"""The file of every image that a table names."""

import logging
import os
import unicodedata
from difflib import get_close_matches

from flyannot.dataset.table_warnings import named
from flyannot.descriptors.images.address import file_in_table
from flyannot.runtime.wording import pluralise

log = logging.getLogger("flyannot")

_MOST_SOUGHT = 3  # missing images for which a suggestion is sought


class ImagePaths:
    """The path of every image that a table in `folder` names; one listing per folder, no look at files.

    A name is relative to the table, or to the folder `images` beside it when nothing of that name lies
    next to the table.  What is nowhere would lie next to the table.  Backslashes separate folders where a
    file is found so.  macOS stores names in another Unicode form than most tables; either form is found.
    """

    def __init__(self, folder):
        self._folder, self._places, self._missing = folder, {}, []

    def __call__(self, name, line=1):
        """The normal absolute path, as text."""
        for one in dict.fromkeys((name, file_in_table(name))):  # a file may have a number sign in its name
            if found := self._find(one) or ("\\" in one and self._find(one.replace("\\", "/"))):
                return found
        (absent, _), *_ = self._listings(name)
        absent += name.rpartition("/")[2]
        self._missing.append((name, line, absent))
        return os.path.normpath(absent) if name.rpartition("/")[2] in ("", ".", "..") else absent

    def warn(self, table):
        """Name the images that are missing, the places where they were looked for, and what may be meant."""
        missing = self._missing
        if any(os.path.exists(file) for _, _, file in missing[:_MOST_SOUGHT]):  # capitals do not count here
            missing = [one for one in missing if not os.path.exists(one[2])]
        if n := len(missing):
            shown = [f'"{name}" (line {line}{self._meant(name)})' for name, line, _ in missing[:_MOST_SOUGHT]]
            shown += [""] * (n - len(shown))
            places = dict.fromkeys(os.path.normpath(place) for place, _ in self._listings(missing[0][0]))
            log.warning(
                "warning: %s: %s: %s; looked for in %s", table.name,
                pluralise(n, "image is missing", "images are missing"),
                named(shown), " and ".join(places),
            )  # fmt: skip

    def _find(self, name):
        tail = name.rpartition("/")[2]
        for folder, names in self._listings(name):
            if stored := names.get(tail) or (not tail.isascii() and names.get(_composed(tail))):
                return folder + stored
        return None

    def _listings(self, name):
        """The two places of a name: the folder, ending in a slash, and the names in it."""
        head = name[: name.rfind("/") + 1]
        if head not in self._places:
            self._places[head] = [self._listed(head), self._listed(os.path.join("images", head))]
        return self._places[head]

    def _listed(self, below):
        """A folder, ending in a slash, and its names by themselves and composed; none if it is none."""
        folder = os.path.normpath(os.path.join(self._folder, below))
        try:
            names = os.listdir(folder)
        except OSError:
            names = []
        stored = {_composed(name): name for name in names} | {name: name for name in names}
        return os.path.join(folder, ""), stored

    def _meant(self, name):
        """'; did you mean …?' for a file of that name but for capitals, suffix or folder, or one alike."""
        head, _, tail = name.replace("\\", "/").rpartition("/")
        near = [one for _, names in self._listings(f"{head}/" if head else "") for one in names]
        alike = [one for one in near if _stem(one) == _stem(tail)] or get_close_matches(tail, near, n=1)
        if alike:
            return f'; did you mean "{f"{head}/" if head else ""}{alike[0]}"?'
        return f'; did you mean "{tail}"?' if head and self._find(tail) else ""


def _stem(name):
    return os.path.splitext(name)[0].casefold()


def _composed(name):
    return unicodedata.normalize("NFC", name)
