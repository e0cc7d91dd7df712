"""The blastoderm patterns of Wu et al. 2016 as a data set folder: pictures of dark stain on a light body.

Source: Wu, Joseph, Hammonds, Celniker, Yu and Frise, PNAS 2016, doi:10.1073/pnas.1521171113, as the
package staNMF stores them: 405 pixels of an ellipse on a grid of 16 x 32, for each image of BDGP.

In an npz file: patterns (n_images, n_pixels) float in [0, 1], mask (16, 32) bool with n_pixels True, which
each pattern fills column by column, and image_id, gene and fbgn, text (n_images,).

In the archive of staNMF 1.1 it is one CSV table: a row is a pixel of the mask, a column an image, named by
its gene as R writes it; the first column counts the rows.  R puts a dot for every letter that no name may
have, an X before a digit and a dot behind a word of its own (`Abd-B` is `Abd.B`, `18w` is `X18w`, `for` is
`for.`), and numbers what is repeated (`Abd.B.1`).
"""

import csv
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from flyannot.dataset.folder import read_annotations
from flyannot.dataset.importers import Importer
from flyannot.dataset.importers.import_log import ImportLog, Rejected, write_imported_tables
from flyannot.dataset.importers.resolve import SEVERAL_GENES, Gene, UnclearGene, read_genes
from flyannot.dataset.importers.source_tables import (
    header_of,
    lines_of_text,
    named_columns,
    rows_by_column,
)
from flyannot.dataset.importers.vectors import read_arrays
from flyannot.descriptors.images.pattern import GRID, ellipse_mask, render_patterns
from flyannot.errors import DataError, InputError
from flyannot.options import FilePath, Options, option
from flyannot.runtime.atomic_file import new_folder
from flyannot.runtime.tables import read_table
from flyannot.runtime.wording import pluralise

STAGE_RANGE = "4-6"
NAME_IN_ARCHIVE = "WuExampleExpression.csv"
UNKNOWN_GENE = "no gene of this name is known"

_TEXTS = ("image_id", "gene", "fbgn")
_ARRAYS = ("patterns", "mask", *_TEXTS)
_TERM_COLUMNS = ("gene", "stage_range", "term", "fbgn")
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_REPEATED = re.compile(r"(.+)\.[1-9]\d*", re.ASCII)
_OTHER_SIGNS = re.compile(r"[^A-Za-z0-9._]")  # than R allows in a name: it writes a dot
_X_OF_R = re.compile(r"^X(?=[^A-Za-z])")  # before what no name begins with
_FIX_NPZ = "use the patterns.npz of the data set, or make it again"
_FIX_ARCHIVE = "name the archive staNMF-1.1.tar.gz, or the CSV in it"


@dataclass(frozen=True, kw_only=True)
class Wu2016Options(Options):
    """What is known besides the patterns."""

    table: ClassVar[str] = "import"

    genes: Path | None = option(
        None, FilePath(), "For the archive or its CSV: a table of which gene a name is, and perhaps of terms."
    )


def import_wu2016(sources, folder, options, *, force=False):
    """Turn the patterns into a data set folder: grey pictures of 320 x 128 px and the tables.

    The one source is an npz file, or the archive of staNMF 1.1 or its CSV.  The table of genes in `options`
    is for the latter two.  If it has the columns stage_range and term too, as BDGP's annotations have, these
    are the annotations; those of an npz file are in the `annotations.csv` that lies beside it.  Without
    either the folder has images only; `force` is needed where it holds something already.  The summary is as
    of `flyannot.dataset.importers.import_log.write_imported_tables`.  InputError if there is no such file,
    the folder is taken, or the annotations are no such table.  DataError if an array is missing or not as it
    should be. WriteError if the folder cannot be written.
    """
    from PIL import Image

    (source,) = map(Path, sources)
    if not source.is_file():
        raise InputError(f"no such file: {source}", fix="name the patterns.npz, or the archive of staNMF")
    read = _from_npz if source.suffix.lower() == ".npz" else _from_archive
    arrays, log, terms, table = read(source, options.genes)
    with new_folder(folder, (source, *([table] if table else ())), force=force) as staged:
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


