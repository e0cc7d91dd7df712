"""Paths of a data set's tables and images, with suggestions for paths that do not exist."""

import logging
import os
import unicodedata
from collections import defaultdict
from difflib import get_close_matches
from pathlib import Path
from shlex import quote

from flyannot.base.errors import InputError, did_you_mean
from flyannot.dataset.table_warnings import MOST_LISTED, warn_about
from flyannot.files.file_kind import PICTURE_SUFFIXES
from flyannot.images.address import file_name_part

log = logging.getLogger("flyannot")
IMAGES = "images.csv"
ANNOTATIONS = "annotations.csv"
TABLE_SUFFIXES = (".csv", ".tsv", ".xlsx")  # the first that a folder has is read
_SPREADSHEETS = (".xls", ".ods", ".fods", ".numbers")  # which a spreadsheet program can save as .xlsx
_LIKE_TABLES = (*TABLE_SUFFIXES, ".txt", ".gz", *_SPREADSHEETS)
_MOST_FOLDERS = 1000  # subfolders that are searched
_MOST_SOUGHT = 100  # missing images that get a suggestion


def relative_path(path, folder):
    """Return a path as it is written in a table or configuration in `folder`: relative, with `..` if needed.

    Symbolic links are resolved first, since `..` leads up from the folder to which a link points.
    """
    head, name = os.path.split(path)
    if name in ("", ".", ".."):
        head = path
        name = ""
    return os.path.relpath(os.path.join(os.path.realpath(head), name), os.path.realpath(folder))


def resolve_path(folder, path):
    """Resolve a path that is written in a file, relative to the folder of that file.

    The result has no `..` unless that would lead to another place.

    folder : Path of the folder of the file; path : the path as it is written
    """
    written = Path(folder) / path
    plain = Path(os.path.normpath(written))
    return plain if os.path.realpath(plain) == os.path.realpath(written) else written


def real_name(path):
    """Return the name of a file or folder without links, whatever the working folder is."""
    return os.path.basename(os.path.realpath(path))


def find_table(folder_or_table, name):
    """Return the path of a table: a given file itself, or the table `name` of a given folder.

    The table of a folder may have any of `TABLE_SUFFIXES`.

    Raises
    ------
    InputError
        If the folder lacks the table, but its parent or its only subfolder has it.
    """
    path = Path(folder_or_table)
    if not path.is_dir():
        return path
    if table := _table_in(path, name):
        return table
    if place := find_table_folder(path, name):
        raise InputError(f"{path} has no {name}, but {place} has", fix=f"give the folder {place}")
    for other in list_other_tables(path):
        if did_you_mean(_stem(name), [_stem(other.name)]):
            what = f'no such table: {path / name}. Did you mean "{other.name}"?'
            raise InputError(what, fix=suggest_rename(other, name))
    return path / name


def list_other_tables(folder):
    """Return the sorted Paths of the tables in a folder that are not called images.csv or annotations.csv."""
    tables = (e for e in _entries(folder) if e.suffix.lower() in _LIKE_TABLES and e.is_file())
    return sorted(table for table in tables if table.name not in (IMAGES, ANNOTATIONS))


def suggest_rename(table, name):
    """Return how a table, given as Path, gets the name under which it is read: by a command if it can."""
    if table.suffix.lower() in _SPREADSHEETS:
        return f"open it in a spreadsheet program, and save it as {table.with_name(name).stem}.xlsx"
    suffix = table.suffix.lower() if table.suffix.lower() in TABLE_SUFFIXES else ".csv"
    return f"mv {quote(str(table))} {quote(str(table.with_name(name).with_suffix(suffix)))}"


def note_other_tables(folder, table):
    """Log a note if a folder has the table that is read in another format, too.

    folder : Path of the folder, or of a table that was named itself; table : Path of the table
    """
    tables = _tables_in(folder, table.name) if folder.is_dir() else ()
    if others := [path.name for path in tables if path != table]:
        log.info("note: %s is read, and %s beside it is not", table.name, " and ".join(others))


def is_data_set_table(path):
    """Return True if a file has the name of a table of a data set, in any format."""
    return path.with_suffix(".csv").name in (IMAGES, ANNOTATIONS) and path.suffix in TABLE_SUFFIXES


def has_table(folder, name):
    """Return True if a folder holds the table."""
    return _table_in(Path(folder), name) is not None


def find_table_folder(folder, name):
    """Return the parent of a folder, or its only subfolder, if that has the table; otherwise None."""
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
    except OSError:  # reading the table raises an error that says so
        return []


def _table_in(folder, name):
    return next(_tables_in(folder, name), None)


def _tables_in(folder, name):
    """Yield the paths of a table in a folder, in all formats that it has."""
    paths = ((folder / name).with_suffix(suffix) for suffix in TABLE_SUFFIXES)
    return filter(os.path.isfile, paths)  # Path.is_file raises if it may not look


