"""BDGP's dumps `insitu_annot.csv` and `insitu_images.csv`: no header, stages 1 to 6."""

from pathlib import Path

from flyannot.dataset.importers.accounts import Drop
from flyannot.dataset.importers.gathering import Row
from flyannot.dataset.importers.source_tables import BAD_ROW, header_of, read_rows
from flyannot.errors import InputError

ANNOTATIONS, IMAGES = "insitu_annot.csv", "insitu_images.csv"
_N_ANNOTATION_CELLS = 5  # symbol, CG number, FBgn, stage, term
_N_IMAGE_CELLS = 7  # symbol, CG number, clone, FBgn, project, image, stage; later dumps have view and more
_VIEWS = ("lateral", "dorsal", "ventral")
_FIX = f"name {ANNOTATIONS} and {IMAGES}, gzipped or not, or the folder that holds them"


def sort_tables(paths):
    """Which dump is which: (path of the images', path of the annotations' or None), by their widths.

    Raises
    ------
    InputError
        If one is neither, there are two of a kind, or none of images.
    """
    found = {}
    for path in paths:
        n_cells = len(header_of(path))
        kind = "images" if has_width_of_images(n_cells) else "terms"
        if kind == "terms" and not has_width_of_annotations(n_cells):
            raise InputError(
                f"{path} is no dump of BDGP's: its first row has {n_cells} cells, not 5, 7 or more", fix=_FIX
            )
        if kind in found:
            raise InputError(f"{found[kind]} and {path} are both tables of {kind}", fix="name one of them")
        found[kind] = path
    if "images" not in found:
        raise InputError("no table of images is named", fix=_FIX)
    return found["images"], found.get("terms")


def has_width_of_annotations(n_cells):
    """Whether a row of so many cells can be one of insitu_annot.csv."""
    return n_cells == _N_ANNOTATION_CELLS


def has_width_of_images(n_cells):
    """Whether a row of so many cells can be one of insitu_images.csv."""
    return n_cells >= _N_IMAGE_CELLS


def dumps_in(folder):
    """The dumps that lie in a folder under their own names."""
    names = [name + packed for name in (ANNOTATIONS, IMAGES) for packed in ("", ".gz")]
    return [Path(folder) / name for name in names if (Path(folder) / name).is_file()]


def read_image_rows(path, accounts):
    """The Rows of insitu_images.csv; those that cannot be used go into `accounts`."""
    rows = []
    for line, cells in _usable(path, has_width_of_images, accounts, "image rows"):
        symbol, cg, _, fbgn, _, image, stage, *more = cells
        view = more[0].lower() if more and more[0].lower() in _VIEWS else ""
        items = (image,) if image else ()
        rows.append(Row(Path(path).name, line, (symbol, cg), stage, items, fbgn, view))
    return rows


def read_term_rows(path, accounts):
    """The Rows of insitu_annot.csv; those that cannot be used go into `accounts`."""
    rows = []
    for line, cells in _usable(path, has_width_of_annotations, accounts, "annotation rows"):
        symbol, cg, fbgn, stage, term = cells
        term = " ".join(term.split())
        rows.append(Row(Path(path).name, line, (symbol, cg), stage, (term,) if term else (), fbgn))
    return rows


def add_genes(genes, rows):
    """Take in what the dumps themselves say of which name is which gene."""
    for row in rows:
        genes.add(row.fbgn, *row.names)


def _usable(path, fits, accounts, account):
    for line, cells, fault in read_rows(path):
        if not fault and not fits(len(cells)):
            fault = BAD_ROW
        if fault:
            accounts.drop(account, Drop(Path(path).name, line, cells[0] if cells else "", fault))
        else:
            yield line, cells
