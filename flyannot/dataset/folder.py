"""The data set folder: `images.csv` (what each picture shows) and `annotations.csv` (the terms).

A gene is its FlyBase number where one is known, else its symbol; symbols are case-sensitive (*Dl* is
Delta, *dl* is dorsal) and can belong to two FlyBase numbers.  A group is all images of one group name
in one stage range; the group name is the gene unless the column `group` says otherwise.
"""

import logging
import os
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any

from flyannot.base.errors import InputError, did_you_mean
from flyannot.base.stage_ranges import (
    AS_TEXT,
    STAGE_RANGES,
    note_on_stages,
    parse_stage_range,
    stage_range_of_date,
)
from flyannot.base.text import short_repr
from flyannot.dataset.paths import (
    ANNOTATIONS,
    IMAGES,
    ImagePaths,
    annotations_table,
    table_of_data_set,
)
from flyannot.dataset.table_warnings import (
    bdgp_terms,
    first_names,
    plain_letters,
    raise_errors,
    respelt_terms,
    terms_of_cell,
    warn_of,
    warn_of_genes,
    warn_of_terms,
)
from flyannot.files.atomic_file import write_text
from flyannot.files.tables import read_table, table_as_text, write_table
from flyannot.images.address import TURNS, address_in_file, turned_name

log = logging.getLogger("flyannot")

