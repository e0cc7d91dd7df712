"""Tables that name images and terms, with a folder of images, as a data set folder."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from flyannot.dataset.importers.genes import Genes, read_genes
from flyannot.dataset.importers.import_log import ImportLog, Rejected, write_tables
from flyannot.dataset.importers.pictures import Pictures
from flyannot.dataset.importers.resolve import resolve_tables
from flyannot.dataset.importers.source_tables import header_of, read_source_rows
from flyannot.errors import InputError, message_of
from flyannot.options import FilePath, Flag, Options, option
from flyannot.runtime.atomic_file import new_folder
from flyannot.runtime.wording import pluralise

ROWS = {"images": "image rows", "terms": "annotation rows"}  # what the log calls the rows of each table
_MOST_SHOWN = 3  # rejected images named where none was found


@dataclass(frozen=True, kw_only=True)
class TableOptions(Options):
    """How tables are understood."""

    table: ClassVar[str] = "import"

    genes: Path | None = option(
        None,
        FilePath(),
        "A table of which gene a name is: columns fbgn, gene, perhaps cg and synonyms (a|b).",
    )
    only_annotated: bool = option(False, Flag(), "Leave out images of groups without a term.")
    copy: bool = option(False, Flag(), "Copy the images instead of linking to their folder.")


@dataclass(frozen=True)
class TableFormat:
    """How a publisher writes its two tables.

    kind_of : function of the cells of the first row: "images", "terms" (annotations), or None
    parser_of : function of the kind and the first row's cells, which returns a function of (table, line,
        cells) that makes a `flyannot.dataset.importers.resolve.Row`, or raises ValueError: why it cannot
    has_header : whether the first row names the columns
    columns : what the tables look like, for those who named another one
    tables_in : function of the folder of images: the tables that lie there
    names_genes : whether a row has a gene's number and its names, so that the tables explain one another
    """

    kind_of: Callable
    parser_of: Callable
    has_header: bool
    columns: str
    tables_in: Callable = lambda folder: []
    names_genes: bool = False

    def sorted_tables(self, paths):
        """Kind -> path.

        Raises
        ------
        InputError
            If one is of no kind, there are two of a kind, or none of images.
        """
        found = {}
        for path in paths:
            header = header_of(path)
            kind = self.kind_of(header)
            if kind is None:
                raise InputError(
                    f"{path} is no such table: its first row is {', '.join(header[:8]) or 'empty'}",
                    fix=self.columns,
                )
            if kind in found:
                raise InputError(
                    f"{found[kind]} and {path} are both tables of {kind}", fix="name one of them"
                )
            found[kind] = path
        if "images" not in found:
            raise InputError("no table of images is named", fix=self.columns)
        return found

    def rows(self, kind, path, log):
        """The usable Rows of a table; the others are entered in the ImportLog."""
        table, rows = Path(path).name, []
        parse = self.parser_of(kind, header_of(path))
        for number, (line, cells, fault) in enumerate(read_source_rows(path)):
            if number == 0 and self.has_header:
                continue
            try:
                if fault:
                    raise ValueError(fault)
                rows.append(parse(table, line, cells))
            except ValueError as error:
                log.reject(ROWS[kind], Rejected(table, line, cells[0] if cells else "", message_of(error)))
        return rows


def import_tables(tables, sources, folder, options, *, force=False):
    """Turn published tables and a folder of images into a data set folder.

    Parameters
    ----------
    tables : TableFormat
    sources : list of paths
        One folder of images, the table of images, and perhaps that of annotations; they are told apart
        by what they hold.
    folder : path of the data set folder to make
        Gets `images.csv`, `annotations.csv`, `rejected.csv` (all that was left out, with table, line and
        reason), `import.json` (the summary) and `images`, a link to the folder of images.
    options : TableOptions
    force : bool
        Write into a folder that holds something already.

    Returns
    -------
    summary : dict
        What `import.json` holds.

    Raises
    ------
    InputError
        If a source is missing or is no such table, the folder is taken, or not one image was found.
    WriteError
        If the folder cannot be written.
    """
    image_folder, paths = _sorted_sources(sources)
    found = tables.sorted_tables(paths or tables.tables_in(image_folder))
    log = ImportLog()
    genes = read_genes(options.genes) if options.genes else Genes()
    rows = {kind: tables.rows(kind, found[kind], log) for kind in ROWS if kind in found}
    if tables.names_genes:
        genes.learn(row for some in rows.values() for row in some)
    pictures = Pictures(image_folder)
    resolved = resolve_tables(
        rows["images"], rows.get("terms", ()), genes, pictures, log, only_annotated=options.only_annotated
    )
    if not resolved.images:
        raise _nothing(log, pictures)
    paths = {"images": found["images"], "annotations": found.get("terms"), "genes": options.genes}
    with new_folder(folder, force=force) as staged:
        _place_images(staged, Path(folder), pictures, resolved.images, options.copy)
        return write_tables(staged, resolved.images, resolved.terms, log, paths, one_gene=resolved.one_gene)


def _sorted_sources(sources):
    """The folder of images and the tables."""
    folders = [source for source in sources if os.path.isdir(source)]
    if len(folders) != 1:
        raise InputError(
            f"{len(folders) or 'no'} folders of images are named", fix="name the one folder of images"
        )
    return folders[0], [source for source in sources if source not in folders]


def _nothing(log, pictures):
    some = log.rejected[:_MOST_SHOWN]
    shown = "; ".join(f"line {one.line}, {one.item}: {one.reason}" for one in some)
    where = f"{pictures.folder} holds {pluralise(len(pictures), 'file')}"
    return InputError(
        f"no image can be taken ({shown or 'the table is empty'}; {where})",
        fix="name the folder that holds the images, and the tables that name them",
    )


def _place_images(staged, folder, pictures, rows, copy):
    place = folder / "images"
    if not copy:
        if place.is_dir() and not place.is_symlink():
            raise InputError(f"{place} is a folder already", fix="add --copy, or name another folder")
        try:
            os.symlink(pictures.folder, staged / "images", target_is_directory=True)
        except (OSError, NotImplementedError) as error:  # Windows allows it to few
            raise InputError(
                f"this system makes no link to {pictures.folder} ({error})", fix="add --copy"
            ) from error
        return
    if place.is_symlink():
        raise InputError(f"{place} is a link already", fix="name another folder")
    for row in rows:
        to = staged / row["image"]
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(pictures.folder) / row["image"].removeprefix("images/"), to)
