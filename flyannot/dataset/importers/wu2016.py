"""The blastoderm patterns of Wu et al. 2016 as a data set folder of pictures.

Source: Wu, Joseph, Hammonds, Celniker, Yu and Frise, PNAS 2016, doi:10.1073/pnas.1521171113, as the
package staNMF stores them: 405 pixels of an ellipse on a grid of 16 x 32, for each image of BDGP.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from flyannot.dataset.folder import read_annotations
from flyannot.dataset.importers import Importer
from flyannot.dataset.importers.import_log import ImportLog, write_tables
from flyannot.dataset.importers.patterns import checked_patterns, is_npz, read_patterns, render_patterns
from flyannot.dataset.importers.source_tables import header_of, named_columns, read_source_rows
from flyannot.dataset.importers.stanmf import read_stanmf
from flyannot.errors import InputError
from flyannot.options import FilePath, Options, option
from flyannot.runtime.atomic_file import new_folder
from flyannot.runtime.tables import read_table

STAGE_RANGE = "4-6"
_TERM_COLUMNS = ("gene", "stage_range", "term", "fbgn")


@dataclass(frozen=True, kw_only=True)
class Wu2016Options(Options):
    """What is known besides the patterns."""

    table: ClassVar[str] = "import"

    genes: Path | None = option(
        None, FilePath(), "For the archive or its CSV: a table of which gene a name is, and perhaps of terms."
    )


def import_wu2016(sources, folder, options, *, force=False):
    """Turn the patterns into a data set folder: grey pictures of 320 x 128 px and the tables.

    Parameters
    ----------
    sources : one path, of an npz file (`flyannot.dataset.importers.patterns`), or of the archive of
        staNMF 1.1 or its CSV (`flyannot.dataset.importers.stanmf`)
    folder : path that does not exist, or of an empty folder
    options : Wu2016Options
        The table of genes is for the archive and the CSV.  If it has the columns stage_range and term too, as
        BDGP's annotations have, these are the annotations; those of an npz file are in the
        `annotations.csv` that lies beside it.  Without either the folder has images only.
    force : bool
        Write into a folder that holds something already.

    Returns
    -------
    summary : dict, as `flyannot.dataset.importers.import_log.write_tables` returns

    Raises
    ------
    InputError
        If there is no such file, the folder is taken, or the annotations are no such table.
    DataError
        If an array is missing or not as it should be.
    WriteError
        If the folder cannot be written.
    """
    from PIL import Image

    (source,) = map(Path, sources)
    arrays, log, terms, table = _read(source, options.genes)
    with new_folder(folder, force=force) as staged:
        (staged / "images").mkdir()
        pictures = render_patterns(arrays["patterns"], arrays["mask"])
        for image_id, picture in zip(arrays["image_id"], pictures):
            Image.fromarray(picture).save(staged / "images" / f"{image_id}.png")
        tables = {"patterns": source, "annotations": table}
        return write_tables(staged, _image_rows(arrays), terms, log, tables)


def _read(source, genes_table):
    """The arrays, their ImportLog, the rows for annotations.csv and the table that these are from."""
    if not source.is_file():
        raise InputError(f"no such file: {source}", fix="name the patterns.npz, or the archive of staNMF")
    if not is_npz(source):
        if genes_table is None:
            raise InputError(
                f"{source} is no npz file, and which genes its columns are takes a table",
                fix="add --genes TABLE, with the columns fbgn and gene, such as BDGP's annotations",
            )
        arrays, log = read_stanmf(source, genes_table)
        terms = _terms_of_genes(genes_table, set(arrays["fbgn"].tolist()))
        return checked_patterns(source, arrays), log, terms, genes_table
    if genes_table:
        raise InputError(f"{source} needs no table of genes", fix="leave out --genes")
    arrays, log, table = read_patterns(source), ImportLog(("images",)), source.parent / "annotations.csv"
    for _ in arrays["image_id"]:
        log.take("images")
    if not table.is_file():
        return arrays, log, [], None
    read_annotations(table)
    rows = (cells for _, cells in read_table(table, _TERM_COLUMNS[:3], _TERM_COLUMNS[3:]))
    return arrays, log, [dict(zip(_TERM_COLUMNS, cells)) for cells in rows], table


def _terms_of_genes(path, fbgns):
    """The rows for annotations.csv of some genes; none if the table has no stage ranges or terms."""
    places = named_columns(header_of(path), {name: (name,) for name in _TERM_COLUMNS})
    if None in places.values():
        return []
    found = {}
    for _, cells, fault in read_source_rows(path):
        if not fault and len(cells) > max(places.values()):
            row = {name: cells[at] for name, at in places.items()}
            if row["fbgn"] in fbgns and row["stage_range"] == STAGE_RANGE and row["term"]:
                found[row["fbgn"], row["term"]] = row | {"gene": row["gene"] or row["fbgn"]}
    return list(found.values())


def _image_rows(arrays):
    return [
        {
            "image": f"images/{image_id}.png", "gene": gene, "stage_range": STAGE_RANGE, "view": "lateral",
            "fbgn": fbgn,
        }
        for image_id, gene, fbgn in zip(*(arrays[name].tolist() for name in ("image_id", "gene", "fbgn")))
    ]  # fmt: skip


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
