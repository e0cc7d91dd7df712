"""Import of tables that name images and terms, with a folder of images, into a data set folder."""

import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import ClassVar

from flyannot.base.errors import InputError
from flyannot.base.options import FlagType, Options, PathType, option
from flyannot.base.text import clean_name, is_unknown, pluralise
from flyannot.base.views import parse_view, suggest_view
from flyannot.dataset.importers.import_log import ImportLog, write_imported_tables
from flyannot.dataset.importers.resolve import GeneTable, SourceRow, read_genes, resolve_tables
from flyannot.dataset.importers.source_tables import read_source_rows
from flyannot.dataset.paths import resolve_path
from flyannot.files.atomic_file import atomic_folder

ROWS = {"images": "image rows", "terms": "annotation rows"}  # names of the rows in the log
NOT_THERE = "image is not in the folder"
AMBIGUOUS_NAME = "several images in the folder have this name"
_MOST_SHOWN = 3  # rejected images in the error that no image was found
_NUMBERED = re.compile(r"(?:insitu)?(\d+)(?:_s)?\.(\w{3,4})", re.ASCII)
_SUFFIXES = {"bmp", "jpe", "jpg", "jpeg", "png", "tif", "tiff", "gif"}
# A match begins only where a word begins; otherwise a cell of 100,000 letters takes half a minute.
_NAME = r"(?<![^\s'\"(),;])[^\s'\"(),;]+"
_PICTURE_NAME = re.compile(rf"{_NAME}\.(?:{'|'.join(sorted(_SUFFIXES))})\b")


@dataclass(frozen=True, kw_only=True)
class TableOptions(Options):
    """Options of importers of tables."""

    table: ClassVar[str] = "import"

    genes: Path | None = option(
        None, PathType(), "A table of gene names: columns fbgn, gene, perhaps cg and synonyms (a|b)."
    )
    copy: bool = option(False, FlagType(), "Copy the images instead of linking to their folder.")


@dataclass(frozen=True)
class TableFormat:
    """The format of the two tables of a publisher.

    kind_of : function of the cells of the first row of a table
        It returns "images", "terms" (annotations), or None for another table.
    parse : function of (first row, cells of a row)
        It returns a dict of the fields of a `SourceRow`, without table and line. It raises ValueError, whose
        text says why the row cannot be used.
    has_header : True if the first row names the columns
    columns : description of the tables, for an error message
    tables_in : function of the folder of images that returns the list of tables in it
    """

    kind_of: Callable
    parse: Callable
    has_header: bool
    columns: str
    tables_in: Callable = lambda folder: []

    def classify_tables(self, paths):
        """Return a dict, "images" or "terms" -> path of the table.

        Raises
        ------
        InputError
            If a table is of no kind, if two are of one kind, or if there is no table of images.
        """
        tables = {}
        for path in paths:
            header = _first_row(path)
            kind = self.kind_of(header)
            if kind is None:
                what = f"{path} is not such a table: its first row is {', '.join(header[:8]) or 'empty'}"
                raise InputError(what, fix=self.columns)
            if kind in tables:
                what = f"{tables[kind]} and {path} are both tables of {kind}"
                raise InputError(what, fix="give one of them")
            tables[kind] = path
        if "images" not in tables:
            raise InputError("no table of images is given", fix=self.columns)
        return tables

    def rows(self, path, log):
        """Return the list of usable SourceRows of a table; the ImportLog gets the others."""
        table = Path(path).name
        first_row = _first_row(path)
        rows = []
        sort = ROWS[self.kind_of(first_row)]
        for line, cells, fault in islice(read_source_rows(path), self.has_header, None):
            try:
                if fault:
                    raise ValueError(fault)
                row = SourceRow(table, line, **self.parse(first_row, cells))
                view = parse_view(row.view)
                view = "" if suggest_view(view) or is_unknown(view) else view  # a misspelt view is unknown
                rows.append(replace(row, names=tuple(map(clean_name, row.names)), view=view))
            except ValueError as error:
                images = _PICTURE_NAME.findall(" ".join(cells))
                log.reject(sort, table, line, cells[0] if cells else "", str(error), images=images)
        return rows


def _first_row(path):
    return next((cells for _, cells, _ in read_source_rows(path)), [])


