"""Importer of FlyExpress's tables, which have stages 1 to 6 and tuples of image names or terms as text."""

from functools import partial

from flyannot.dataset.importers import Importer
from flyannot.dataset.importers.source_tables import BAD_ROW, parse_python_texts
from flyannot.dataset.importers.tables import TableFormat, TableOptions, import_tables

_ITEMS = {"images": "image_url", "terms": "annotation"}  # the column of each table that holds a tuple


def _header_kind(header):
    names = {name.lower() for name in header}
    return next((kind for kind, items in _ITEMS.items() if names >= {"gene", "stage", items}), None)


def _parse_row(header, cells):
    if len(cells) != len(header):
        raise ValueError(BAD_ROW)
    cell = dict(zip(map(str.lower, header), cells))
    return {
        "names": (cell["gene"],),
        "fbgn": cell.get("fbgn", ""),
        "stage": cell["stage"],
        "items": tuple(parse_python_texts(cell[_ITEMS[_header_kind(header)]])),
        "view": cell.get("direction", ""),
    }


TABLES = TableFormat(
    _header_kind,
    _parse_row,
    has_header=True,
    columns="the columns are gene, stage, direction and image_url, or gene, stage and annotation",
)
FLYEXPRESS = Importer(
    """FlyExpress's tables and images.

    SOURCES are, in any order, the folder of images (N_s.bmp or insituN_s.bmp), the table of images
    (columns gene, stage, direction, image_url) and that of annotations (gene, stage, annotation), plain
    or gzipped. Stages are 1 to 6. What is left out is listed in rejected.csv, with the reason.

    \b
    Example:
        flyannot import flyexpress images.csv annotations.csv bmp/ --genes genes.csv -o embryos
    """,
    "SOURCES...",
    TableOptions,
    partial(import_tables, TABLES),
)
