"""The data set folder: `images.csv` (what each picture shows) and `annotations.csv` (the terms).

A gene is its FlyBase number where one is known, else its symbol; symbols are case-sensitive (*Dl* is
Delta, *dl* is dorsal) and can belong to two FlyBase numbers.  A group is all images of one group name
in one stage range; the group name is the gene unless the column `group` says otherwise.
"""

import logging
from array import array
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern

from flyannot.dataset.image_paths import ImagePaths
from flyannot.dataset.stage_range_cells import StageRangeCells
from flyannot.dataset.table_paths import ANNOTATIONS, IMAGES, table_of
from flyannot.dataset.table_warnings import TermCells, warn_of_genes, warn_of_terms
from flyannot.descriptors.images.address import address_in_file
from flyannot.errors import InputError
from flyannot.runtime.tables import read_table, write_table
from flyannot.runtime.wording import short_repr

log = logging.getLogger("flyannot")

_IMAGE_COLUMNS = ("image", "gene", "stage_range")
_MORE_IMAGE_COLUMNS = ("view", "fbgn", "group", "source")
_ANNOTATION_COLUMNS = ("gene", "stage_range", "term")
_MEANT = {  # what else these columns are called
    "image": ("file", "filename", "file_name", "path", "picture", "images", "image_file", "image_name"),
    "gene": ("symbol", "gene_symbol", "gene_name", "genes", "name"),
    "stage_range": ("stage", "stages", "stageranges", "stagerange", "stage_ranges"),
    "term": ("terms", "annotation", "annotations", "label", "anatomy", "anatomical_term"),
}


@dataclass(frozen=True, slots=True)
class Image:
    """One picture and what the table says of it.  Unknown text is ""; the file may be missing.

    `file` is its absolute path, `name` as in the table, perhaps with what is meant of the file (`address`);
    `source` says where it is from ("synthetic"), `place` where an embryo lies on a photograph of many.
    """

    file: str
    name: str
    gene: str
    stage_range: str
    view: str = ""
    fbgn: str = ""
    group: str = ""
    source: str = ""
    place: str = ""

    @property
    def address(self):
        """What is read: the file, and what the name says is meant of it."""
        return address_in_file(self.file, self.name)

    @property
    def path(self):
        return Path(self.file)  # not stored: a million paths take seconds to make

    @property
    def gene_id(self):
        """What images of one gene share and no other image has; the name where the gene is unknown."""
        return self.fbgn or self.gene or self.name


def read_images(folder_or_csv):
    """The images of a data set, in the order of its table.

    A path is relative to the table, or to the folder `images` beside it when nothing of that name lies
    next to the table.  Absolute paths and `..` are accepted: images are only read, and no output is
    named after them.  A missing image is no error here, but named in the log; whoever reads it lists it.

    Parameters
    ----------
    folder_or_csv : path of a data set folder, or of its `images.csv`

    Returns
    -------
    images : list of Image

    Raises
    ------
    InputError
        With file, line and column: see `read_table`; an unknown stage range; an image named twice; a
        symbol without FlyBase number although the table gives it two; a group of two genes.
    """
    table = table_of(Path(folder_or_csv).absolute(), IMAGES)
    path_of, stage_range_of = ImagePaths(table.parent), StageRangeCells(table)
    images, lines = deque(), array("q")
    for line, cells in read_table(table, _IMAGE_COLUMNS, _MORE_IMAGE_COLUMNS, meant=_MEANT):
        name, gene, stage_range, view, fbgn, group, source = cells
        stage_range = stage_range_of(stage_range, line)
        often = (intern(text) for text in (gene, stage_range, view, fbgn, group, source))
        images.append((path_of(name, line), name, *often))
        lines.append(line)
    if not images:
        raise InputError(f"{table} names no image", fix="add one row per image")
    stage_range_of.note()
    warn_of_genes(table, [image[2] for image in images], lines)
    path_of.warn(table)
    _require_distinct(table, lines, (address_in_file(*image[:2]) for image in images))
    fbgns = _complete_fbgns(table, lines, [(image[2], image[5]) for image in images])
    return _grouped(table, lines, images, fbgns)


@dataclass(frozen=True)
class Annotations:
    """The terms of every annotated gene in every stage range, from `read_annotations`.

    A gene without an entry in a stage range is not annotated there, which is not the same as having no
    terms: it teaches nothing and scores nothing.
    """

    terms_by_gene: dict  # (gene_id, stage range) -> frozenset of terms
    genes_by_symbol: dict  # symbol -> set of gene_id
    dates: dict = field(default_factory=dict)  # (gene_id, stage range, term) -> date, as the table has it
    unsure: dict = field(default_factory=dict)  # (gene_id, stage range) -> terms of which nothing is known
    known_only: dict = field(default_factory=dict)  # of genes without a row -> the terms that are known
    reviewed: dict = field(default_factory=dict)  # (gene_id, stage range) -> terms that corrections are of
    _gene_ids: set = field(init=False, repr=False)

    __repr__ = short_repr

    def __post_init__(self):
        object.__setattr__(self, "_gene_ids", set().union(*self.genes_by_symbol.values()))

    def gene_id(self, gene, fbgn=""):
        """The annotated gene that is meant, or None: by FlyBase number first, then by symbol.

        A symbol decides only where it has one gene here, and never against two FlyBase numbers.
        """
        if fbgn in self._gene_ids:
            return fbgn
        known = self.genes_by_symbol.get(gene, ())
        if len(known) != 1:
            return None
        (gene_id,) = known
        return None if fbgn and gene_id != gene else gene_id

    def terms_of(self, gene, stage_range, fbgn=""):
        """The frozenset of terms of one gene in one stage range, or None where it is not annotated."""
        return self.terms_by_gene.get((self.gene_id(gene, fbgn), stage_range))

    def unknown_terms(self, gene, stage_range, terms, fbgn=""):
        """Those of some terms of which it is not known whether an annotated gene has them: a set.

        Curators were unsure of them, or have said of others only.
        """
        key = self.gene_id(gene, fbgn), stage_range
        unsure, known = self.unsure.get(key, frozenset()), self.known_only.get(key)
        others = frozenset(terms) - known if known is not None else frozenset()
        return (unsure.intersection(terms) | others) - self.terms_by_gene.get(key, frozenset())

    def reviewed_terms(self, gene, stage_range, fbgn=""):
        """The terms of a gene that a curator has looked at since: those of corrections."""
        return self.reviewed.get((self.gene_id(gene, fbgn), stage_range), frozenset())

    def counts(self, stage_range):
        """How many genes have each term in one stage range: a Counter."""
        return Counter(
            term for (_, where), terms in self.terms_by_gene.items() if where == stage_range for term in terms
        )


