"""Where the images of a table lie.

macOS stores names in another Unicode form than most tables; either form is found.
"""

import os
import unicodedata


class ImagePaths:
    """The path of every image that a table in `folder` names; one listing per folder, no look at files.

    A name is relative to the table, or to the folder `images` beside it when nothing of that name lies
    next to the table.  What is nowhere would lie next to the table.
    """

    def __init__(self, folder):
        self._folder, self._places = folder, {}

    def __call__(self, name):
        """The normal absolute path, as text."""
        head, slash, tail = name.rpartition("/")
        head += slash
        if head not in self._places:
            self._places[head] = [self._listed(head), self._listed(os.path.join("images", head))]
        for folder, names in self._places[head]:
            if stored := names.get(tail) or (not tail.isascii() and names.get(_composed(tail))):
                return folder + stored
        absent = self._places[head][0][0] + tail
        return os.path.normpath(absent) if tail in ("", ".", "..") else absent

    def _listed(self, below):
        """A folder, ending in a slash, and its names by themselves and composed; none if it is none."""
        folder = os.path.normpath(os.path.join(self._folder, below))
        try:
            names = os.listdir(folder)
        except OSError:
            names = []
        stored = {_composed(name): name for name in names} | {name: name for name in names}
        return os.path.join(folder, ""), stored


def _composed(name):
    return unicodedata.normalize("NFC", name)
