"""Importer of BDGP's dumps `insitu_annot.csv` and `insitu_images.csv`, without header, stages 1 to 6."""

import re
from functools import partial
from pathlib import Path

from flyannot.dataset.importers import Importer
from flyannot.dataset.importers.source_tables import BAD_ROW
from flyannot.dataset.importers.tables import TableFormat, TableOptions, import_tables

DUMPS = {"terms": "insitu_annot.csv", "images": "insitu_images.csv"}
PART_OF_EMBRYO = "a part of an embryo, at high magnification"
_N_TERM_CELLS = 5  # CG number, symbol, FBgn, stage, term
# CG number, symbol, symbol again, FBgn, clone, image, stage; some rows also view, orientation, magnification
_N_IMAGE_CELLS = 7
_N_MORE_CELLS = 3
UNKNOWN_ORIENTATION = "unknown orientation"
_UPRIGHT = ("", "0", "normal", "standard", "none")
_TURNED = {"ap_inverted": "left-right", "dv_inverted": "top-bottom", "ap_dv_inverted": "both"}
_CG = re.compile(r"C[GR]\d+")


def detect_dump_kind(cells):
    """Return the kind of BDGP's dump ("images" or "terms") that has rows with as many cells.

    None if none has.
    """
    if len(cells) >= _N_IMAGE_CELLS:
        return "images"
    return "terms" if len(cells) == _N_TERM_CELLS else None


def _parse_row(first_row, cells):
    kind = detect_dump_kind(cells)
    if kind != detect_dump_kind(first_row):
        raise ValueError(BAD_ROW)
    view = orientation = magnification = ""
    if kind == "terms":
        cg, symbol, fbgn, stage, item = cells
        item = " ".join(item.split())
    else:
        cg, symbol, _, fbgn, _clone, item, stage, *more = cells
        if 0 < len(more) < _N_MORE_CELLS:  # the row is cut short
            raise ValueError(BAD_ROW)
        view, orientation, magnification, *_ = [*map(str.lower, more), "", "", ""]
    if magnification == "high":
        raise ValueError(PART_OF_EMBRYO)
    if orientation not in _TURNED and orientation not in _UPRIGHT:
        raise ValueError(UNKNOWN_ORIENTATION)
    if _CG.fullmatch(symbol):  # some dumps have the two columns in the other order
        cg, symbol = symbol, cg
    return {
        "names": (symbol, cg),
        "fbgn": fbgn,
        "stage": stage,
        "items": (item,) if item else (),
        "view": view,
        "turned": _TURNED.get(orientation, ""),
    }


def _find_dumps(folder):
    places = [Path(folder) / (name + packed) for name in DUMPS.values() for packed in ("", ".gz")]
    return [path for path in places if path.is_file()]


TABLES = TableFormat(
    detect_dump_kind,
    _parse_row,
    has_header=False,
    columns=f"give {' and '.join(DUMPS.values())}, with rows of 5 and of 7 or more cells, gzipped or not",
    tables_in=_find_dumps,
)
BDGP = Importer(
    """BDGP's dumps insitu_annot.csv and insitu_images.csv, and the images that they list.

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
