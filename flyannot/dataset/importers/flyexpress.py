"""FlyExpress's tables: genes, stages 1 to 6, views, and tuples of image names or of terms, as text."""

from functools import partial

from flyannot.dataset.importers import Importer
from flyannot.dataset.importers.resolve import SourceRow
from flyannot.dataset.importers.source_tables import BAD_ROW, named_columns, parse_texts
from flyannot.dataset.importers.tables import TableFormat, TableOptions, import_tables

_GENE = {"gene": ("gene", "symbol"), "stage": ("stage", "stage_range"), "fbgn": ("fbgn",)}
_COLUMNS = {
    "images": _GENE | {"items": ("image_url", "images", "image"), "view": ("direction", "view")},
    "terms": _GENE | {"items": ("annotation", "annotations", "terms", "term"), "view": ()},
}
_REQUIRED = ("gene", "stage", "items")


def _parser_of(header):
    for kind, columns in _COLUMNS.items():
        places = named_columns(header, columns)
        if all(places[name] is not None for name in _REQUIRED):
            return kind, partial(_parse, places, len(header))
    return None


def _parse(places, n_columns, table, line, cells):
    if len(cells) != n_columns:
        raise ValueError(BAD_ROW)
    cell = {name: cells[at] if at is not None else "" for name, at in places.items()}
    items = tuple(parse_texts(cell["items"]))
    return SourceRow(table, line, (cell["gene"],), cell["stage"], items, cell["fbgn"], cell["view"].lower())


TABLES = TableFormat(
    _parser_of,
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
