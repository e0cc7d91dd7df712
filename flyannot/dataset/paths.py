"""Where the tables of a data set lie and the images that they name, and what was meant where nothing does."""

import os
import unicodedata
from difflib import get_close_matches
from pathlib import Path

from flyannot.base.errors import InputError, did_you_mean
from flyannot.dataset.table_warnings import warn_about
from flyannot.images.address import file_of_name

IMAGES, ANNOTATIONS = "images.csv", "annotations.csv"
TABLE_SUFFIXES = (".csv", ".tsv", ".xlsx")
_LIKE_TABLES = (*TABLE_SUFFIXES, ".txt", ".xls", ".ods")
_MOST_FOLDERS = 1000  # below a folder, that are looked into
_MOST_SOUGHT = 100  # missing images for which a suggestion is sought


def relative_path(path, folder):
    """A path as it is written in a folder; links on the way to either are followed, for .. leads up from
    where a folder lies."""
    head, name = os.path.split(path)
    if name in ("", ".", ".."):
        head, name = path, ""
    return os.path.relpath(os.path.join(os.path.realpath(head), name), os.path.realpath(folder))


def path_from(folder, path):
    """The path that is written in a folder as `path`, without .. where that leads to the same."""
    written = Path(folder) / path
    plain = Path(os.path.normpath(written))
    return plain if os.path.realpath(plain) == os.path.realpath(written) else written


def table_of_data_set(folder_or_table, name):
    """The path of a table: that of a file as it stands, or in a folder the table `name`, perhaps as .xlsx.
    InputError if a folder lacks it, and the folder around it, or the only one within, has it."""
    path = Path(folder_or_table)
    if not path.is_dir():
        return path
    if table := _table_in(path, name):
        return table
    if place := find_table_folder(path, name):
        raise InputError(f"{path} has no {name}, but {place} has", fix=f"name the folder {place}")
    for other in sorted(e.name for e in _entries(path) if e.suffix.lower() in _LIKE_TABLES and e.is_file()):
        if other not in (IMAGES, ANNOTATIONS) and did_you_mean(_stem(name), [_stem(other)]):
            raise InputError(
                f'no such table: {path / name}. Did you mean "{other}"?', fix=f"rename the table to {name}"
            )
    return path / name


def annotations_table(path):
    """The table of annotations that a path names: itself, or in a data set folder its `annotations.csv`."""
    return table_of_data_set(path, ANNOTATIONS)


def has_table(folder, name):
    """Whether a folder holds the table."""
    return _table_in(Path(folder), name) is not None


def find_table_folder(folder, name):
    """The folder around this one, or the only one within, that has the table; else None."""
    path = Path(folder)
    around = path.absolute().parent
    if _table_in(around, name):
        return around
    folders = [entry for entry in _entries(path) if entry.is_dir()][:_MOST_FOLDERS]
    within = [below for below in folders if _table_in(below, name)]
    return within[0] if len(within) == 1 else None


def _entries(folder):
    try:
        return list(folder.iterdir())
    except OSError:  # whoever reads the table says so
        return []


def _table_in(folder, name):
    for path in (folder / name, (folder / name).with_suffix(".xlsx")):
        if os.path.isfile(path):  # where is_file may not look, it raises
            return path
    return None


class ImagePaths:
    """The path of every image that a table in `folder` names; one listing per folder, no look at files.

    A name is relative to the table, or to the folder `images` beside it when nothing of that name lies
    next to the table.  What is nowhere would lie next to the table.  Backslashes separate folders where a
    file is found so.  macOS stores names in another Unicode form than most tables; either form is found.
    """

    def __init__(self, folder):
        self._folder, self._places, self._missing, self._respelt = folder, {}, [], {}

    def path_of(self, name, line):
        """The normal absolute path, as text."""
        texts = dict.fromkeys((name, file_of_name(name)))  # a file may have a number sign in its name
        for text in texts:
            if path := self._find(text) or ("\\" in text and self._find(text.replace("\\", "/"))):
                return path
        for text in texts:
            if path := self._find_ignoring_capitals(text.replace("\\", "/")):
                self._respelt[name] = line, path
                return path
        (absent, _), _ = self._listings(name)
        absent += name.rpartition("/")[2]
        self._missing.append((name, line, absent))
        return os.path.normpath(absent) if name.rpartition("/")[2] in ("", ".", "..") else absent

    def warn(self, table):
        """Name the images whose files have other capitals; those that are missing, the places where they were
        looked for, and what may be meant."""
        respelt = self._respelt.items()
        taken = [f'"{name}" (line {i}: "{os.path.basename(path)}")' for name, (i, path) in respelt]
        warn_about(
            table, taken, "image was taken with other capitals", "images were taken with other capitals"
        )
        missing = self._missing
        if not missing:
            return
        shown = [
            f'"{name}" (line {line}{self._suggest_name(name)})' for name, line, _ in missing[:_MOST_SOUGHT]
        ]
        shown += [f'"{name}" (line {line})' for name, line, _ in missing[_MOST_SOUGHT:]]
        places = dict.fromkeys(os.path.normpath(place) for place, _ in self._listings(missing[0][0]))
        where = f"; looked for in {' and '.join(places)}"
        warn_about(table, shown, "image is missing", "images are missing", where)

    def _find(self, name):
        tail = name.rpartition("/")[2]
        for folder, names in self._listings(name):
            if stored := names.get(tail) or (not tail.isascii() and names.get(_normalise(tail))):
                return folder + stored
        return None

    def _find_ignoring_capitals(self, name):
        """The only file of that name but for capitals."""
        tail = _normalise(name.rpartition("/")[2]).casefold()
        alike = {
            folder + stored
            for folder, names in self._listings(name)
            for stored in names.values()
            if _normalise(stored).casefold() == tail
        }
        return alike.pop() if len(alike) == 1 else None

    def _listings(self, name):
        """The two places of a name: the folder, ending in a slash, and the names in it."""
        head = name[: name.rfind("/") + 1]
        if head not in self._places:
            self._places[head] = [self._list_folder(head), self._list_folder(os.path.join("images", head))]
        return self._places[head]

    def _list_folder(self, below):
        """A folder, ending in a slash, and its names by themselves and composed; none if it is none."""
        folder = str(path_from(self._folder, below))
        try:
            names = os.listdir(folder)
        except OSError:
            names = []
        stored = {_normalise(name): name for name in names} | {name: name for name in names}
        return os.path.join(folder, ""), stored

    def _suggest_name(self, name):
        """'; did you mean …?' for a file of that name but for capitals, suffix or folder, or one alike."""
        head, _, tail = name.replace("\\", "/").rpartition("/")
        head += "/" if head else ""
        near = [stored for _, names in self._listings(head) for stored in names]
        alike = [stored for stored in near if _stem(stored) == _stem(tail)]
        alike = alike or get_close_matches(tail, near, n=1)
        if alike:
            return f'; did you mean "{head}{alike[0]}"?'
        return f'; did you mean "{tail}"?' if head and self._find(tail) else ""


def _stem(name):
    return os.path.splitext(name)[0].casefold()


def _normalise(name):
    return unicodedata.normalize("NFC", name)