class ImagePaths:
    """A finder of the images that a table in `folder` names, which lists each folder once.

    A name is relative to the table, or to the folder `images` beside it if nothing of that name is next to
    the table.  A missing image gets a path next to the table.  Backslashes separate folders if a file is
    found in this way.  macOS stores names in another Unicode form than most tables; either form is found.
    """

    def __init__(self, folder):
        self._folder = folder
        self._places = {}
        self._missing = []
        self._respelt = {}
        self._similar = {}  # folder in names -> paths by name in small letters, and by stem

    def find_image(self, name, line):
        """Return the absolute path of an image as text, without `..`.

        name : as in the table; line : its line, for warnings
        """
        texts = dict.fromkeys((name, file_name_part(name)))  # the name of a file may contain a number sign
        for text in texts:
            if path := self._find_exact(text) or ("\\" in text and self._find_exact(text.replace("\\", "/"))):
                return path
        for text in texts:
            if path := self._find_similar(text.replace("\\", "/")):
                self._respelt[name] = line, path
                return path
        (absent, _), _ = self._listings(name)
        absent += name.rpartition("/")[2]
        self._missing.append((name, line))
        return os.path.normpath(absent) if name.rpartition("/")[2] in ("", ".", "..") else absent

    def warn(self, table):
        """Log warnings: which images were found by a similar name, and which are missing, with suggestions.

        table : Path, for the messages
        """
        respelt = self._respelt.items()
        taken = [f'"{name}" (line {i}: "{os.path.basename(path)}")' for name, (i, path) in respelt]
        warn_about(table, taken, "image was taken by a similar name", "images were taken by a similar name")
        if not self._missing:
            return
        shown = []
        for number, (name, line) in enumerate(self._missing[:MOST_LISTED]):
            suggestion = self._suggest_name(name) if number < _MOST_SOUGHT else ""
            shown.append(f'"{name}" (line {line}{suggestion})')
        places = dict.fromkeys(os.path.normpath(place) for place, _ in self._listings(self._missing[0][0]))
        where = f"; looked for in {' and '.join(places)}"
        warn_about(table, shown, "image is missing", "images are missing", where, n=len(self._missing))

    def _find_exact(self, name):
        tail = name.rpartition("/")[2]
        for folder, names in self._listings(name):
            if stored := names.get(tail) or (not tail.isascii() and names.get(_normalise(tail))):
                return folder + stored
        return None

    def _find_similar(self, name):
        """Return the path of the only file of that name in other capitals, or with a suffix of pictures.

        Returns None if there is no such file, or there are several.
        """
        head, _, tail = name.rpartition("/")
        if head not in self._similar:
            self._similar[head] = defaultdict(set), defaultdict(set)
            by_name, by_stem = self._similar[head]
            for folder, names in self._listings(name):
                for stored in names.values():
                    plain = _normalise(stored).casefold()
                    by_name[plain].add(folder + stored)
                    stem, suffix = os.path.splitext(plain)
                    if suffix in PICTURE_SUFFIXES:
                        by_stem[stem].add(folder + stored)
        tail = _normalise(tail).casefold()
        alike = next((paths[tail] for paths in self._similar[head] if tail in paths), ())
        return next(iter(alike)) if len(alike) == 1 else None

    def _listings(self, name):
        """Return the two folders where a name is searched, each ending in a slash, with the names in them."""
        head = name[: name.rfind("/") + 1]
        if head not in self._places:
            self._places[head] = [self._list_folder(head), self._list_folder(os.path.join("images", head))]
        return self._places[head]

    def _list_folder(self, below):
        """Return the path of a folder, ending in a slash, and its names as stored and in composed Unicode.

        below : path relative to the folder of the table
        """
        folder = _stored_path(str(resolve_path(self._folder, below)))
        try:
            names = os.listdir(folder)
        except OSError:
            names = []
        stored = {_normalise(name): name for name in names} | {name: name for name in names}
        return os.path.join(folder, ""), stored

    def _suggest_name(self, name):
        """Return '; did you mean …?' with a similar file, if there is one."""
        head, _, tail = name.replace("\\", "/").rpartition("/")
        head += "/" if head else ""
        near = sorted(stored for _, names in self._listings(head) for stored in names)
        alike = [stored for stored in near if _stem(stored) == _stem(tail)]
        alike = alike or get_close_matches(tail, near, n=1)
        if alike:
            return f'; did you mean "{head}{alike[0]}"?'
        return f'; did you mean "{tail}"?' if head and self._find_exact(tail) else ""


def _stored_path(folder):
    """Return the path of a folder as it is stored, if only the Unicode form of its names differs."""
    if folder.isascii() or os.path.isdir(folder):
        return folder
    head, tail = os.path.split(folder)
    head = _stored_path(head)
    stored = {_normalise(path.name): path.name for path in _entries(Path(head))}
    return os.path.join(head, stored.get(_normalise(tail), tail))


def _stem(name):
    return os.path.splitext(name)[0].casefold()


def _normalise(name):
    return unicodedata.normalize("NFC", name)
