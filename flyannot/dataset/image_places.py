"""Where the pictures of a run's files lie.  A file names its images, and no folder: folders move.

They lie in the data set that is named or recorded; where none is, they are looked for near the files.
"""

import os
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from flyannot.dataset.folder import read_images
from flyannot.dataset.table_paths import IMAGES, has_table
from flyannot.descriptors.images.address import address_in_file, file_in_table, photograph_of_embryo
from flyannot.errors import FlyannotError


@dataclass(frozen=True)
class Pictures:
    """The pictures of one file.

    paths : dict from the name of an image to its path, of those that are there
    n_wanted : how many there should be; place : Path of the folder (or table) that has them, or None
    """

    paths: dict = field(default_factory=dict)
    n_wanted: int = 0
    place: Path | None = None

    @property
    def n_missing(self):
        return self.n_wanted - len(self.paths)


def pictures_of(stored):
    """What to look for: (name, gene, stage range) of all images of an open file."""
    if stored is None:
        return set()
    return {
        (name, gene, s)
        for s in stored.stage_ranges
        for name, gene in zip(*(stored.array(s, column) for column in ("image", "gene")))
    }


def find_pictures(wanted, folder, named=None):
    """The `Pictures` of a file.

    Parameters
    ----------
    wanted : set, as `pictures_of` returns
    folder : Path of the folder that the file lies in
    named : Path of a data set, or of a folder of pictures, that has them; None to look near the file, where a
        table must say of an image what the file says

    Raises
    ------
    InputError
        If a table that is named cannot be read.
    """
    if not wanted:
        return Pictures(place=named)
    if named is not None:
        return Pictures(_within(named, wanted, same_rows=False), len(wanted), named)
    best = Pictures(n_wanted=len(wanted))
    for place in likely_places(folder):
        try:
            found = _within(place, wanted, same_rows=True)
        except FlyannotError:
            continue  # it is no table of ours
        if len(found) > len(best.paths):
            best = Pictures(found, len(wanted), place)
    return best


def likely_places(folder) -> Iterable[Path]:
    """The folder of a run, the folders in it, the one above, and the folders in that."""
    for near in (folder, folder.absolute().parent):
        yield near
        with suppress(OSError):  # it may not be listed
            yield from sorted(one for one in near.iterdir() if one.is_dir() and one.name[0] != ".")


def _within(place, wanted, *, same_rows):
    """Name -> path of the wanted images that a place has: by its table, or by the names of its files."""
    if place.is_dir() and not has_table(place, IMAGES):
        return _in_folder(place, {name for name, *_ in wanted})
    names = defaultdict(list)  # of an image of the table: its own, or those of the embryos on it
    for name, *_ in wanted:
        names[photograph_of_embryo(name)].append(name)
    found = {}
    for image in read_images(place):
        for name in names.get(image.name, ()) if image.path.is_file() else ():
            if not same_rows or (name, image.gene, image.stage_range) in wanted:
                found[name] = Path(address_in_file(image.file, name))
    return found


def _in_folder(folder, names):
    found = {}
    for place in (folder / "images", folder):
        try:
            present = set(os.listdir(place))
        except OSError:
            continue
        for name in names:
            file = name if name in present else file_in_table(name)
            if (file in present or "/" in file) and (place / file).is_file():
                found[name] = Path(address_in_file(str(place / file), name))
    return found
