"""What the names in published tables mean, and what is taken: images and terms, each once and for one gene.

A gene is known by FlyBase number, by symbol, by CG number; case-sensitively, never by guess.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache

from flyannot.base.stage_ranges import STAGE_RANGES, bdgp_name
from flyannot.files.tables import read_table

UNKNOWN_STAGE = "unknown stage"
NO_GENE = "no gene"
SEVERAL_GENES = "a name of several genes"
NO_IMAGE = "names no image"
NO_TERM = "no annotation"
REPEATED = "duplicate"
OTHER_GENE = "already the image of another gene"
OTHER_STAGE = "already the image of another stage range"
_NUMBERED = {str(number): name for number, name in enumerate(STAGE_RANGES, start=1)}

_FBGN = re.compile(r"FBgn\d{7}")


class UnclearGene(Exception):
    """A name that several genes have."""


@dataclass(frozen=True, slots=True)
class Gene:
    """A symbol, and the FlyBase number or ""."""

    symbol: str
    fbgn: str = ""

    @property
    def gene_id(self):
        return self.fbgn or self.symbol


class Genes:
    """The names of genes that are known; add them one by one, then ask."""

    def __init__(self):
        self.symbols = {}  # fbgn -> its first symbol, or ""
        self.fbgns = [defaultdict(set) for _ in range(3)]  # of each symbol, CG number, and synonym

    def add(self, fbgn, symbol, cg="", synonyms=()):
        """Take in one gene; rows that say less, or the same again, are fine."""
        if not _FBGN.fullmatch(fbgn):
            return
        self.symbols[fbgn] = self.symbols.get(fbgn) or symbol
        for names, fbgns in zip(([symbol], [cg], synonyms), self.fbgns):
            for name in filter(None, names):
                fbgns[name].add(fbgn)

    def learn(self, rows):
        """Take in what the rows of tables say themselves of which name is which gene."""
        for row in rows:
            self.add(row.fbgn, *row.names)

    def named(self, *names, fbgn=""):
        """The gene that is meant: by its number if it has one, else by the first name that is known.

        A name nobody knows is a gene of its own; without any name it is None.  Raises UnclearGene if a name
        belongs to several.
        """
        if not _FBGN.fullmatch(fbgn):
            fbgn = next((name for name in names if _FBGN.fullmatch(name)), "")
        names = [name for name in names if name]
        if fbgn:
            return Gene(self.symbols.get(fbgn) or next(iter(names), fbgn), fbgn)
        for known in self.fbgns:
            for name in filter(known.__contains__, names):
                if len(known[name]) > 1:
                    raise UnclearGene(f"{name} is {' and '.join(sorted(known[name]))}")
                (fbgn,) = known[name]
                return Gene(self.symbols[fbgn] or name, fbgn)
        return Gene(names[0]) if names else None


def read_genes(path):
    """Return the Genes of a table with the columns fbgn and gene, and perhaps cg and synonyms (separated by
    |).

    BDGP's annotations with a header are such a table.  Rows without a number or a symbol are passed over.
    InputError if there is no such table, or it lacks one of the two columns.
    """
    genes = Genes()
    for _, (fbgn, symbol, cg, synonyms) in read_table(path, ("fbgn", "gene"), ("cg", "synonyms"), faults=[]):
        genes.add(fbgn, symbol, cg, synonyms.split("|"))
    return genes


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One usable row of a table; `items` are the names of images, or the terms."""

    table: str
    line: int
    names: tuple  # of the gene: symbol, CG number
    stage: str
    items: tuple
    fbgn: str = ""
    view: str = ""
    turned: str = ""  # one of `flyannot.images.address.TURNS`


