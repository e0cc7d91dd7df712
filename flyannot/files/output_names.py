"""File names of outputs that are named after images, genes or terms."""

import unicodedata

_MOST_BYTES = 200  # of a name without its suffix; file systems allow 255


class FileNames:
    """A chooser of file names of one folder, no two of which are one file on any disk.

    Some disks take names for one file that differ in capitals only, or in the Unicode form of a letter.
    """

    def __init__(self):
        self._taken = set()

    def choose(self, name, suffix):
        """Return a file name for an output, with a number, such as "-2", if another output has the name.

        name : str, in which slashes become underscores; suffix : str, such as ".png"
        """
        plain = name.replace("/", "_").encode()[:_MOST_BYTES].decode(errors="ignore")
        number = 1
        chosen = f"{plain}{suffix}"
        while (folded := unicodedata.normalize("NFKC", chosen).casefold()) in self._taken:
            number += 1
            chosen = f"{plain}-{number}{suffix}"
        self._taken.add(folded)
        return chosen
