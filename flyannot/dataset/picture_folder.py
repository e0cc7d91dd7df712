"""The pictures of a folder without a table, and a summary of what else lies there."""

import os
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice

from flyannot.base.errors import InputError, did_you_mean
from flyannot.base.text import pluralise
from flyannot.dataset.paths import list_other_tables
from flyannot.dataset.table_warnings import normalise_name
from flyannot.files.file_kind import is_picture_file, name_file_kind
from flyannot.files.tables import is_table_of, read_rows

# BDGP's N_s.bmp is the thumbnail of N.jpe; others are called N_thumb.png, N-thumbnail.jpg, thumb_N.png.
_THUMBNAIL = re.compile(
    r"(?P<before>thumb(?:nail)?[-_ .])?(?P<stem>.+?)(?P<after>[-_ .](?:s|small|tn|thumb(?:nail)?))?",
    re.I | re.DOTALL,
)
_OF_REPORT = re.compile(r".*\.html-files-[0-9a-f]+", re.DOTALL)  # the folder of pictures beside a report
_MOST_ROWS = 20  # of a table in which names of pictures are searched
_TAKE_THEM = " (to take pictures in folders: --recursive, or in a run --set select.recursive=true)"


@dataclass(frozen=True)
class FolderListing:
    """The pictures of a folder, and what was left out.

    names : list of paths of the pictures, relative to the folder, sorted
    left_out : text, such as "5 HEIC, 1 PDF, 2 folders"; "" if nothing was left out
    """

    names: list
    left_out: str


def list_pictures(folder, *, is_recursive=False, used=()):
    """List the pictures of a folder, and count by kind what else lies there.

    Hidden files are left out, and thumbnails beside their full picture. Links to folders are not entered.

    Parameters
    ----------
    folder : path
    is_recursive : bool, whether pictures in folders below are taken too
    used : set of resolved paths of files that are neither listed nor counted

    Returns
    -------
    listing : FolderListing

    Raises
    ------
    InputError
        If the folder cannot be read.
    """
    names = []
    others: Counter = Counter()  # kind -> number of files
    below = []  # paths of folders that are not entered

    def on_error(error):
        if os.path.samefile(error.filename, folder):
            what = f"cannot read the folder {folder}: {error.strerror}"
            raise InputError(what, fix="check its permissions")
        below.append(error.filename)

    for parent, folders, files in os.walk(folder, onerror=on_error):
        others["hidden file"] += sum(name[0] == "." for name in (*folders, *files))
        shown = sorted(name for name in folders if name[0] != ".")
        folders[:] = [name for name in shown if is_recursive and _is_entered(os.path.join(parent, name))]
        below += [os.path.join(parent, name) for name in shown if name not in folders]
        taken = _choose_pictures(parent, [name for name in files if name[0] != "."], others, used)
        inside = os.path.relpath(parent, folder).replace(os.sep, "/")
        names += [name if inside == "." else f"{inside}/{name}" for name in taken]
    counted = [_pluralise_kind(n, kind) for kind, n in sorted(others.items()) if n]
    if below:
        counted.append(pluralise(len(below), "folder") + ("" if is_recursive else _TAKE_THEM))
    return FolderListing(sorted(names), ", ".join(counted))


def _is_entered(folder):
    """Return True if pictures are taken from a folder below, whose path is given."""
    return not (os.path.islink(folder) or _OF_REPORT.fullmatch(os.path.basename(folder)))


def _choose_pictures(folder, names, others, used):
    """Return the names of the pictures among the files of a folder, and count all other files by kind.

    folder : path; names : list of the names of its files; others : Counter, kind -> number of files;
        used : as in `list_pictures`
    """
    is_picture = {name: is_picture_file(os.path.join(folder, name)) for name in names}
    stems = {os.path.splitext(name)[0].casefold() for name in names if is_picture[name]}
    chosen = []
    for name in names:
        path = os.path.join(folder, name)
        if path in used or (used and os.path.realpath(path) in used):
            continue
        before, stem, after = _THUMBNAIL.fullmatch(os.path.splitext(name)[0]).groups()
        if not is_picture[name]:
            others[name_file_kind(os.path.join(folder, name))] += 1
        elif (before or after) and stem.casefold() in stems:
            others[f"thumbnail ({(before or after).lower()})"] += 1
        else:
            chosen.append(name)
    return chosen


def find_unread_table(folder, names):
    """Return the Path of a table in a folder that seems to describe its pictures under another name, or None.

    Its name is nearly images.csv, or one of its first cells is the name of a picture. Tables that flyannot
    wrote are passed over.

    folder : Path; names : names of its pictures
    """
    known = {normalise_name(name) for name in names}
    for table in list_other_tables(folder):
        if table.with_suffix(".h5").exists() or is_table_of(table, ("fate",)):
            continue
        if did_you_mean("images", [table.stem]):
            return table
        with suppress(InputError):  # it is no table
            cells = chain.from_iterable(cells for _, cells, _ in islice(read_rows(table), _MOST_ROWS))
            files = {normalise_name(cell.replace("\\", "/").rpartition("/")[2]) for cell in cells}
            if known & files:
                return table
    return None


def _pluralise_kind(n, kind):
    """Format a number of files of one kind, such as "5 HEIC" or "2 hidden files"."""
    if kind.startswith("thumbnail"):
        return pluralise(n, f"{kind} beside its picture", f"{kind.replace(' ', 's ')} beside their pictures")
    return pluralise(n, kind, kind if kind == kind.upper() else None)