def resolve_tables(image_rows, term_rows, genes, pictures, log):
    """Decide what is taken; whatever is not is entered in the log.

    Parameters
    ----------
    image_rows, term_rows : lists of SourceRow
    genes : Genes
    pictures : PictureFolder
    log : ImportLog

    Returns
    -------
    images, terms : lists of rows for images.csv and annotations.csv, dicts
    one_gene : list of (name, name) of genes that share an image
    """
    placed_images = list(_placed(image_rows, genes, log, "image rows", NO_IMAGE))
    placed_terms = list(_placed(term_rows, genes, log, "annotation rows", NO_TERM))
    same, terms, images = _SameGenes(placed_images), {}, {}
    for term, row, gene, stage_range in _items(placed_terms, same):
        key = gene.gene_id, stage_range, term
        if term and key not in terms:
            terms[key] = {"gene": gene.symbol, "fbgn": gene.fbgn, "stage_range": stage_range, "term": term}
            log.take("terms")
        else:
            log.reject("terms", row.table, row.line, term, REPEATED if term else NO_TERM, gene.symbol)
    for name, row, gene, stage_range in _items(placed_images, same):
        path, reason = pictures.find(name)
        detail = ""
        if path in images:
            reason, detail = _reason_against(images[path], row, gene, stage_range)
        if reason:
            log.reject("images", row.table, row.line, name, reason, detail)
            continue
        entry = {"image": f"images/{path}", "gene": gene.symbol, "fbgn": gene.fbgn}
        entry |= {"stage_range": stage_range, "view": row.view, "turned": row.turned}
        images[path] = entry, gene.gene_id, row.line
        log.take("images")
    return [entry for entry, *_ in images.values()], list(terms.values()), same.pairs


def _items(placed, same):
    """Yield every item of the placed rows with its row, gene and stage range."""
    for row, gene, stage_range in placed:
        for item in row.items:
            yield item, row, same.as_one(gene), stage_range


def _reason_against(taken, row, gene, stage_range):
    """Return why a picture that is `taken` (its entry, gene_id and line) is not taken again, and a detail."""
    entry, gene_id, line = taken
    detail = f"as on line {line}: {entry['gene']}, {entry['stage_range']}"
    if gene_id != gene.gene_id:
        return OTHER_GENE, detail
    if entry["stage_range"] != stage_range:
        return OTHER_STAGE, detail
    if entry["view"] != row.view:
        entry["view"] = ""  # two views are claimed: which is right is unknown
    return REPEATED, detail


def _placed(rows, genes, log, sort, nothing):
    """The rows whose gene and stage range are known, with both."""
    for row in rows:
        stage_range, detail = stage_range_of(row.stage), ""
        try:
            gene = genes.named(*row.names, fbgn=row.fbgn)
            reason = (not gene and NO_GENE) or (not row.items and nothing)
        except UnclearGene as unclear:
            reason, detail = SEVERAL_GENES, str(unclear)
        if not stage_range:
            reason, detail = UNKNOWN_STAGE, row.stage
        if reason:
            item = next(filter(None, row.names), row.fbgn)
            log.reject(sort, row.table, row.line, item, reason, detail)
        else:
            log.take(sort)
            yield row, gene, stage_range


@cache
def stage_range_of(text):
    """The stage range of a published table's stage: BDGP's name of it, or its number, 1 to 6; else None.

    FlyExpress's tables and BDGP's dumps number the stage ranges; everywhere else 5 is a stage.
    """
    return _NUMBERED.get(text.strip()) or bdgp_name(text)


class _SameGenes:
    """Genes that share an image are one gene, unless FlyBase numbers them apart."""

    def __init__(self, placed_images):
        self.pairs, self._one, first = [], {}, {}
        for row, gene, _ in placed_images:
            for image in row.items:
                this, other = self.as_one(gene), self.as_one(first.setdefault(image, gene))
                if this != other and not (this.fbgn and other.fbgn):
                    kept, given_up = (this, other) if this.fbgn else (other, this)
                    self._one[given_up] = kept
                    self.pairs.append((given_up.symbol, kept.symbol))

    def as_one(self, gene):
        while gene in self._one:
            gene = self._one[gene]
        return gene
