"""The genes, images and terms that an import takes from the rows of published tables.

A gene is identified by FlyBase number, by symbol, or by CG number.  Capitals count, and nothing is guessed.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import STAGE_RANGES, match_stage_range_name
from flyannot.base.text import clean_name, is_unknown
from flyannot.dataset.table_warnings import warn_about
from flyannot.files.tables import MissingColumnsError, read_table
from flyannot.files.text_files import row_limit

UNKNOWN_STAGE = "unknown stage"
NO_GENE = "no gene"
AMBIGUOUS_GENE = "several genes have this name"
NO_IMAGE = "no image"
NO_TERM = "no annotation"
REPEATED = "duplicate"
OTHER_GENE = "already the image of another gene"
OTHER_STAGE = "already the image of another stage range"
_NUMBERED = {str(number): name for number, name in enumerate(STAGE_RANGES, start=1)}

_FBGN = re.compile(r"FBgn\d{7}")
_GENE_COLUMNS = (  # flyannot's names of the columns of a table of genes, and FlyBase's in two of its tables
    ("fbgn", "gene", "cg", "synonyms"),
    ("primary_fbgn", "gene_symbol", "annotation_id", "secondary_annotation_id(s)"),
    ("primary_fbid", "current_symbol", "annotation_id", "symbol_synonym(s)"),
)


class AmbiguousGene(Exception):
    """The error for a name that several genes have."""


@dataclass(frozen=True, slots=True)
class Gene:
    """A gene's symbol, and its FlyBase number or ""."""

    symbol: str
    fbgn: str = ""

    @property
    def gene_id(self):
        return self.fbgn or self.symbol


class GeneTable:
    """A table of genes that can be searched by FlyBase number, symbol, CG number or synonym."""

    def __init__(self):
        self.symbols = {}  # fbgn -> its first symbol, or ""
        self.fbgns = [{}, {}, {}]  # by symbol, by CG number, by synonym; a set takes much memory

    def add(self, fbgn, symbol, cg="", synonyms=()):
        """Add one gene with its names; names that are known already change nothing.

        fbgn : FlyBase number; cg : CG number or ""
        """
        if not _FBGN.fullmatch(fbgn):
            return
        self.symbols[fbgn] = self.symbols.get(fbgn) or symbol
        alone = (fbgn,)
        for names, fbgns in zip(([symbol], [cg], synonyms), self.fbgns):
            for name in filter(None, names):
                known = fbgns.setdefault(name, alone)
                if len(known) > 1:
                    known.add(fbgn)
                elif known != alone:
                    fbgns[name] = {fbgn, *known}

    def add_rows(self, rows):
        """Add the genes of rows that have a FlyBase number and names."""
        for row in rows:
            self.add(row.fbgn, *row.names)

    def find(self, *names, fbgn=""):
        """Return the Gene with a FlyBase number or, without one, with the first of some names that is known.

        A name that is not known gives a new Gene. Without any name the result is None.

        Raises
        ------
        AmbiguousGene
            If several genes have the name.
        """
        if not _FBGN.fullmatch(fbgn):
            fbgn = next((name for name in names if _FBGN.fullmatch(name)), "")
        names = [name for name in names if name]
        if fbgn:
            return Gene(self.symbols.get(fbgn) or next(iter(names), fbgn), fbgn)
        for known in self.fbgns:
            for name in filter(known.__contains__, names):
                if len(known[name]) > 1:
                    raise AmbiguousGene(f"{name} is {' and '.join(sorted(known[name]))}")
                (fbgn,) = known[name]
                return Gene(self.symbols[fbgn] or name, fbgn)
        return Gene(names[0]) if names else None


