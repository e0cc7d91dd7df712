"""BDGP's dumps `insitu_annot.csv` and `insitu_images.csv`: no header, stages 1 to 6."""

from functools import partial
from pathlib import Path

from flyannot.dataset.importers import Importer
from flyannot.dataset.importers.resolve import SourceRow
from flyannot.dataset.importers.source_tables import BAD_ROW
from flyannot.dataset.importers.tables import TableFormat, TableOptions, import_tables

DUMPS = {"terms": "insitu_annot.csv", "images": "insitu_images.csv"}
_N_TERM_CELLS = 5  # symbol, CG number, FBgn, stage, term
_N_IMAGE_CELLS = 7  # symbol, CG number, clone, FBgn, project, image, stage; later dumps have view and more
_VIEWS = ("lateral", "dorsal", "ventral")


def kind_of_dump(cells):
    """Which dump a row of so many cells is of: "images", "terms", or None."""
    if len(cells) >= _N_IMAGE_CELLS:
        return "images"
    return "terms" if len(cells) == _N_TERM_CELLS else None


def _parser_of(kind, _):
    def parse(table, line, cells):
        if kind_of_dump(cells) != kind:
            raise ValueError(BAD_ROW)
        view = ""
        if kind == "terms":
            symbol, cg, fbgn, stage, item = cells
            item = " ".join(item.split())
        else:
            symbol, cg, _clone, fbgn, _project, item, stage, *more = cells
            view = next((v for v in _VIEWS if more and more[0].lower() == v), "")
        return SourceRow(table, line, (symbol, cg), stage, (item,) if item else (), fbgn, view)

    return parse


def _dumps_in(folder):
    places = [Path(folder) / (name + packed) for name in DUMPS.values() for packed in ("", ".gz")]
    return [path for path in places if path.is_file()]


TABLES = TableFormat(
    kind_of_dump,
    _parser_of,
    has_header=False,
    columns=f"name {' and '.join(DUMPS.values())}, with rows of 5 and of 7 or more cells, gzipped or not",
    tables_in=_dumps_in,
    names_genes=True,
)
BDGP = Importer(
    """BDGP's dumps insitu_annot.csv and insitu_images.csv, and the images they name.

    SOURCES are the folder of images and the two dumps, plain or gzipped, in any order; the dumps may
    lie in the folder, as `flyannot fetch` leaves them. What is left out is listed in rejected.csv.

    \b
    Example:
        flyannot import bdgp bdgp-files -o embryos
    """,
    "SOURCES...",
    TableOptions,
    partial(import_tables, TABLES),
)
