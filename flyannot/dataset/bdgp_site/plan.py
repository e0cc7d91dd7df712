"""What to fetch from BDGP's site: the two dumps, and the images they name.

The addresses are those that published programs use; they were not tried against the site itself.
"""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from flyannot.dataset.importers.bdgp import DUMPS, TABLES
from flyannot.dataset.importers.genes import Genes, UnclearGene
from flyannot.dataset.importers.import_log import ImportLog
from flyannot.dataset.importers.resolve import stage_range_of
from flyannot.errors import InputError, did_you_mean

FILES = {kind: f"{name}.gz" for kind, name in DUMPS.items()}
_TABLE_PLACE, _IMAGE_PLACE = "insitu-mysql-dump/", "insitu_image_storage/"

_STEP = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
_SAFE = re.compile(rf"(?:{_STEP}/){{0,4}}{_STEP}\.(?:jpe|jpe?g|png|bmp|tiff?|gif)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Plan:
    """The images to fetch (paths as in the dump, each once, sorted), and those it would be unsafe to."""

    images: list
    refused: list  # (name, reason)
    n_genes: int


def url_of_table(base_url, name):
    return f"{base_url.rstrip('/')}/{_TABLE_PLACE}{name}"


def url_of_image(base_url, path):
    return f"{base_url.rstrip('/')}/{_IMAGE_PLACE}{path}"


def gene_names(values):
    """The names in values of --genes: separated by commas, or @FILE with one a line.

    Raises
    ------
    InputError
        If a file cannot be read.
    """
    names = []
    for value in values:
        if value.startswith("@"):
            try:
                names += Path(value[1:]).read_text(encoding="utf-8-sig").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"cannot read the genes in {value[1:]}: {error}") from None
        else:
            names += value.split(",")
    return [name.strip() for name in names if name.strip()]


def plan_images(annotations, images, *, genes=(), stage_ranges=(), most=None):
    """Which images the dumps name for some genes and stage ranges; empty means all.

    Parameters
    ----------
    annotations, images : paths of the two dumps
    genes : list of symbols, CG or FlyBase numbers
    stage_ranges : list of stage ranges
    most : int, take no more than so many; None for all

    Returns
    -------
    plan : Plan

    Raises
    ------
    InputError
        If a gene is unknown or its name unclear.
    """
    log, known = ImportLog(), Genes()
    rows = TABLES.rows("images", images, log)
    known.learn([*rows, *TABLES.rows("terms", annotations, log)])
    wanted = {_named(known, name) for name in genes}
    chosen, refused, found = set(), {}, set()
    for row in rows:
        if not row.items or stage_ranges and stage_range_of(row.stage) not in stage_ranges:
            continue
        gene_id = _gene_id(known, row)
        if wanted and gene_id not in wanted:
            continue
        (name,) = row.items
        found.add(gene_id)
        if _SAFE.fullmatch(name):
            chosen.add(name)
        else:
            refused[name] = "not the name of an image below the folder"
    for name in chosen & {str(folder) for one in chosen for folder in PurePosixPath(one).parents}:
        chosen.remove(name)
        refused[name] = "other images lie in a folder of that name"
    return Plan(sorted(chosen)[:most], list(refused.items()), len(found))


def _named(known, name):
    try:
        gene = known.named(name)
    except UnclearGene as unclear:
        raise InputError(f"unclear gene: {unclear}", fix="name it by its FlyBase number") from None
    if not gene.fbgn or not known.has(gene.fbgn):
        names = [name for known_names in known.by_name() for name in known_names]
        raise InputError(
            f'no gene "{name}" in the dumps.{did_you_mean(name, names)}', fix="symbols are case-sensitive"
        )
    return gene.gene_id


def _gene_id(known, row):
    try:
        return known.named(*row.names, fbgn=row.fbgn).gene_id if row.fbgn or any(row.names) else ""
    except UnclearGene:
        return ""
