"""What to fetch from BDGP's site: the two dumps, and the images they name.

The addresses are those that published programs use; they were not tried against the site itself.
"""

import re
from dataclasses import dataclass

from flyannot.dataset.importers import bdgp
from flyannot.dataset.importers.accounts import Accounts
from flyannot.dataset.importers.genes import Genes, UnclearGene
from flyannot.errors import InputError, did_you_mean
from flyannot.stage_ranges import parse_stage_range

BASE_URL = "https://insitu.fruitfly.org/"
TABLES = {
    f"{bdgp.ANNOTATIONS}.gz": bdgp.has_width_of_annotations,
    f"{bdgp.IMAGES}.gz": bdgp.has_width_of_images,
}
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
    accounts, known = Accounts(), Genes()
    rows = bdgp.read_image_rows(images, accounts)
    bdgp.add_genes(known, [*rows, *bdgp.read_term_rows(annotations, accounts)])
    wanted = {_named(known, name) for name in genes}
    chosen, refused, found = set(), {}, set()
    for row in rows:
        if not row.items or stage_ranges and _stage_range(row.stage) not in stage_ranges:
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


def _stage_range(text):
    try:
        return parse_stage_range(text)
    except InputError:
        return None
