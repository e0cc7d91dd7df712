"""The pictures of images in a file, from the files of pictures beside it: no picture file is opened."""

from contextlib import suppress

from flyannot.base.errors import FlyannotError
from flyannot.files.hdf5.pictures import pictures_path
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.images.shown import read_shown


class StoredPictures:
    """The pictures in open files, by stage range, name and digest of the picture file that was read.

    Parameters
    ----------
    files : list of StoredFile of kind "pictures"; of equal pictures the first file's counts
    """

    def __init__(self, files=()):
        self.files = files
        self._places: dict = {}
        for stored in files:
            for s in stored.stage_ranges:
                names = zip(stored.read_array(s, "image"), stored.read_array(s, "picture_digest"))
                for row, name in enumerate(names):
                    self._places.setdefault((s, *name), (stored, row))

    def find(self, stage_range, columns, i):
        """Return the ShownPicture of the i-th image in a dict of columns, or None without a file of it."""
        place = self._find_place(stage_range, columns, i)
        return None if place is None else read_shown(place[0], stage_range, place[1])

    def has(self, stage_range, columns, i):
        """Return whether a file has the picture of the i-th image in a dict of columns."""
        return self._find_place(stage_range, columns, i) is not None

    def _find_place(self, stage_range, columns, i):
        """Return the StoredFile that has the picture of an image, and its row there; or None."""
        return self._places.get((stage_range, columns["image"][i], columns["picture_digest"][i]))


def open_pictures(*files):
    """Open the files of pictures that belong to some open files, and return StoredPictures.

    They are the files named after these, then all other files of pictures in their folders.

    files : StoredFiles
    """
    paths = dict.fromkeys(pictures_path(stored.path) for stored in files)
    for stored in files:
        paths |= dict.fromkeys(sorted(stored.path.parent.glob("*-pictures.h5")))
    opened = []
    for path in paths:
        with suppress(FlyannotError):  # a damaged file is named by `flyannot verify`
            opened.append(open_stored_file(path, "pictures"))
    return StoredPictures(opened)
