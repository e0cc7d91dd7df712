"""From the rows of published tables to images and terms, each taken once and for one gene."""

from dataclasses import dataclass, field

from flyannot.dataset.importers.accounts import Drop, reason_of_row
from flyannot.dataset.importers.genes import Gene, UnclearGene
from flyannot.errors import InputError
from flyannot.stage_ranges import parse_stage_range

UNKNOWN_STAGE = "unknown stage"
NO_GENE = "no gene"
SEVERAL_GENES = "a name of several genes"
NO_IMAGE = "names no image"
NO_TERM = "no annotation"
REPEATED = "duplicate"
OTHER_GENE = "already the image of another gene"
OTHER_STAGE = "already the image of another stage range"
NOT_ANNOTATED = "its gene is not annotated in this stage range"


@dataclass(frozen=True, slots=True)
class Row:
    """One usable row of a table; `items` are the names of images, or the terms."""

    table: str
    line: int
    names: tuple  # of the gene: symbol, CG number
    stage: str
    items: tuple
    fbgn: str = ""
    view: str = ""


@dataclass
class Gathered:
    """What goes into the data set: rows for images.csv and annotations.csv, by their columns."""

    images: list = field(default_factory=list)
    terms: list = field(default_factory=list)
    merged: list = field(default_factory=list)  # (name, name) of genes that share an image


def gather(image_rows, term_rows, genes, pictures, accounts, *, only_annotated=False):
    """Decide what is taken; whatever is not is entered in `accounts`.

    Parameters
    ----------
    image_rows, term_rows : lists of Row
    genes : flyannot.dataset.importers.genes.Genes
    pictures : flyannot.dataset.importers.pictures.Pictures
    accounts : flyannot.dataset.importers.accounts.Accounts
        Gets "image rows", "images", "annotation rows" and "terms".
    only_annotated : bool
        Take no image of a gene without terms in its stage range.

    Returns
    -------
    gathered : Gathered
    """
    placed_images = list(_placed(image_rows, genes, accounts, "image rows", NO_IMAGE))
    placed_terms = list(_placed(term_rows, genes, accounts, "annotation rows", NO_TERM))
    same = _SameGenes()
    for row, gene, _ in placed_images:
        for name in row.items:
            same.seen(name, gene)
    gathered = Gathered(merged=same.merged)
    annotated = _take_terms(placed_terms, same, gathered, accounts)
    taking = _TakingImages(pictures, gathered, accounts, annotated if only_annotated else None)
    for row, gene, stage_range in placed_images:
        taking.take(row, same.as_one(gene), stage_range)
    return gathered


def _placed(rows, genes, accounts, account, nothing):
    """The rows whose gene and stage range are known, with both."""
    stage_range_of, gene_of = {}, {}
    for row in rows:
        reason, detail = "" if row.items else nothing, ""
        if row.stage not in stage_range_of:
            stage_range_of[row.stage] = _stage_range(row.stage)
        stage_range = stage_range_of[row.stage]
        who = (row.names, row.fbgn)
        if who not in gene_of:
            gene_of[who] = _gene(genes, row)
        gene = gene_of[who]
        if not stage_range:
            reason, detail = UNKNOWN_STAGE, row.stage
        elif not isinstance(gene, Gene):
            reason, detail = gene
        if reason:
            accounts.drop(account, Drop(row.table, row.line, _item(row), reason, detail))
        else:
            yield row, gene, stage_range


def _stage_range(text):
    try:
        return parse_stage_range(text)
    except InputError:
        return ""


def _gene(genes, row):
    """The Gene, or (reason, detail) why there is none."""
    if not row.fbgn and not any(row.names):
        return NO_GENE, ""
    try:
        return genes.named(*row.names, fbgn=row.fbgn)
    except UnclearGene as unclear:
        return SEVERAL_GENES, str(unclear)


def _item(row):
    return next(filter(None, row.names), row.fbgn)


class _SameGenes:
    """Genes that share an image are one gene, unless FlyBase numbers them apart."""

    def __init__(self):
        self.merged, self._first, self._one = [], {}, {}

    def seen(self, image, gene):
        mine, other = self.as_one(gene), self.as_one(self._first.setdefault(image, gene))
        if mine == other or mine.fbgn and other.fbgn:
            return
        kept, given_up = (mine, other) if mine.fbgn else (other, mine)
        self._one[given_up] = kept
        self.merged.append((given_up.symbol, kept.symbol))

    def as_one(self, gene):
        while gene in self._one:
            gene = self._one[gene]
        return gene


def _take_terms(placed, same, gathered, accounts):
    """Every term once; the set of (gene_id, stage range) that have any."""
    known, annotated = set(), set()
    for row, gene, stage_range in placed:
        gene = same.as_one(gene)
        reasons = []
        for term in row.items:
            key = (gene.gene_id, stage_range, term)
            if not term or key in known:
                reasons.append(REPEATED if term else NO_TERM)
                accounts.drop("terms", Drop(row.table, row.line, f"{gene.symbol}: {term}", reasons[-1]))
                continue
            known.add(key)
            annotated.add(key[:2])
            accounts.take("terms")
            gathered.terms.append(
                {"gene": gene.symbol, "fbgn": gene.fbgn, "stage_range": stage_range, "term": term}
            )
        _settle(accounts, "annotation rows", row, reasons)
    return annotated


def _settle(accounts, account, row, reasons):
    """A row is taken if anything in it was; else it is dropped for the reasons of its parts."""
    if len(reasons) < len(row.items):
        accounts.take(account)
    else:
        accounts.count_drop(account, reason_of_row(reasons))


class _TakingImages:
    """Every picture file once."""

    def __init__(self, pictures, gathered, accounts, annotated):
        self._pictures, self._gathered, self._accounts = pictures, gathered, accounts
        self._annotated = annotated  # None: whether it is annotated does not matter
        self._taken = {}  # path -> its row of images.csv, its gene_id and line

    def take(self, row, gene, stage_range):
        reasons = []
        for name in row.items:
            path, reason, detail = self._judge(name, row, gene, stage_range)
            if reason:
                reasons.append(reason)
                self._accounts.drop("images", Drop(row.table, row.line, name, reason, detail))
            else:
                self._enter(path, row, gene, stage_range)
        _settle(self._accounts, "image rows", row, reasons)

    def _judge(self, name, row, gene, stage_range):
        """Its path, and the reason and detail why it is not taken."""
        path, reason = self._pictures.find(name)
        if reason:
            return path, reason, ""
        if self._annotated is not None and (gene.gene_id, stage_range) not in self._annotated:
            return path, NOT_ANNOTATED, ""
        if path in self._taken:
            return path, *self._conflict(path, row, gene, stage_range)
        return path, "", ""

    def _enter(self, path, row, gene, stage_range):
        entry = {
            "image": f"images/{path}",
            "gene": gene.symbol,
            "fbgn": gene.fbgn,
            "stage_range": stage_range,
            "view": row.view,
        }
        self._taken[path] = entry, gene.gene_id, row.line
        self._gathered.images.append(entry)
        self._accounts.take("images")

    def _conflict(self, path, row, gene, stage_range):
        entry, gene_id, line = self._taken[path]
        detail = f"as on line {line}: {entry['gene']}, {entry['stage_range']}"
        if gene_id != gene.gene_id:
            return OTHER_GENE, detail
        if entry["stage_range"] != stage_range:
            return OTHER_STAGE, detail
        if entry["view"] != row.view:
            entry["view"] = ""  # two views are claimed: which is right is unknown
        return REPEATED, detail