def import_tables(form, sources, folder, options, *, force=False):
    """Turn published tables and a folder of images into a data set folder.

    The folder gets `images.csv`, `annotations.csv`, `rejected.csv` (what was left out, with table, line
    and reason) and `import.json` (the summary).  It also gets `images`, a link to the folder of images.

    Parameters
    ----------
    form : TableFormat
    sources : paths of one folder of images, the table of images, and perhaps the table of annotations, in
        any order
    folder : path of the data set folder
    options : TableOptions
    force : whether to write into a folder that is not empty

    Returns
    -------
    summary : dict, as `write_imported_tables` returns it

    Raises
    ------
    InputError
        If a source is missing or is no such table, if the folder is taken, or if no image was found.
    WriteError
        If the folder cannot be written.
    """
    folders = [source for source in sources if os.path.isdir(source)]
    if len(folders) != 1:
        what = f"{len(folders) or 'no'} folders of images are given"
        raise InputError(what, fix="give the one folder of images")
    pictures = PictureFolder(folders[0])
    named = [source for source in sources if source not in folders]
    tables = form.classify_tables(named or form.tables_in(folders[0]))
    log = ImportLog()
    genes = read_genes(options.genes) if options.genes else GeneTable()
    rows = {kind: form.rows(tables[kind], log) for kind in ROWS if kind in tables}
    for of_table in rows.values():  # a row with a FlyBase number says which gene its names are
        genes.add_rows(of_table)
    images, terms, one_gene = resolve_tables(rows["images"], rows.get("terms", ()), genes, pictures, log)
    if not images:
        first = log.rejected[:_MOST_SHOWN]
        shown = "; ".join(f"line {row.line}, {row.item}: {row.reason}" for row in first)
        where = f"{pictures.folder} has {pluralise(pictures.n_files, 'file')}"
        what = f"no image was found ({shown or 'the table is empty'}; {where})"
        raise InputError(what, fix="give the folder with the images, and the tables that list them")
    digested = {"images": tables["images"], "annotations": tables.get("terms"), "genes": options.genes}
    with atomic_folder(folder, sources, force=force) as staged:
        _place_images(staged, Path(folder), pictures.folder, images, options.copy)
        return write_imported_tables(staged, images, terms, log, digested, one_gene=one_gene)


def _place_images(staged, folder, picture_folder, rows, copy):
    place = folder / "images"
    if Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(picture_folder)):
        raise InputError(f"{folder} is within {picture_folder}", fix="choose a folder outside of it")
    if not copy:
        if place.is_dir() and not place.is_symlink():
            raise InputError(f"{place} is a folder already", fix="add --copy, or choose another folder")
        try:
            os.symlink(picture_folder, staged / "images", target_is_directory=True)
        except (OSError, NotImplementedError) as error:  # Windows allows links to few users
            what = f"this system cannot make a link to {picture_folder} ({error})"
            raise InputError(what, fix="add --copy") from error
        return
    if place.is_symlink():
        raise InputError(f"{place} is a link already", fix="choose another folder")
    for row in rows:
        to = staged / row["image"]
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(picture_folder) / row["image"].removeprefix("images/"), to)


class PictureFolder:
    """The pictures below a folder, which can be found by the names in published tables.

    No path leads out of the folder. `N_s.bmp`, `insituN_s.bmp` and `insituN.jpe` are the same picture, where
    N is BDGP's number of it.
    """

    def __init__(self, folder):
        self.folder = str(resolve_path(Path.cwd(), folder))
        self._paths = set(_walk_files(self.folder))
        self.n_files = len(self._paths)
        self._by_name = defaultdict(list)
        self._by_number = defaultdict(list)
        for path in sorted(self._paths):
            name = path.rpartition("/")[2]
            self._by_name[name].append(path)
            self._by_number[_picture_number(name)].append(path)

    def find(self, name):
        """Return (path, "") of the picture that a table names, relative to the folder, or ("", reason).

        The picture is found by its whole path, otherwise by its file name, otherwise by its number.
        """
        path = name.replace("\\", "/").removeprefix("./")
        if path in self._paths:
            return path, ""
        last = path.rpartition("/")[2]
        paths = self._by_name.get(last)
        if not paths and (number := _picture_number(last)) is not None:
            paths = self._by_number.get(number, ())
            paths = [path for path in paths if _suffix(path) == _suffix(last)] or paths
        if not paths:
            return "", NOT_THERE
        return (paths[0], "") if len(paths) == 1 else ("", AMBIGUOUS_NAME)


def _picture_number(name):
    match = _NUMBERED.fullmatch(name)
    return match[1].lstrip("0") if match and match[2].lower() in _SUFFIXES else None


def _suffix(name):
    return name.rpartition(".")[2].lower()


def _walk_files(folder):
    """Yield the paths below a folder that a table can name, relative to it."""
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        below = os.path.relpath(parent, folder)
        for name in names:
            path = name if below == "." else f"{below}/{name}"
            if path.isprintable() and not name.startswith("."):
                yield path
