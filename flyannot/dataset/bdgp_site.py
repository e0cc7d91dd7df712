"""Names, addresses and checks of the files on BDGP's site.

The addresses are taken from published programs; they were not tried against the site itself.
"""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from flyannot.base.errors import FlyannotError, InputError, did_you_mean
from flyannot.dataset.importers.bdgp import DUMPS, TABLES, detect_dump_kind
from flyannot.dataset.importers.import_log import ImportLog
from flyannot.dataset.importers.resolve import AmbiguousGene, GeneTable, parse_published_stage
from flyannot.dataset.importers.source_tables import read_source_rows
from flyannot.files.content_kind import WEB_PAGE
from flyannot.files.text_files import read_text, recognise_file

FILES = {kind: f"{name}.gz" for kind, name in DUMPS.items()}
MAX_IMAGE_BYTES = 50_000_000
MAX_TABLE_BYTES = 500_000_000
_TABLE_PLACE = "insitu-mysql-dump/"
_IMAGE_PLACE = "insitu_image_storage/"
_THUMBNAILS = "thumbnails/"
_STEP = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
_SAFE = re.compile(rf"(?:{_STEP}/){{0,4}}{_STEP}\.(?:jpe|jpe?g|png|bmp|tiff?|gif)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class FetchPlan:
    """The images to fetch from BDGP's site, sorted and each once, and the images with unsafe names."""

    images: list
    refused: list  # (name, reason)
    n_genes: int


def file_url(base_url, name):
    """Return the address of one of BDGP's two dumps, or of an image by its path in the dump."""
    place = _TABLE_PLACE if name in FILES.values() else _IMAGE_PLACE
    return f"{base_url.rstrip('/')}/{place}{name}"


def parse_gene_names(values):
    """Return the list of gene names that the option --genes gives.

    values : list of str, names separated by commas, or @FILE for a file with one name a line

    Raises
    ------
    InputError
        If a file cannot be read.
    """
    names = []
    for value in values:
        if value.startswith("@"):
            names += read_text(value[1:], fix="give a file with one gene a line").splitlines()
        else:
            names += value.split(",")
    return [name.strip() for name in names if name.strip()]


def choose_site_images(annotations, images, *, genes=(), stage_ranges=(), most=None, thumbnails=False):
    """Choose the images of some genes and stage ranges from BDGP's dumps.

    Parameters
    ----------
    annotations, images : Paths of the two dumps
    genes : symbols, CG numbers or FlyBase numbers; empty for all
    stage_ranges : names; empty for all
    most : largest number of images; None for all
    thumbnails : if True, the site's small copies are chosen, which are in a folder of their own

    Returns
    -------
    plan : FetchPlan

    Raises
    ------
    InputError
        If a gene is unknown, or several genes have the name.
    """
    log = ImportLog()
    known = GeneTable()
    rows = TABLES.rows(images, log)
    known.add_rows([*rows, *TABLES.rows(annotations, log)])
    wanted = {_gene_id_for_name(known, name) for name in genes}
    chosen = set()
    refused = {}
    gene_ids = set()
    for row in rows:
        if not row.items or stage_ranges and parse_published_stage(row.stage) not in stage_ranges:
            continue
        try:
            gene = known.find(*row.names, fbgn=row.fbgn)
            gene_id = gene.gene_id if gene else ""
        except AmbiguousGene:
            gene_id = ""
        if wanted and gene_id not in wanted:
            continue
        (name,) = row.items
        gene_ids.add(gene_id)
        if _SAFE.fullmatch(name):
            chosen.add(name)
        else:
            refused[name] = "not a safe name for a file in the folder"
    for name in chosen & {str(folder) for path in chosen for folder in PurePosixPath(path).parents}:
        chosen.remove(name)
        refused[name] = "other images are in a folder of that name"
    names = [_THUMBNAILS + name if thumbnails else name for name in sorted(chosen)[:most]]
    return FetchPlan(names, list(refused.items()), len(gene_ids))


def _gene_id_for_name(known, name):
    try:
        gene = known.find(name)
    except AmbiguousGene as unclear:
        raise InputError(f"several genes have this name: {unclear}", fix="use the FlyBase number") from None
    if gene.fbgn not in known.symbols:
        names = [name for fbgns in known.fbgns for name in fbgns]
        raise InputError(
            f'no gene "{name}" in the dumps.{did_you_mean(name, names)}', fix="symbols are case-sensitive"
        )
    return gene.gene_id


def validate_downloaded_image(path):
    """Return the reason why a downloaded file is not a readable picture, or "" if it is one.

    The file may have any suffix.
    """
    from flyannot.images.embryo import read_grey
    from flyannot.images.unreadable import UnusableImage

    found = recognise_file(path).name
    if not found.endswith(" picture"):
        return f"{found or 'a file of unknown kind'}, not an image"
    try:
        read_grey(path)
    except UnusableImage as error:
        return f"a damaged image: {error.reason}"
    return ""


def validate_downloaded_table(path, kind):
    """Return the reason why a downloaded file is not a dump of BDGP, or "" if it is one.

    kind : "images" or "terms"
    """
    if recognise_file(path) is WEB_PAGE:
        return "a web page, not a table"
    try:
        kinds = [detect_dump_kind(cells) for _, cells, fault in read_source_rows(path) if not fault]
    except FlyannotError as error:
        return f"a damaged table: {error.message}"
    if not kinds or kinds.count(kind) < 0.9 * len(kinds):
        return "not the table that was expected"
    return ""