def read_genes(path):
    """Read the Genes of a table with the columns fbgn and gene, and perhaps cg and synonyms (separated by |).

    BDGP's annotations with a header are such a table, and so are FlyBase's tables fbgn_annotation_ID and
    fb_synonym.  Rows without a number or a symbol are left out.  Raises InputError if the table does not
    exist, lacks one of the two columns, or has too many synonyms for its size.
    """
    errors = []
    most = row_limit(path) if Path(path).is_file() else 0
    for columns in _GENE_COLUMNS:
        genes = GeneTable()
        faults = []
        try:
            for _, (fbgn, symbol, cg, synonyms) in read_table(path, columns[:2], columns[2:], faults=faults):
                if not is_unknown(symbol, "gene"):
                    genes.add(fbgn, clean_name(symbol), cg, re.split("[|,]", synonyms))
                if len(genes.fbgns[-1]) > most:
                    what = f"{path} has more than {most:,} synonyms, too many for its size"
                    raise InputError(what, fix="give a table of genes of one species")
        except MissingColumnsError as error:
            errors.append(error)
            continue
        shown = [error.message for error in faults]
        warn_about(Path(path), shown, "row of genes is left out", "rows of genes are left out")
        return genes
    raise errors[0]


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One usable row of a published table. Its `items` are the names of images, or the terms."""

    table: str
    line: int
    names: tuple  # symbol and CG number of the gene
    stage: str
    items: tuple
    fbgn: str = ""
    view: str = ""
    turned: str = ""  # one of TURNS, or ""


def resolve_tables(image_rows, term_rows, genes, pictures, log):
    """Decide which images and terms are taken; the log gets all others with a reason.

    Parameters
    ----------
    image_rows, term_rows : lists of SourceRow
    genes : GeneTable
    pictures : PictureFolder
    log : ImportLog

    Returns
    -------
    images, terms : lists of rows for images.csv and annotations.csv, dicts
    one_gene : list of (name, name) of genes that share an image
    """
    placed_images = list(_resolve_rows(image_rows, genes, log, "image rows", NO_IMAGE))
    placed_terms = list(_resolve_rows(term_rows, genes, log, "annotation rows", NO_TERM))
    same = _GeneMerger(placed_images)
    terms = {}
    images = {}
    for term, row, gene, stage_range in _iterate_items(placed_terms, same):
        key = gene.gene_id, stage_range, term
        is_term = not is_unknown(term, "term")
        if is_term and key not in terms:
            terms[key] = {"gene": gene.symbol, "fbgn": gene.fbgn, "stage_range": stage_range, "term": term}
            log.taken["terms"] += 1
        else:
            log.reject("terms", row.table, row.line, term, REPEATED if is_term else NO_TERM, gene.symbol)
    for name, row, gene, stage_range in _iterate_items(placed_images, same):
        path, reason = pictures.find(name)
        detail = ""
        if path in images:
            reason, detail = _rejection_reason(images[path], row, gene, stage_range)
        if reason:
            log.reject("images", row.table, row.line, name, reason, detail, [name])
            continue
        entry = {"image": f"images/{path}", "gene": gene.symbol, "fbgn": gene.fbgn}
        entry |= {"stage_range": stage_range, "view": row.view, "turned": row.turned}
        images[path] = entry, gene.gene_id, row.line
        log.taken["images"] += 1
    return [entry for entry, *_ in images.values()], list(terms.values()), same.pairs


def _iterate_items(placed, same):
    """Yield (item, row, gene, stage range) for every image name or term of some rows.

    placed : list of (SourceRow, Gene, stage range); same : _GeneMerger, which replaces merged genes
    """
    for row, gene, stage_range in placed:
        for item in row.items:
            yield item, row, same.merged(gene), stage_range


def _rejection_reason(taken, row, gene, stage_range):
    """Return the reason why a picture that an earlier row named is not taken again, and a detail.

    taken : (row for images.csv, gene identifier, line) of the earlier row; row, gene, stage_range : the
        present one
    """
    entry, gene_id, line = taken
    detail = f"as on line {line}: {entry['gene']}, {entry['stage_range']}"
    if gene_id != gene.gene_id:
        return OTHER_GENE, detail
    if entry["stage_range"] != stage_range:
        return OTHER_STAGE, detail
    if entry["view"] != row.view:
        entry["view"] = ""  # the rows disagree, and nothing says which is right
    return REPEATED, detail


def _resolve_rows(rows, genes, log, sort, nothing):
    """Yield (row, gene, stage range) for rows whose gene and stage range are known; the log gets the others.

    rows : list of SourceRow; genes : GeneTable; sort : of things for the log; nothing : reason for a row
        without items
    """
    for row in rows:
        stage_range = parse_published_stage(row.stage)
        detail = ""
        try:
            names = [name for name in row.names if not is_unknown(name, "gene")]
            gene = genes.find(*names, fbgn=row.fbgn)
            reason = (not gene and NO_GENE) or (not row.items and nothing)
        except AmbiguousGene as unclear:
            reason = AMBIGUOUS_GENE
            detail = str(unclear)
        if not stage_range:
            reason = UNKNOWN_STAGE
            detail = row.stage
        if reason:
            item = next(filter(None, row.names), row.fbgn)
            images = row.items if nothing is NO_IMAGE else ()
            log.reject(sort, row.table, row.line, item, reason, detail, images)
        else:
            log.taken[sort] += 1
            yield row, gene, stage_range


@cache
def parse_published_stage(text):
    """Return the stage range that a published table means; None if the text is none.

    In the tables of FlyExpress and BDGP, 1 to 6 are the six stage ranges. Everywhere else 5 is a stage.
    """
    return _NUMBERED.get(text.strip()) or match_stage_range_name(text)


class _GeneMerger:
    """A merger of genes that share an image: they count as one gene, unless both have FlyBase numbers."""

    def __init__(self, placed_images):
        self.pairs = []
        self._one = {}
        first = {}
        for row, gene, _ in placed_images:
            for image in row.items:
                this = self.merged(gene)
                other = self.merged(first.setdefault(image, gene))
                if this != other and not (this.fbgn and other.fbgn):
                    kept, given_up = (this, other) if this.fbgn else (other, this)
                    self._one[given_up] = kept
                    self.pairs.append((given_up.symbol, kept.symbol))

    def merged(self, gene):
        """Return the one Gene that represents a gene and all genes that are merged with it."""
        while gene in self._one:
            gene = self._one[gene]
        return gene
