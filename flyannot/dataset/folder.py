"""The data set folder: `images.csv` describes each picture, and `annotations.csv` lists the terms of genes.

A gene is identified by its FlyBase number if one is known, otherwise by its symbol.  Symbols are
case-sensitive (*Dl* is Delta, *dl* is dorsal), and one symbol can belong to two FlyBase numbers.  A group
is all images of one group name in one stage range.  The group name is the gene, unless the column `group`
has another one.
"""

import logging
import os
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any

from flyannot.base.errors import InputError, did_you_mean
from flyannot.base.fates import NOT_NAMED, REFUSED, PictureFate
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import escape_file_name, is_unknown
from flyannot.base.views import VIEWS, parse_view, suggest_view
from flyannot.dataset.gene_rows import read_gene_rows
from flyannot.dataset.paths import ANNOTATIONS, IMAGES, ImagePaths, find_table, note_other_tables
from flyannot.dataset.picture_folder import list_pictures
from flyannot.dataset.table_warnings import (
    abbreviate_names,
    bdgp_terms,
    normalise_gene,
    raise_errors,
    split_terms,
    unify_capitals,
    warn_about,
    warn_about_ids,
    warn_about_terms,
)
from flyannot.files.atomic_file import write_text
from flyannot.files.tables import RowError, format_table, write_table
from flyannot.files.text_files import row_limit
from flyannot.images.address import TURNS, add_turn, address_from_name

log = logging.getLogger("flyannot")

_IMAGE_COLUMNS = ("image", "gene", "stage_range")
_MORE_IMAGE_COLUMNS = ("view", "fbgn", "group", "source", "turned")
_ANNOTATION_COLUMNS = ("gene", "stage_range", "term")
_MORE_ANNOTATION_COLUMNS = ("fbgn", "date", "term_id")
COLUMNS = (*_IMAGE_COLUMNS, *_MORE_IMAGE_COLUMNS, "term", "date")