def _from_npz(source, genes_table):
    """The arrays, their ImportLog, the rows for annotations.csv and the table that these are from."""
    if genes_table:
        raise InputError(f"{source} needs no table of genes", fix="leave out --genes")
    arrays, log, table = read_patterns(source), ImportLog(("images",)), source.parent / "annotations.csv"
    for _ in arrays["image_id"]:
        log.take("images")
    if not table.is_file():
        return arrays, log, [], None
    read_annotations(table)
    rows = read_table(table, _TERM_COLUMNS[:3], _TERM_COLUMNS[3:])
    return arrays, log, [dict(zip(_TERM_COLUMNS, cells)) for _, cells in rows], table


def _from_archive(source, genes_table):
    """The same of the archive of staNMF, or of its CSV."""
    if genes_table is None:
        raise InputError(
            f"{source} is no npz file, and which genes its columns are takes a table",
            fix="add --genes TABLE, with the columns fbgn and gene, such as BDGP's annotations",
        )
    arrays, log = read_archive(source, genes_table)
    return arrays, log, _terms_of_genes(genes_table, set(arrays["fbgn"].tolist())), genes_table


def _terms_of_genes(path, fbgns):
    """The rows for annotations.csv of some genes; none if the table has no stage ranges or terms."""
    places = named_columns(header_of(path), {name: (name,) for name in _TERM_COLUMNS})
    if None in places.values():
        return []
    rows = {}
    for row in rows_by_column(path, places):
        if row["fbgn"] in fbgns and row["stage_range"] == STAGE_RANGE and row["term"]:
            rows[row["fbgn"], row["term"]] = row | {"gene": row["gene"] or row["fbgn"]}
    return list(rows.values())


def read_patterns(path):
    """The checked arrays of an npz file, by name.  InputError if there is no such file.  DataError if it is
    no npz file, or an array is missing or not as it should be."""
    return _checked(path, read_arrays(path, (".npz",), fix=_FIX_NPZ, names=_ARRAYS))


def _checked(path, arrays):
    """The arrays, if nothing is wrong with them; DataError names the file and the array."""
    if fault := next(_faults(arrays), ""):
        raise DataError(f"{path}: {fault}", fix=_FIX_NPZ)
    return arrays


def _faults(arrays):
    """What is wrong, in words; each takes for granted that there is nothing before it."""
    yield from (f'the array "{name}" is missing' for name in _ARRAYS if name not in arrays)
    patterns, mask = arrays["patterns"], arrays["mask"]
    if mask.dtype != bool or mask.shape != GRID:
        yield f'the array "mask" is {mask.dtype} {mask.shape}, not bool {GRID}'
    n_pixels = int(mask.sum())
    if n_pixels == 0:
        yield 'the array "mask" is False everywhere'
    if patterns.dtype.kind != "f" or patterns.ndim != 2 or patterns.shape[1] != n_pixels:
        yield f'the array "patterns" is {patterns.dtype} {patterns.shape}, not float (n_images, {n_pixels})'
    bad = ~((patterns >= 0) & (patterns <= 1)).all(axis=1)  # NaN fails both
    if bad.any():
        rows = pluralise(bad.sum(), 'row of "patterns" holds', 'rows of "patterns" hold')
        yield f"{rows} NaN or values outside [0, 1], first row {bad.argmax()}"
    n_images = len(patterns)
    for name in _TEXTS:
        texts = arrays[name]
        if texts.dtype.kind != "U" or texts.shape != (n_images,):
            yield f'the array "{name}" is {texts.dtype} {texts.shape}, not text ({n_images},)'
    image_ids = arrays["image_id"].tolist()
    unsafe = (image_id for image_id in image_ids if not _SAFE_NAME.fullmatch(image_id))
    yield from (f'"{image_id}" in the array "image_id" cannot be a file name' for image_id in unsafe)
    if len({image_id.lower() for image_id in image_ids}) < n_images:
        yield 'the array "image_id" names an image twice'
    if not all(arrays["gene"].tolist()):
        yield 'the array "gene" has an empty entry'


