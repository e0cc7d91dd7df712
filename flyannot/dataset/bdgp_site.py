"""BDGP's site: what is fetched from it, whether what arrived is that, and what is there already.

The addresses are those that published programs use; they were not tried against the site itself.
"""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from flyannot.base.errors import FlyannotError, InputError, did_you_mean
from flyannot.dataset.importers.bdgp import DUMPS, TABLES, dump_kind
from flyannot.dataset.importers.import_log import ImportLog
from flyannot.dataset.importers.resolve import AmbiguousGene, Genes, stage_range_of
from flyannot.dataset.importers.source_tables import read_source_rows
from flyannot.files.digest import digest_of_file
from flyannot.files.tables import read_table, write_table
from flyannot.files.text_files import first_bytes, read_text

FILES = {kind: f"{name}.gz" for kind, name in DUMPS.items()}
MANIFEST = "manifest.csv"
MOST_BYTES_OF_IMAGE = 50_000_000
MOST_BYTES_OF_TABLE = 500_000_000
_TABLE_PLACE, _IMAGE_PLACE, _THUMBNAILS = "insitu-mysql-dump/", "insitu_image_storage/", "thumbnails/"
_MANIFEST_COLUMNS = ("file", "bytes", "sha256", "url")
_PICTURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"BM", b"GIF8", b"II*\0", b"MM\0*")
_STEP = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
_SAFE = re.compile(rf"(?:{_STEP}/){{0,4}}{_STEP}\.(?:jpe|jpe?g|png|bmp|tiff?|gif)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class FetchPlan:
    """The images to fetch (paths as in the dump, each once, sorted), and those it would be unsafe to."""

    images: list
    refused: list  # (name, reason)
    n_genes: int


def url_of_file(base_url, name):
    """The address of one of the two dumps, or of an image by its path as the dump has it."""
    place = _TABLE_PLACE if name in FILES.values() else _IMAGE_PLACE
    return f"{base_url.rstrip('/')}/{place}{name}"


def gene_names(values):
    """The names in values of --genes: separated by commas, or @FILE with one a line.  InputError if a file
    cannot be read."""
    names = []
    for value in values:
        if value.startswith("@"):
            names += read_text(value[1:], fix="name a file with one gene a line").splitlines()
        else:
            names += value.split(",")
    return [name.strip() for name in names if name.strip()]


def plan_images(annotations, images, *, genes=(), stage_ranges=(), most=None, thumbnails=False):
    """The FetchPlan of the images that the dumps name for some genes and stage ranges; empty means all.

    `annotations` and `images` are the paths of the dumps, `genes` symbols, CG or FlyBase numbers; no more
    than `most` images are taken, None for all.  Thumbnails lie below a folder of their own, as on the site.
    InputError if a gene is unknown or its name unclear.
    """
    log, known = ImportLog(), Genes()
    rows = TABLES.rows(images, log)
    known.add_rows([*rows, *TABLES.rows(annotations, log)])
    wanted = {_gene_id_for_name(known, name) for name in genes}
    chosen, refused, gene_ids = set(), {}, set()
    for row in rows:
        if not row.items or stage_ranges and stage_range_of(row.stage) not in stage_ranges:
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
            refused[name] = "not the name of an image below the folder"
    for name in chosen & {str(folder) for path in chosen for folder in PurePosixPath(path).parents}:
        chosen.remove(name)
        refused[name] = "other images lie in a folder of that name"
    names = [_THUMBNAILS + name if thumbnails else name for name in sorted(chosen)[:most]]
    return FetchPlan(names, list(refused.items()), len(gene_ids))


def _gene_id_for_name(known, name):
    try:
        gene = known.find(name)
    except AmbiguousGene as unclear:
        raise InputError(f"unclear gene: {unclear}", fix="name it by its FlyBase number") from None
    if gene.fbgn not in known.symbols:
        names = [name for fbgns in known.fbgns for name in fbgns]
        raise InputError(
            f'no gene "{name}" in the dumps.{did_you_mean(name, names)}', fix="symbols are case-sensitive"
        )
    return gene.gene_id


def validate_downloaded_image(path):
    """Why this is no picture that can be read; "" if it is one.  Its bytes decide, and nothing else."""
    from flyannot.images.picture import read_grey
    from flyannot.images.unreadable import UnreadableImage

    start = first_bytes(path, 512)
    if not start.startswith(_PICTURES):
        return "a web page, not an image" if _is_page(start) else "not an image"
    try:
        read_grey(path)
    except UnreadableImage as error:
        return f"a damaged image: {error.reason}"
    return ""


def validate_downloaded_table(path, kind):
    """Why this is not the dump of that kind; "" if it is."""
    if _is_page(first_bytes(path, 512)):
        return "a web page, not a table"
    try:
        kinds = [dump_kind(cells) for _, cells, fault in read_source_rows(path) if not fault]
    except FlyannotError as error:
        return f"a damaged table: {error.message}"
    if not kinds or kinds.count(kind) < 0.9 * len(kinds):
        return "not the table that was expected"
    return ""


def _is_page(start):
    return start.lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml"))


class Manifest:
    """manifest.csv of one folder: every file that was fetched, with its size, digest and address."""

    def __init__(self, folder):
        self._folder, self.path, self._files = folder, folder / MANIFEST, {}
        if self.path.exists():
            for _, (name, n_bytes, sha256, url) in read_table(self.path, _MANIFEST_COLUMNS):
                if n_bytes.isdecimal() and len(sha256) == 64:
                    self._files[name] = int(n_bytes), sha256, url

    def has(self, name):
        """Whether this file was fetched and is there in full size; its bytes are not read."""
        try:
            return (self._folder / name).stat().st_size == self._files[name][0]
        except (KeyError, OSError):
            return False

    def add(self, name, path, url):
        """Take in a file, which lies at `path`."""
        self._files[name] = path.stat().st_size, digest_of_file(path), url

    def save(self):
        """Write the table, in the order of names."""
        if self._files:
            write_table(self.path, _MANIFEST_COLUMNS, ((n, *row) for n, row in sorted(self._files.items())))