@dataclass(frozen=True, slots=True)
class Image:
    """One picture, with its row in `images.csv`. Unknown texts are "". The file may be missing.

    file : absolute path of the file
    name : name in the table; it may have a part of the file, such as a plane (see `address`)
    gene, fbgn : symbol and FlyBase number
    stage_range, view, group : as in the table
    source : origin of the picture, such as "synthetic"
    place : position of the embryo on a photograph of several, as text
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
    stage_is_guessed: bool = False

    @property
    def address(self) -> str:
        """The path of the file, with the part of it that the name refers to, such as a plane."""
        return address_from_name(self.file, self.name)

    @property
    def path(self) -> Path:
        return Path(self.file)  # not stored: a million paths take seconds to make

    @property
    def gene_id(self) -> str:
        """Identifier of the gene, the same for all its images; the name if the gene is unknown."""
        return self.fbgn or self.gene or self.name


def read_images(
    folder_or_csv: str | os.PathLike[str],
    faults: list | None = None,
    *,
    fates: list | None = None,
    unknown_stage: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> list[Image]:
    """Read the images of a data set folder, or of its `images.csv`, in the order of the table.

    Absolute paths and `..` are accepted: images are only read, and no output is named after them.
    Missing images are listed in the log, and are no error here.

    A row is at fault as in `read_gene_rows`, or if it names the image of another row or an unknown view.  It
    is also at fault if its group has another gene, or if its symbol has two FlyBase numbers elsewhere.  Rows
    at fault are left out and listed in the log.

    Parameters
    ----------
    folder_or_csv : path
    faults : list that gets the InputErrors if more than half of the rows are at fault; None to raise one
    fates : list that gets the PictureFates of rows at fault, and of pictures in the folder, or below, that
        the table does not name; None to list none
    unknown_stage : the stage range for rows that have none; None leaves them out
    columns : column -> name that it may also have in the table, such as {"image": "imagen"}

    Raises
    ------
    InputError
        As `read_gene_rows`.  Also if more than half of the rows are at fault.
    """
    table = find_table(Path(folder_or_csv).absolute(), IMAGES)
    note_other_tables(Path(folder_or_csv).absolute(), table)
    found: list = []
    paths = ImagePaths(table.parent)
    images = deque()
    lines = array("q")
    how = {"unknown_stage": unknown_stage, "columns": columns}
    for line, cells in read_gene_rows(table, _IMAGE_COLUMNS, _MORE_IMAGE_COLUMNS, found, **how):
        cells[3] = parse_view(cells[3])
        if error := _find_unknown_word(table, line, cells):
            found.append(error)
            continue
        images.append((paths.find_image(cells[0], line), cells[0], *map(intern, cells[1:])))
        lines.append(line)
    n_rows = len(images) + len(found)
    if not n_rows:
        raise InputError(f"{table} lists no image", fix="add one row per image")
    named = (address_from_name(*image[:2]) for image in images)
    found += _find_repeated_images(table, lines, named)
    fbgns = _fill_in_fbgns(table, lines, [(image[2], image[5]) for image in images], found)
    rows = dict(zip(lines, images)) if found else {}
    images = _group_images(table, lines, images, fbgns, found)
    paths.warn(table)
    n_bad = len({error.line for error in found})
    refused = found if 2 * n_bad > n_rows else []
    if faults is None:
        raise_errors(table, refused)
    else:
        faults += refused
    shown = [*dict.fromkeys(error.message.removeprefix(f"{table}, ") for error in found)]
    warn_about(table, shown, "row is at fault, and left out", "rows are at fault, and left out", n=n_bad)
    if fates is not None:
        used = {image.file for image in images}
        for error in found:
            cells = error.cells or dict(zip(COLUMNS, rows[error.line][1:]))
            image, gene, stage_range, view = (cells.get(column, "") for column in COLUMNS[:4])
            used.add(image and paths.find_image(image, error.line))
            reason = error.message.removeprefix(f"{table.parent}{os.sep}")
            fates.append(PictureFate(image, gene, stage_range, parse_view(view), REFUSED, reason, error.fix))
        listing = list_pictures(table.parent, is_recursive=True, used=used)
        why = f"no row of {IMAGES} names it", f"add a row for it to {IMAGES}"
        names = map(escape_file_name, listing.names)
        fates += [PictureFate(name, "", "", "", NOT_NAMED, *why) for name in names]
    return images


def _find_unknown_word(table, line, cells):
    """Return the RowError for a row whose view or turn is none, or None.

    table : Path; line : int; cells : list of str in the order of the columns
    """
    if (turned := cells[-1]) not in ("", *TURNS):
        words = f'"turned": no picture is turned "{turned}".{did_you_mean(turned, TURNS)}'
        known = TURNS
    elif meant := suggest_view(cells[3]):
        words = f'"view": "{cells[3]}" is no view. Did you mean "{meant}"?'
        known = VIEWS
    else:
        return None
    what = f"{table}, line {line}, column {words}"
    return RowError(what, fix=f"choose from: {', '.join(known)}", line=line, cells=zip(COLUMNS, cells))


@dataclass(frozen=True)
class Annotations:
    """The terms of every annotated gene in every stage range.

    A gene without an entry in a stage range is not annotated there, and is used neither for training nor for
    scores.
    An annotated gene without terms is different: it lacks all terms.
    """

    terms_by_gene: dict[tuple[str, str], Any]  # (gene_id, stage range) -> frozenset of terms
    genes_by_symbol: dict[str, set[str]]  # symbol -> set of gene_id
    dates: dict = field(default_factory=dict)  # (gene_id, stage range, term) -> date, as the table has it
    unsure: dict = field(default_factory=dict)  # (gene_id, stage range) -> terms, unknown whether it has them
    known_only: dict = field(default_factory=dict)  # the same, of genes without a row -> terms that are known
    reviewed: dict = field(default_factory=dict)  # (gene_id, stage range) -> terms that curators corrected
    chances: dict = field(default_factory=dict)  # (gene_id, stage range) -> dict of its drawn terms' chances
    _gene_ids: set[str] = field(init=False, repr=False)

    def __post_init__(self):
        object.__setattr__(self, "_gene_ids", set().union(*self.genes_by_symbol.values()))

    def gene_id(self, gene: str, fbgn: str = "") -> str | None:
        """Return the identifier of the annotated gene with a symbol or FlyBase number; None if there is none.

        A symbol is used only if it belongs to one gene, and if the FlyBase numbers do not contradict it.

        gene : symbol; fbgn : FlyBase number or ""
        """
        if fbgn in self._gene_ids:
            return fbgn
        if not fbgn and gene in self._gene_ids and gene.startswith("FBgn"):
            return gene
        known = self.genes_by_symbol.get(gene, ())
        if len(known) != 1:
            return None
        (gene_id,) = known
        return None if fbgn and gene_id != gene else gene_id

    def terms_of(self, gene: str, stage_range: str, fbgn: str = "") -> frozenset[str] | None:
        """Return the terms of a gene in a stage range as a frozenset, or None if it is not annotated."""
        return self.terms_by_gene.get((self.gene_id(gene, fbgn), stage_range))

    def unknown_terms(self, gene, stage_range, terms, fbgn=""):
        """Return the terms among `terms` for which it is not known whether an annotated gene has them.

        Curators were unsure of these terms.  If curators reviewed only some terms of the gene, all its other
        terms are unknown.
        """
        key = self.gene_id(gene, fbgn), stage_range
        unsure = self.unsure.get(key, frozenset())
        known = self.known_only.get(key)
        others = frozenset(terms) - known if known is not None else frozenset()
        return (unsure.intersection(terms) | others) - self.terms_by_gene.get(key, frozenset())

    def judged_weights(self, gene, stage_range, terms, fbgn=""):
        """Return the weight of each of `terms` of an annotated gene in sums over all its terms.

        It is 1 if all of them were judged.  Otherwise it is 1 / chance for a term that was drawn at random.
        The other terms were chosen by the model or by the eye.  A sum over them would be biased: it is 0.
        """
        key = self.gene_id(gene, fbgn), stage_range
        known = self.known_only.get(key)
        if known is None or known | self.unsure.get(key, frozenset()) >= set(terms):
            return [1.0] * len(terms)
        chances = self.chances.get(key, {})
        return [1 / chances[term] if term in chances else 0.0 for term in terms]

    def counts(self, stage_range: str) -> Counter[str]:
        """Count the genes of each term in a stage range."""
        of_genes = (terms for (_, s), terms in self.terms_by_gene.items() if s == stage_range)
        return Counter(term for terms in of_genes for term in terms)


def read_annotations(
    folder_or_csv: str | os.PathLike[str],
    faults: list | None = None,
    *,
    ontology: Any = None,
    columns: Mapping[str, str] | None = None,
) -> Annotations:
    """Read the annotations of a data set folder, or of its `annotations.csv`.

    A term that differs from a known one in capitals only is read as the known one.  What is probably
    wrong is listed in the log.

    Parameters
    ----------
    folder_or_csv : path
    faults : list that gets the InputErrors of rows, which are left out; None to raise them as one
    ontology : Ontology with terms that are right, besides BDGP's, and their ids
    columns : column -> name that it may also have in the table, such as {"gene": "gen"}

    Returns
    -------
    annotations : Annotations

    Raises
    ------
    InputError
        As `read_gene_rows`.  Also if there are no terms or too many, or if a symbol without FlyBase number
        has two numbers elsewhere in the table.
    """
    table = find_table(Path(folder_or_csv).absolute(), ANNOTATIONS)
    note_other_tables(Path(folder_or_csv).absolute(), table)
    found = [] if faults is None else faults
    rows = []
    lines = []
    several = []
    nameless = []
    most = row_limit(table) if table.is_file() else 0
    names = _ANNOTATION_COLUMNS, _MORE_ANNOTATION_COLUMNS
    for line, cells in read_gene_rows(table, *names, found, columns=columns):
        gene, stage_range, cell, *more = cells
        text = " ".join(cell.split())
        terms = split_terms(text)
        if terms != [text]:
            several.append(f'line {line}: "{text}"')
        for term in terms:
            if is_unknown(term, "term"):
                nameless.append(f'line {line}: "{term}"')
                continue
            rows.append((gene, stage_range, term, *more))
            lines.append(line)
        if len(rows) > most:
            what = f"{table} has more than {most:,} terms, too many for its size"
            raise InputError(what, fix="give each term a row, and each row once")
    if not rows and not found:
        fix = "add one row per gene, stage range and term"
        found.append(InputError(f"{table} has no term", fix=fix))
    one = "cell holds several terms"
    many = "cells hold several terms"
    warn_about(table, several, one, many, "; each term is used: give each a row")
    warn_about(table, nameless, "part of a cell is no term", "parts of cells are no terms", "; left out")
    terms_by_gene = defaultdict(set)
    genes = defaultdict(set)
    dates = {}
    line_of_id = {}
    known = ontology.names() if ontology else ()
    fbgns = _fill_in_fbgns(table, lines, [(row[0], row[3]) for row in rows], found)
    respelt = unify_capitals((row[2] for row in rows), bdgp_terms().union(known))
    for (gene, stage_range, term, _, date, term_id), fbgn, line in zip(rows, fbgns, lines):
        gene_id = fbgn or gene
        term = respelt.get(term, term)
        terms_by_gene[gene_id, stage_range].add(term)
        genes[gene].add(gene_id)
        if date:
            dates[gene_id, stage_range, term] = date
        if term_id or term.startswith("FBbt"):
            line_of_id.setdefault((term, term_id or term), line)
    taken = [f'"{term}" as "{other}"' for term, other in respelt.items()]
    warn_about(table, taken, "term was taken with other capitals", "terms were taken with other capitals")
    warn_about_terms(table, terms_by_gene.values(), known)
    warn_about_ids(table, line_of_id, ontology)
    if faults is None:
        raise_errors(table, found)
    return Annotations({key: frozenset(terms) for key, terms in terms_by_gene.items()}, dict(genes), dates)


def write_images_csv(path, rows):
    """Write `images.csv`; optional columns that are empty in all rows are left out.

    rows : list of dicts whose keys are columns

    Raises
    ------
    WriteError
    """
    write_table(path, *_used_columns(rows, _IMAGE_COLUMNS, _MORE_IMAGE_COLUMNS))


def write_annotations_csv(path, rows):
    """Write `annotations.csv` from rows as `format_annotations` takes them."""
    write_text(path, format_annotations(rows))


def format_annotations(rows):
    """Format the text of an `annotations.csv`.

    rows : iterable of dicts with the keys gene, stage_range and term, and perhaps fbgn and date
    """
    return format_table(*_used_columns(rows, _ANNOTATION_COLUMNS, _MORE_ANNOTATION_COLUMNS))


def _used_columns(rows, required, optional):
    rows = list(rows)
    columns = required + tuple(name for name in optional if any(row.get(name) for row in rows))
    return columns, ([row.get(name, "") for name in columns] for row in rows)


def check_tables(folder, *, unknown_stage=None, columns=None, fates=None):
    """Read both tables of a data set folder, as far as they exist, and collect all their errors.

    folder : Path; unknown_stage, columns, fates : as in `read_images`

    Returns
    -------
    faults : list of InputError
    images : list of Image
    annotations : Annotations, or None without a table
    """
    faults = []
    tables = {}
    of_images = {"unknown_stage": unknown_stage, "fates": fates}
    for name, read, how in ((IMAGES, read_images, of_images), (ANNOTATIONS, read_annotations, {})):
        try:
            if find_table(folder, name).is_file():
                tables[name] = read(folder, faults, columns=columns, **how)
        except InputError as error:  # not one row can be read
            faults.append(error)
    return faults, tables.get(IMAGES, []), tables.get(ANNOTATIONS)


def _find_repeated_images(table, lines, paths):
    """Yield a RowError for each row of `images.csv` that names the same image as another row.

    table : Path; lines : list of the line of each row; paths : list of the path of its image
    """
    first = {}
    for line, path in zip(lines, paths):
        if (before := first.setdefault(path, line)) != line:
            what = f'{table}, lines {before} and {line}, column "image": both are {path}'
            for one in (before, line):
                yield RowError(what, fix="delete one of the two rows", line=one)


def _fill_in_fbgns(table, lines, genes, faults):
    """Return a list of the FlyBase number of each row; one without gets it from other rows of its symbol.

    Otherwise one gene would count as two, and could be on both sides of a split by gene.

    Parameters
    ----------
    table : Path
    lines : list of the line of each row
    genes : list of (symbol, FlyBase number)
    faults : list to which RowErrors are appended
    """
    known = defaultdict(set)
    for gene, fbgn in genes:
        if fbgn:
            known[gene].add(fbgn)
    several = [f"{gene} ({', '.join(sorted(fbgns))})" for gene, fbgns in known.items() if len(fbgns) > 1]
    warn_about(table, several, "symbol has several FlyBase numbers", "symbols have several FlyBase numbers")
    for line, (gene, fbgn) in zip(lines, genes):
        if not fbgn and len(known.get(gene, ())) > 1:
            both = " and ".join(sorted(known[gene]))
            what = f'{table}, line {line}, column "fbgn": empty, and {gene} is {both} elsewhere'
            faults.append(RowError(what, fix="fill in the right one", line=line))
    return [fbgn or next(iter(known.get(gene, ("",)))) for gene, fbgn in genes]


def _group_images(table, lines, images, fbgns, faults):
    """Build the Images of a table with their group names, and check that each group has one gene.

    The rows are removed one by one, so that rows and Images are not in memory together.

    Parameters
    ----------
    table : Path
    lines : list of the line of each row
    images : deque of the cells of each row, with the path of the file before them
    fbgns : list of the FlyBase number of each row
    faults : list with the RowErrors of rows that are left out, to which others are appended
    """
    genes = {}
    grouped = []
    bad = {error.line for error in faults}
    for line, fbgn in zip(lines, fbgns):
        file, name, gene, stage_range, view, _, group, source, turned = images.popleft()
        if line in bad:
            continue
        name = add_turn(name, turned) if turned else name
        gene_id = fbgn or gene
        group = group or gene_id
        first, first_line = genes.setdefault(group, (gene_id, line))
        if first != gene_id:
            where = f'{table}, lines {first_line} and {line}, column "group"'
            what = f"{where}: {group} has the genes {first} and {gene_id}"
            fix = "give the images of each gene a group of their own"
            about = zip(COLUMNS, (name, gene, stage_range, view))
            faults.append(RowError(what, fix=fix, line=line, cells=about))
            continue
        grouped.append(Image(file, name, gene, stage_range, view, fbgn, group, source))
    return grouped


def coverage_notes_from_columns(columns_of, annotations):
    """Return `coverage_notes` for images that are given as columns.

    columns_of : dict, stage range -> dict of the columns of its images; annotations : Annotations
    """
    images = [
        Image("", name, gene, stage_range, fbgn=fbgn, group=group)
        for stage_range, columns in columns_of.items()
        for name, gene, fbgn, group in zip(*(columns[c] for c in ("image", "gene", "fbgn", "group")))
    ]
    return coverage_notes(images, annotations, list(columns_of))


def count_per_stage_range(images, annotations=None):
    """Count images, genes and groups in every stage range that has any, in the order of development.

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
    """Return notes on annotated genes without an image, and on groups without an annotation, with counts.

    Genes that have an image under a similar symbol come first.

    images : list of Image; annotations : Annotations
    """
    counts = count_per_stage_range(images, annotations)
    absent = {s: n["n_genes_without_images"] for s, n in counts.items() if s in stage_ranges}
    bare = {s: (n["n_groups"] - n["n_annotated_groups"], n["n_groups"]) for s, n in counts.items()}
    lines = []
    if any(absent.values()):
        where = ", ".join(f"{n:,} in {s}" for s, n in absent.items() if n)
        names = _list_genes_without_images(images, annotations, stage_ranges)
        lines.append(f"annotated genes without an image: {where} ({abbreviate_names(names)})")
    if any(n for n, _ in bare.values()):
        where = ", ".join(f"{n:,} of {n_all:,} in {s}" for s, (n, n_all) in bare.items() if n)
        groups = (i for i in images if annotations.terms_of(i.gene, i.stage_range, i.fbgn) is None)
        names = list(dict.fromkeys(i.gene or i.group for i in groups))
        lines.append(f"groups without annotation: {where} ({abbreviate_names(names)})")
    return lines


def _list_genes_without_images(images, annotations, stage_ranges):
    """List the genes that are annotated but have no image, first the ones with a similar symbol."""
    symbols = {gene_id: symbol for symbol, ids in annotations.genes_by_symbol.items() for gene_id in ids}
    here = {(annotations.gene_id(i.gene, i.fbgn), i.stage_range) for i in images}
    absent = sorted({g for g, s in annotations.terms_by_gene.keys() - here if s in stage_ranges})
    alike = defaultdict(set)
    for image in images:
        alike[normalise_gene(image.gene)].add((image.gene, image.fbgn))
    hinted = []
    others = []
    for gene_id in absent:
        symbol = symbols[gene_id]
        has_number = symbol != gene_id  # two FlyBase numbers are two genes, even if the symbols are similar
        of_images = alike[normalise_gene(symbol)]
        close = sorted(g for g, fbgn in of_images if g != symbol and not (fbgn and has_number))
        if close:
            hinted.append(f'{symbol}: did you mean "{close[0]}"?')
        else:
            others.append(symbol)
    return hinted + others