_IMAGE_COLUMNS = ("image", "gene", "stage_range")
_MORE_IMAGE_COLUMNS = ("view", "fbgn", "group", "source", "turned")
_ANNOTATION_COLUMNS = ("gene", "stage_range", "term")
_MORE_ANNOTATION_COLUMNS = ("fbgn", "date")
_MEANT = {  # what else columns are called
    "image": ("file", "filename", "file_name", "path", "picture", "images", "image_file", "image_name"),
    "gene": ("symbol", "gene_symbol", "gene_name", "genes", "name"),
    "stage_range": ("stage", "stages", "stageranges", "stagerange", "stage_ranges"),
    "term": ("terms", "annotation", "annotations", "label", "anatomy", "anatomical_term"),
    "verdict": ("verdicts", "answer", "decision", "status"),
    "date": ("day", "dates", "time"),
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
    def address(self) -> str:
        """What is read: the file, and what the name says is meant of it."""
        return address_in_file(self.file, self.name)

    @property
    def path(self) -> Path:
        return Path(self.file)  # not stored: a million paths take seconds to make

    @property
    def gene_id(self) -> str:
        """What images of one gene share and no other image has; the name where the gene is unknown."""
        return self.fbgn or self.gene or self.name


def read_gene_rows(table, required, optional, faults=None):
    """Every row of a table with the columns gene and stage_range: (line, cells), as `read_table` gives them.

    Stage ranges come as BDGP names them.  After the last row the log says what stages were taken for, also
    where a spreadsheet made dates of them, and which genes look like what it makes of a name.  InputError,
    with file, line and column: see `read_table`; an unknown stage range.  With `faults`, a list,
    it gets the errors of rows, which are left out.
    """
    where, who = required.index("stage_range"), required.index("gene")
    stage_ranges, dates, line_of_gene = {}, {}, {}
    for line, cells in read_table(table, required, optional, meant=_MEANT, faults=faults):
        text = cells[where]
        if text not in stage_ranges and text not in dates:
            try:
                if stage_range := stage_range_of_date(text):
                    dates[text] = line, stage_range
                else:
                    stage_ranges[text] = parse_stage_range(text)
            except InputError as error:
                what = f'{table}, line {line}, column "stage_range": {error.message}'
                if faults is None:
                    raise InputError(what, fix=error.fix) from None
                faults.append(InputError(what, fix=error.fix))
                continue
        cells[where] = dates[text][1] if text in dates else stage_ranges[text]
        line_of_gene.setdefault(cells[who], line)
        yield line, cells
    if note := note_on_stages(stage_ranges):
        log.info("note: %s: %s", table.name, note)
    taken = [f'"{text}" as {stage_range} (line {line})' for text, (line, stage_range) in dates.items()]
    one, many = "date was taken as a stage range", "dates were taken as stage ranges"
    warn_of(table, taken, one, many, f"; {AS_TEXT}")
    warn_of_genes(table, line_of_gene)


def read_images(folder_or_csv: str | os.PathLike[str], faults: list | None = None) -> list[Image]:
    """The images of a data set folder, or of its `images.csv`: a list of Image, in the order of the table.

    Absolute paths and `..` are accepted: images are only read, and no output is named after them.  A missing
    image is no error here, but named in the log; whoever reads it lists it.  InputError, with file, line and
    column: see `read_table`; an unknown stage range; an image named twice; a symbol without FlyBase number
    although the table gives it two; a group of two genes.  It says all that is wrong; with `faults`, a
    list, that gets the errors.
    """
    table = table_of_data_set(Path(folder_or_csv).absolute(), IMAGES)
    found = [] if faults is None else faults
    paths = ImagePaths(table.parent)
    images = deque()
    lines = array("q")
    for line, cells in read_gene_rows(table, _IMAGE_COLUMNS, _MORE_IMAGE_COLUMNS, found):
        if (turned := cells[-1]) not in ("", *TURNS):
            words = f'no picture is turned "{turned}".{did_you_mean(turned, TURNS)}'
            what = f'{table}, line {line}, column "turned": {words}'
            found.append(InputError(what, fix=f"choose from: {', '.join(TURNS)}"))
            continue
        images.append((paths.path_of(cells[0], line), cells[0], *map(intern, cells[1:])))
        lines.append(line)
    if not images and not found:
        found.append(InputError(f"{table} names no image", fix="add one row per image"))
    paths.warn(table)
    found += _repeated_images(table, lines, (address_in_file(*image[:2]) for image in images))
    fbgns = _complete_fbgns(table, lines, [(image[2], image[5]) for image in images], found)
    images = _grouped(table, lines, images, fbgns, found)
    if faults is None:
        raise_errors(table, found)
    return images


@dataclass(frozen=True)
class Annotations:
    """The terms of every annotated gene in every stage range, from `read_annotations`.

    A gene without an entry in a stage range is not annotated there, which is not the same as having no
    terms: it teaches nothing and scores nothing.
    """

    terms_by_gene: dict[tuple[str, str], Any]  # (gene_id, stage range) -> frozenset of terms
    genes_by_symbol: dict[str, set[str]]  # symbol -> set of gene_id
    dates: dict = field(default_factory=dict)  # (gene_id, stage range, term) -> date, as the table has it
    unsure: dict = field(default_factory=dict)  # (gene_id, stage range) -> terms of which nothing is known
    known_only: dict = field(default_factory=dict)  # of genes without a row -> the terms that are known
    reviewed: dict = field(default_factory=dict)  # (gene_id, stage range) -> terms that corrections are of
    _gene_ids: set[str] = field(init=False, repr=False)

    __repr__ = short_repr

    def __post_init__(self):
        object.__setattr__(self, "_gene_ids", set().union(*self.genes_by_symbol.values()))

    def gene_id(self, gene: str, fbgn: str = "") -> str | None:
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

    def terms_of(self, gene: str, stage_range: str, fbgn: str = "") -> frozenset[str] | None:
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

    def is_partly_known(self, gene, stage_range, fbgn=""):
        """Whether curators have said of some of its terms only."""
        return (self.gene_id(gene, fbgn), stage_range) in self.known_only

    def reviewed_terms(self, gene, stage_range, fbgn=""):
        """The terms of a gene that a curator has looked at since: those of corrections."""
        return self.reviewed.get((self.gene_id(gene, fbgn), stage_range), frozenset())

    def counts(self, stage_range: str) -> Counter[str]:
        """How many genes have each term in one stage range: a Counter."""
        return Counter(
            term for (_, where), terms in self.terms_by_gene.items() if where == stage_range for term in terms
        )


def read_annotations(
    folder_or_csv: str | os.PathLike[str], *, known: Iterable[str] = (), faults: list | None = None
) -> Annotations:
    """The Annotations of a data set folder, or of its `annotations.csv`; a term that is known but for its
    capitals is taken as that.

    What is probably wrong is said in the log: see `flyannot.dataset.table_warnings`; `known` are terms that
    are right, besides BDGP's.  InputError and `faults` as of `read_images`.
    """
    table = annotations_table(Path(folder_or_csv).absolute())
    found = [] if faults is None else faults
    rows, lines, several = [], [], []
    for line, cells in read_gene_rows(table, _ANNOTATION_COLUMNS, _MORE_ANNOTATION_COLUMNS, found):
        gene, stage_range, cell, *more = cells
        text = " ".join(cell.split())
        terms = terms_of_cell(text)
        if terms != [text]:
            several.append(f'line {line}: "{text}"')
        for term in terms:
            rows.append((gene, stage_range, term, *more))
            lines.append(line)
    if not rows and not found:
        fix = "add one row per gene, stage range and term"
        found.append(InputError(f"{table} holds no term", fix=fix))
    one, many = "cell holds several terms", "cells hold several terms"
    warn_of(table, several, one, many, "; each is taken: give each a row")
    terms_by_gene, genes, dates = defaultdict(set), defaultdict(set), {}
    fbgns = _complete_fbgns(table, lines, [(row[0], row[3]) for row in rows], found)
    respelt = respelt_terms((row[2] for row in rows), bdgp_terms().union(known))
    for (gene, stage_range, term, _, date), fbgn in zip(rows, fbgns):
        gene_id, term = fbgn or gene, respelt.get(term, term)
        terms_by_gene[gene_id, stage_range].add(term)
        genes[gene].add(gene_id)
        if date:
            dates[gene_id, stage_range, term] = date
    taken = [f'"{term}" as "{other}"' for term, other in respelt.items()]
    warn_of(table, taken, "term was taken with other capitals", "terms were taken with other capitals")
    warn_of_terms(table, terms_by_gene.values(), known)
    if faults is None:
        raise_errors(table, found)
    return Annotations({key: frozenset(terms) for key, terms in terms_by_gene.items()}, dict(genes), dates)


def write_images_csv(path, rows):
    """Write `images.csv` from mappings whose keys are its columns.

    Optional columns that are empty throughout are left out.  Raises WriteError.
    """
    write_table(path, *_used_columns(rows, _IMAGE_COLUMNS, _MORE_IMAGE_COLUMNS))


def write_annotations_csv(path, rows):
    """Write what `annotations_as_text` makes."""
    write_text(path, annotations_as_text(rows))


def annotations_as_text(rows):
    """An `annotations.csv` from mappings with the keys gene, stage_range, term, perhaps fbgn and date."""
    return table_as_text(*_used_columns(rows, _ANNOTATION_COLUMNS, _MORE_ANNOTATION_COLUMNS))


def _used_columns(rows, required, optional):
    rows = list(rows)
    columns = required + tuple(name for name in optional if any(row.get(name) for row in rows))
    return columns, ([row.get(name, "") for name in columns] for row in rows)


def check_tables(folder):
    """Return the faults of both tables of a data set folder, the Images and the Annotations; nothing of a
    table that is not there."""
    faults = []
    tables = {}
    for name, read in ((IMAGES, read_images), (ANNOTATIONS, read_annotations)):
        try:
            if table_of_data_set(folder, name).is_file():
                tables[name] = read(folder, faults=faults)
        except InputError as error:  # not one row can be read
            faults.append(error)
    return faults, tables.get(IMAGES, []), tables.get(ANNOTATIONS)


def _repeated_images(table, lines, paths):
    """The faults of rows that name the image of another row."""
    first = {}
    for line, path in zip(lines, paths):
        if first.setdefault(path, line) != line:
            yield InputError(
                f'{table}, lines {first[path]} and {line}, column "image": both name {path}',
                fix="delete one of the two rows",
            )


def _complete_fbgns(table, lines, genes, faults):
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
            what = f'{table}, line {line}, column "fbgn": empty, and {gene} is {both} elsewhere'
            faults.append(InputError(what, fix="fill in the one that is meant"))
    return [fbgn or next(iter(known.get(gene, ("",)))) for gene, fbgn in genes]


def _grouped(table, lines, images, fbgns, faults):
    """The Images, with group names; a group holds images of one gene.  Each takes the memory of its row."""
    genes, grouped = {}, []
    for line, fbgn in zip(lines, fbgns):
        file, name, gene, stage_range, view, _, group, source, turned = images.popleft()
        name = turned_name(name, turned) if turned else name
        gene_id = fbgn or gene
        group = group or gene_id
        first, first_line = genes.setdefault(group, (gene_id, line))
        if first != gene_id:
            where = f'{table}, lines {first_line} and {line}, column "group"'
            what = f"{where}: {group} holds the genes {first} and {gene_id}"
            faults.append(InputError(what, fix="give the images of each gene a group of their own"))
        grouped.append(Image(file, name, gene, stage_range, view, fbgn, group, source))
    return grouped


def notes_on_columns(columns_of, annotations):
    """`coverage_notes` on the image columns (a dict of lists) of some stage ranges, and on no other."""
    images = [
        Image("", name, gene, stage_range, fbgn=fbgn, group=group)
        for stage_range, columns in columns_of.items()
        for name, gene, fbgn, group in zip(*(columns[c] for c in ("image", "gene", "fbgn", "group")))
    ]
    return coverage_notes(images, annotations, list(columns_of))


def count_coverage(images, annotations=None):
    """Counts of every stage range that has images or annotations, in the order of development.

    Returns
    -------
    counts : dict, stage range -> dict of `n_images`, `n_genes`, `n_groups`, `n_annotated_groups` and
        `n_genes_without_images` (annotated there, but without an image there)
    """
    annotated = annotations.terms_by_gene if annotations else {}
    counts = {}
    for stage_range in STAGE_RANGES:
        here = [image for image in images if image.stage_range == stage_range]
        wanted = {gene for gene, where in annotated if where == stage_range}
        if here or wanted:
            gene_of = {i.group: annotations.gene_id(i.gene, i.fbgn) for i in here} if wanted else {}
            counts[stage_range] = {
                "n_images": len(here),
                "n_genes": len({image.gene_id for image in here}),
                "n_groups": len({image.group for image in here}),
                "n_annotated_groups": sum(gene in wanted for gene in gene_of.values()),
                "n_genes_without_images": len(wanted - set(gene_of.values())),
            }
    return counts


def coverage_notes(images, annotations, stage_ranges=STAGE_RANGES):
    """What images and annotations lack of each other: a line each, with counts and the first names; no error.

    A gene without an image that differs from one with images in capitals or signs only comes first.
    """
    counts = count_coverage(images, annotations)
    absent = {s: n["n_genes_without_images"] for s, n in counts.items() if s in stage_ranges}
    bare = {s: (n["n_groups"] - n["n_annotated_groups"], n["n_groups"]) for s, n in counts.items()}
    lines = []
    if any(absent.values()):
        where = ", ".join(f"{n:,} in {s}" for s, n in absent.items() if n)
        names = _genes_without_images(images, annotations, stage_ranges)
        lines.append(f"annotated genes without an image: {where} ({first_names(names)})")
    if any(n for n, _ in bare.values()):
        where = ", ".join(f"{n:,} of {n_all:,} in {s}" for s, (n, n_all) in bare.items() if n)
        groups = (i for i in images if annotations.terms_of(i.gene, i.stage_range, i.fbgn) is None)
        names = list(dict.fromkeys(i.gene or i.group for i in groups))
        lines.append(f"groups without annotation: {where} ({first_names(names)})")
    return lines


def _genes_without_images(images, annotations, stage_ranges):
    """The genes that are annotated where they have no image, those with a suggestion first."""
    symbols = {gene_id: symbol for symbol, ids in annotations.genes_by_symbol.items() for gene_id in ids}
    here = {(annotations.gene_id(i.gene, i.fbgn), i.stage_range) for i in images}
    absent = sorted({g for g, s in annotations.terms_by_gene.keys() - here if s in stage_ranges})
    alike = defaultdict(set)
    for image in images:
        alike[plain_letters(image.gene)].add((image.gene, image.fbgn))
    hinted, others = [], []
    for gene_id in absent:
        symbol = symbols[gene_id]
        has_number = symbol != gene_id  # two FlyBase numbers are two genes, however they are written
        of_images = alike[plain_letters(symbol)]
        close = sorted(g for g, fbgn in of_images if g != symbol and not (fbgn and has_number))
        if close:
            hinted.append(f'{symbol}: did you mean "{close[0]}"?')
        else:
            others.append(symbol)
    return hinted + others