def read_annotations(folder_or_csv, *, known=()):
    """The terms of a data set.  Rows that repeat another are ignored; terms keep their case.

    What is probably wrong is said in the log: see `flyannot.dataset.table_warnings`.

    Parameters
    ----------
    folder_or_csv : path of a data set folder, or of its `annotations.csv` (gene, stage_range, term and
        optionally fbgn)
    known : terms that are right, besides BDGP's

    Raises
    ------
    InputError
        As `read_images`.
    """
    table = table_of(Path(folder_or_csv).absolute(), ANNOTATIONS)
    stage_range_of, term_cells = StageRangeCells(table), TermCells(table)
    rows, lines, dates = [], [], []
    for line, cells in read_table(table, _ANNOTATION_COLUMNS, ("fbgn", "date"), meant=_MEANT):
        gene, stage_range, cell, fbgn, date = cells
        stage_range = stage_range_of(stage_range, line)
        for term in term_cells.terms(cell, line):
            rows.append((gene, fbgn, stage_range, term))
            lines.append(line)
            dates.append(date)
    if not rows:
        raise InputError(f"{table} holds no term", fix="add one row per gene, stage range and term")
    stage_range_of.note()
    term_cells.warn()
    warn_of_genes(table, [row[0] for row in rows], lines)
    terms, genes = defaultdict(set), defaultdict(set)
    fbgns = _complete_fbgns(table, lines, [row[:2] for row in rows])
    dated = {}
    for (gene, _, stage_range, term), fbgn, date in zip(rows, fbgns, dates):
        terms[fbgn or gene, stage_range].add(term)
        genes[gene].add(fbgn or gene)
        if date:
            dated[fbgn or gene, stage_range, term] = date
    warn_of_terms(table, terms.values(), known)
    return Annotations({key: frozenset(found) for key, found in terms.items()}, dict(genes), dated)


def annotations_table(path):
    """The table of annotations that a path names: itself, or in a data set folder its `annotations.csv`."""
    return table_of(path, ANNOTATIONS)


def write_images_csv(path, rows):
    """Write `images.csv` from mappings with the keys image, gene, stage_range, view, fbgn, group, source.

    Optional columns that are empty throughout are left out.  Raises WriteError.
    """
    _write(path, rows, _IMAGE_COLUMNS, _MORE_IMAGE_COLUMNS)


def write_annotations_csv(path, rows):
    """Write `annotations.csv` from mappings with the keys gene, stage_range, term, perhaps fbgn and date."""
    _write(path, rows, _ANNOTATION_COLUMNS, ("fbgn", "date"))


def _write(path, rows, required, optional):
    rows = list(rows)
    columns = required + tuple(name for name in optional if any(row.get(name) for row in rows))
    write_table(path, columns, ([row.get(name, "") for name in columns] for row in rows))


def printable(text):
    """A text in which what no table can hold is written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _require_distinct(table, lines, paths):
    first = {}
    for line, path in zip(lines, paths):
        if first.setdefault(path, line) != line:
            raise InputError(
                f'{table}, lines {first[path]} and {line}, column "image": both name {path}',
                fix="delete one of the two rows",
            )


def _complete_fbgns(table, lines, genes):
    """The FlyBase number of every row; a row without takes that of its symbol elsewhere in the table.

    Otherwise one gene would count as two, and could stand on both sides of a split by gene.
    """
    known = defaultdict(set)
    for gene, fbgn in genes:
        if fbgn:
            known[gene].add(fbgn)
    for line, (gene, fbgn) in zip(lines, genes):
        if not fbgn and len(known.get(gene, ())) > 1:
            both = " and ".join(sorted(known[gene]))
            raise InputError(
                f'{table}, line {line}, column "fbgn": empty, and {gene} is {both} elsewhere',
                fix="fill in the one that is meant",
            )
    return [fbgn or next(iter(known.get(gene, ("",)))) for gene, fbgn in genes]


def _grouped(table, lines, images, fbgns):
    """The Images, with group names; a group holds images of one gene.  Each takes the memory of its row."""
    genes, grouped = {}, []
    for line, fbgn in zip(lines, fbgns):
        file, name, gene, stage_range, view, _, group, source = images.popleft()
        gene_id = fbgn or gene
        group = group or gene_id
        first, first_line = genes.setdefault(group, (gene_id, line))
        if first != gene_id:
            where = f'{table}, lines {first_line} and {line}, column "group"'
            raise InputError(
                f"{where}: {group} holds the genes {first} and {gene_id}",
                fix="give the images of each gene a group of their own",
            )
        grouped.append(Image(file, name, gene, stage_range, view, fbgn, group, source))
    return grouped
