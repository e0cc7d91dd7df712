"""Importer of the blastoderm patterns of Wu et al. 2016: pictures of dark stain on a light body.

Source: Wu, Joseph, Hammonds, Celniker, Yu and Frise, PNAS 2016, doi:10.1073/pnas.1521171113.  The package
staNMF has the patterns: 405 pixels of an ellipse on a grid of 16 x 32, for each image of BDGP.

The npz file has patterns (n_images, n_pixels), float in [0, 1], and mask (16, 32), bool with n_pixels
True; each pattern fills the mask column by column.  It also has image_id, gene and fbgn, text
(n_images,).
"""

import re
from pathlib import Path

import numpy as np

from flyannot.base.errors import DataError, InputError
from flyannot.base.options import Options
from flyannot.base.text import pluralise
from flyannot.dataset.folder import read_annotations
from flyannot.dataset.importers import Importer
from flyannot.dataset.importers.import_log import ImportLog, write_imported_tables
from flyannot.dataset.importers.vectors import read_arrays
from flyannot.files.atomic_file import atomic_folder
from flyannot.files.tables import read_table
from flyannot.images.pattern import GRID, render_patterns

STAGE_RANGE = "4-6"

_TEXTS = ("image_id", "gene", "fbgn")
_ARRAYS = ("patterns", "mask", *_TEXTS)
_TERM_COLUMNS = ("gene", "stage_range", "term", "fbgn")
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_FIX_NPZ = "use the patterns.npz of the data set, or make it again"


def import_wu2016(sources, folder, options, *, force=False):
    """Write the patterns as a data set folder: grey pictures of 320 x 128 px, and the tables.

    Parameters
    ----------
    sources : list of one path, the npz file; an annotations.csv beside it gives the annotations
    folder : path of the data set folder
    options : Options; there are none
    force : whether to write into a folder that is not empty

    Returns
    -------
    summary : dict, as `write_imported_tables` returns it

    Raises
    ------
    InputError
        If the file does not exist, the folder is taken, or the annotations cannot be read.
    DataError
        If an array is missing or wrong.
    WriteError
        If the folder cannot be written.
    """
    from PIL import Image

    (source,) = map(Path, sources)
    if not source.is_file():
        raise InputError(f"no such file: {source}", fix="give the patterns.npz")
    arrays = read_patterns(source)
    log = ImportLog(("images",))
    table = source.parent / "annotations.csv"
    log.taken["images"] = len(arrays["image_id"])
    terms = _read_terms(table) if table.is_file() else []
    table = table if table.is_file() else None
    with atomic_folder(folder, (source, *([table] if table else ())), force=force) as staged:
        (staged / "images").mkdir()
        pictures = render_patterns(arrays["patterns"], arrays["mask"])
        for image_id, picture in zip(arrays["image_id"], pictures):
            Image.fromarray(picture).save(staged / "images" / f"{image_id}.png")
        same = {"stage_range": STAGE_RANGE, "view": "lateral"}
        images = [
            {"image": f"images/{image_id}.png", "gene": gene, "fbgn": fbgn} | same
            for image_id, gene, fbgn in zip(*(arrays[name].tolist() for name in _TEXTS))
        ]
        sources = {"patterns": source, "annotations": table}
        return write_imported_tables(staged, images, terms, log, sources)


def _read_terms(table):
    """Return the checked rows of a table of annotations as dicts, for annotations.csv."""
    read_annotations(table)
    rows = read_table(table, _TERM_COLUMNS[:3], _TERM_COLUMNS[3:])
    return [dict(zip(_TERM_COLUMNS, cells)) for _, cells in rows]


def read_patterns(path):
    """Read the arrays of an npz file of patterns, and check them; return a dict by name.

    Raises
    ------
    InputError
        If the file does not exist.
    DataError
        If it is no npz file, or an array is missing or wrong; names the file and the array.
    """
    arrays = read_arrays(path, fix=_FIX_NPZ, names=_ARRAYS)
    if fault := next(_find_faults(arrays), ""):
        raise DataError(f"{path}: {fault}", fix=_FIX_NPZ)
    return arrays


def _find_faults(arrays):
    """Yield descriptions of what is wrong with the arrays; only the first one is certain.

    arrays : dict by name
    """
    yield from (f'the array "{name}" is missing' for name in _ARRAYS if name not in arrays)
    patterns = arrays["patterns"]
    mask = arrays["mask"]
    if mask.dtype == bool and not mask.any():
        yield 'the array "mask" is False everywhere'
    n_images = arrays["image_id"].size
    expected = {"mask": ("bool", GRID), "patterns": ("float", (n_images, np.count_nonzero(mask)))}
    expected |= dict.fromkeys(_TEXTS, ("str", (n_images,)))
    for name, (kind, shape) in expected.items():
        found = arrays[name]
        if np.dtype(kind).kind != found.dtype.kind or found.shape != shape:
            yield f'the array "{name}" is {found.dtype} {found.shape}, not {kind} {shape}'
    bad = ~((patterns >= 0) & (patterns <= 1)).all(axis=1)  # NaN fails both
    if bad.any():
        rows = pluralise(bad.sum(), 'row of "patterns" holds', 'rows of "patterns" hold')
        yield f"{rows} NaN or values outside [0, 1], first row {bad.argmax()}"
    image_ids = arrays["image_id"].tolist()
    unsafe = (image_id for image_id in image_ids if not _SAFE_NAME.fullmatch(image_id))
    yield from (f'"{image_id}" in the array "image_id" cannot be a file name' for image_id in unsafe)
    if len({image_id.lower() for image_id in image_ids}) < n_images:
        yield 'the array "image_id" has an image twice'
    if not all(arrays["gene"].tolist()):
        yield 'the array "gene" has an empty entry'


WU2016 = Importer(
    """The blastoderm patterns of Wu et al. 2016 (stage range 4-6), drawn as 320 x 128 images.

    PATTERNS is an npz file with the arrays image_id, gene, fbgn (texts, one for each image), patterns
    (images x 405 pixels, from 0 to 1) and mask (16 x 32, true at these pixels, which are in column order).
    The annotations.csv that lies beside it is taken.

    \b
    Example:
        flyannot import wu2016 patterns.npz -o wu2016
    """,
    "PATTERNS",
    Options,
    import_wu2016,
)