def read_archive(path, genes_table):
    """The arrays as `read_patterns` returns them, and the ImportLog of the columns.

    `path` is of the archive of staNMF, or of its CSV, gzipped or not; `genes_table` is for
    `flyannot.dataset.importers.resolve.read_genes`.  InputError if a file is missing or not readable, or no
    gene is known.  DataError if the table has not one row for each pixel, or holds what is no number.
    """
    columns, patterns = _columns_of(path)
    gene_of, log = genes_of_columns(read_genes(genes_table), columns), ImportLog(("images",))
    genes = {}
    for at, column in enumerate(columns):
        try:
            genes[at] = gene_of(column)
        except UnclearGene as unclear:
            detail = str(unclear)
            reason = SEVERAL_GENES if detail else UNKNOWN_GENE
            log.reject("images", Rejected(NAME_IN_ARCHIVE, 1, column, reason, detail))
        else:
            log.take("images")
    if not genes:
        raise InputError(
            f"{genes_table} knows none of the {pluralise(len(columns), 'gene')} of {path}",
            fix="name BDGP's table of annotations",
        )
    arrays = {
        "patterns": patterns[list(genes)],
        "mask": ellipse_mask(),
        "image_id": np.array([f"wu{at + 1:04d}" for at in genes]),
        "gene": np.array([gene.symbol for gene in genes.values()]),
        "fbgn": np.array([gene.fbgn for gene in genes.values()]),
    }
    return _checked(path, arrays), log


def _columns_of(path):
    """The names of the columns, and the patterns (n_images, n_pixels)."""
    try:
        rows = list(csv.reader(lines_of_text(path, fix=_FIX_ARCHIVE, member=NAME_IN_ARCHIVE)))
    except csv.Error as error:
        raise InputError(f"cannot read {path}: {error}", fix=_FIX_ARCHIVE) from error
    n_pixels = int(ellipse_mask().sum())
    if len(rows) != n_pixels + 1:
        raise DataError(f"{path} has {len(rows):,} rows, not a header and {n_pixels}", fix=_FIX_ARCHIVE)
    columns = [name.strip() for name in rows[0][1:]]
    try:
        patterns = np.array([row[1:] for row in rows[1:]], dtype="f4").T
    except ValueError as error:
        raise DataError(f"{path}: {error}", fix=_FIX_ARCHIVE) from None
    if patterns.shape != (len(columns), n_pixels) or not columns:
        raise DataError(f"{path} has rows that are not as long as its header", fix=_FIX_ARCHIVE)
    return columns, patterns


def genes_of_columns(genes, columns):
    """A function of a column of an R table that returns its Gene.

    It raises UnclearGene where no known name becomes that of the column, without a word, or where several do:
    among them what is left without a repetition's number, if a column of that name is there too.
    """
    columns, fbgns_in_r = set(columns), [defaultdict(set) for _ in genes.fbgns]
    for in_r, known in zip(fbgns_in_r, genes.fbgns):
        for name, fbgns in known.items():
            in_r[_OTHER_SIGNS.sub(".", name)] |= fbgns

    def fbgns_of(column):
        names = column, _X_OF_R.sub("", column), column.removesuffix(".")
        return next((in_r[name] for name in names for in_r in fbgns_in_r if name in in_r), set())

    def gene_of(column):
        fbgns, repeated = fbgns_of(column), _REPEATED.fullmatch(column)
        if repeated and repeated[1] in columns:
            fbgns = fbgns | fbgns_of(repeated[1])
        if len(fbgns) != 1:
            raise UnclearGene(f"{column} is {' or '.join(sorted(fbgns))}" if fbgns else "")
        (fbgn,) = fbgns
        return Gene(genes.symbols[fbgn] or fbgn, fbgn)

    return gene_of


WU2016 = Importer(
    """The blastoderm patterns of Wu et al. 2016 (stage range 4-6), drawn as 320 x 128 images.

    PATTERNS is the archive of staNMF 1.1, or the CSV in it: --genes then names the table of genes, and
    gives their terms if it has the columns stage_range and term, as BDGP's annotations have. Or it is an
    npz file with patterns, image_id, gene, fbgn and mask; the annotations.csv that lies beside it is taken.

    \b
    Example:
        flyannot import wu2016 staNMF-1.1.tar.gz --genes bdgp.csv -o wu2016
    """,
    "PATTERNS",
    Wu2016Options,
    import_wu2016,
)
