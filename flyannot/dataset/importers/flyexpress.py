"""FlyExpress's tables: genes, stages 1 to 6, views, and tuples of image names or of terms, as text."""

from pathlib import Path

from flyannot.dataset.importers.accounts import Drop
from flyannot.dataset.importers.gathering import Row
from flyannot.dataset.importers.source_tables import (
    BAD_ROW,
    NO_TUPLE,
    header_of,
    named_columns,
    parse_texts,
    read_rows,
)
from flyannot.errors import InputError

_GENE = {"gene": ("gene", "symbol"), "stage": ("stage", "stage_range"), "fbgn": ("fbgn",)}
_IMAGES = _GENE | {"items": ("image_url", "images", "image"), "view": ("direction", "view")}
_TERMS = _GENE | {"items": ("annotation", "annotations", "terms", "term")}
_OPTIONAL = ("fbgn", "view")
_COLUMNS = "gene, stage, direction and image_url, or gene, stage and annotation"


def sort_tables(paths):
    """Which table is which: (path of the images', path of the annotations' or None), by their columns.

    Raises
    ------
    InputError
        If one is neither, there are two of a kind, or no table of images.
    """
    found = {}
    for path in paths:
        header = header_of(path)
        kind = next(
            (k for k, wanted in (("images", _IMAGES), ("terms", _TERMS)) if _has(header, wanted)), None
        )
        if kind is None:
            raise InputError(
                f"{path} is no table of FlyExpress's, its columns are {', '.join(header[:8]) or 'none'}",
                fix=f"the columns are {_COLUMNS}",
            )
        if kind in found:
            raise InputError(f"{found[kind]} and {path} are both tables of {kind}", fix="name one of them")
        found[kind] = path
    if "images" not in found:
        raise InputError("no table of images is named", fix=f"the columns are {_COLUMNS}")
    return found["images"], found.get("terms")


def read_image_rows(path, accounts):
    """The Rows of the table of images; those that cannot be used go into `accounts`."""
    return _read(path, _IMAGES, accounts, "image rows")


def read_term_rows(path, accounts):
    """The Rows of the table of annotations; those that cannot be used go into `accounts`."""
    return _read(path, _TERMS, accounts, "annotation rows")


def _has(header, wanted):
    places = named_columns(header, wanted)
    return all(at is not None for name, at in places.items() if name not in _OPTIONAL)


def _read(path, wanted, accounts, account):
    table, places, n_columns, rows = Path(path).name, None, 0, []
    for line, cells, fault in read_rows(path):
        if places is None:
            places, n_columns = named_columns(cells, wanted), len(cells)
            continue
        if not fault and len(cells) != n_columns:
            fault = BAD_ROW
        cell = {name: cells[at] if at is not None and not fault else "" for name, at in places.items()}
        try:
            items = () if fault else tuple(parse_texts(cell["items"]))
        except ValueError:
            fault = NO_TUPLE
        if fault:
            accounts.drop(account, Drop(table, line, cell["gene"], fault))
        else:
            view = cell.get("view", "").lower()
            rows.append(Row(table, line, (cell["gene"],), cell["stage"], items, cell["fbgn"], view))
    return rows
