"""Corrections: what curators say of single terms, on the page of a run or elsewhere, and what it changes.

A verdict is about one term of one gene in one stage range: accept (the gene has it), reject or unsure.
Where there are several of one thing, the last of each curator counts.  What curators disagree on is unsure,
whatever the dates, until a row decides it: one whose column `decides` names them counts for each of them.
"""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, fields, replace
from datetime import date, timedelta
from pathlib import Path

from flyannot.base.errors import InputError, did_you_mean
from flyannot.base.stage_ranges import AS_TEXT, STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.dataset.folder import Annotations, read_gene_rows
from flyannot.dataset.table_warnings import bdgp_terms, first_names
from flyannot.files.tables import table_as_text

ACCEPT, REJECT, UNSURE = VERDICTS = ("accept", "reject", "unsure")
_REQUIRED = ("gene", "stage_range", "term", "verdict", "date")
_OPTIONAL = ("fbgn", "curator", "note", "probability", "model_digest", "decides")
_ISO_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ].*)?", re.ASCII)


@dataclass(frozen=True)
class Correction:
    """One row; `date` is year-month-day, and unknown text is ""."""

    gene: str
    fbgn: str
    stage_range: str
    term: str
    verdict: str
    curator: str = ""
    date: str = ""
    note: str = ""
    probability: str = ""
    model_digest: str = ""
    decides: str = ""  # curators, with semicolons between them
    where: str = field(default="", compare=False)  # the table and the line that it was read from

    @property
    def key(self):
        """What the verdict is about: gene_id, stage range, term."""
        return self.fbgn or self.gene, self.stage_range, self.term

    @property
    def what(self):
        """The same in words."""
        return f"{self.term} of {self.gene} in {self.stage_range}"

    @property
    def decided(self):
        """The curators whose disagreement the row decides; none where it is a curator's own verdict."""
        return [name for part in self.decides.split(";") if (name := " ".join(part.split()))]


COLUMNS = tuple(column.name for column in fields(Correction) if column.compare)


def read_corrections(paths):
    """The corrections of some tables, one after the other; a curator without a name is named by the table.
    Rows that nobody has filled in to decide are passed over.

    A row without FlyBase number takes the one that its symbol has elsewhere in these tables, if it is one.
    InputError, with file, line and column: see `flyannot.dataset.folder.read_gene_rows`; an unknown verdict;
    a date that is none.
    """
    n_of_name = Counter(Path(path).stem for path in paths)
    corrections = []
    for path in map(Path, paths):
        folder = f"{path.absolute().parent.name}/" if n_of_name[path.stem] > 1 else ""
        corrections += _read_table(path, folder + path.stem)
    fbgns = defaultdict(set)
    for correction in corrections:
        if correction.fbgn:
            fbgns[correction.gene].add(correction.fbgn)
    return [
        replace(c, fbgn=min(fbgns[c.gene])) if not c.fbgn and len(fbgns[c.gene]) == 1 else c
        for c in corrections
    ]


def corrections_as_text(corrections):
    """A table of corrections, by stage range, gene and term; those of one thing in their order."""
    ordered = sorted(corrections, key=lambda c: (STAGE_RANGES.index(c.stage_range), *c.key))
    return table_as_text(COLUMNS, ([getattr(c, name) for name in COLUMNS] for c in ordered))


def _read_table(path, curator):
    corrections = []
    for line, cells in read_gene_rows(path, _REQUIRED, _OPTIONAL):
        row = dict(zip(_REQUIRED + _OPTIONAL, cells), where=f"{path}, line {line}")
        if row["verdict"].casefold() not in VERDICTS:
            raise InputError(
                f'{row["where"]}, column "verdict": unknown verdict "{row["verdict"]}".'
                f"{did_you_mean(row['verdict'], VERDICTS)}",
                fix=f"use one of {', '.join(VERDICTS)}",
            )
        row["verdict"] = row["verdict"].casefold()
        row["date"] = _iso_date(row["date"], f'{row["where"]}, column "date"')
        row["term"] = " ".join(row["term"].split())
        if not row["decides"]:
            row["curator"] = row["curator"] or curator
        elif row["verdict"] != UNSURE and not row["curator"]:
            raise InputError(f'{row["where"]}, column "curator": empty', fix="name who decided")
        row["curator"] = " ".join(row["curator"].replace(";", ",").split())
        if row["curator"]:  # else it waits to be decided
            corrections.append(Correction(**row))
    if not corrections:
        raise InputError(f"{path} holds no verdict", fix="add one row per gene, stage range and term")
    return corrections


def _iso_date(text, where):
    """Year-month-day of a date, perhaps with a time; InputError, whose message begins with `where`."""
    match = _ISO_DATE.fullmatch(text)
    try:
        day = date.fromisoformat(match[1] if match else "")
    except ValueError:
        raise InputError(
            f'{where}: "{text}" is no date such as 2026-01-31', fix=f"write year-month-day; {AS_TEXT}"
        ) from None
    if day > date.today() + timedelta(days=1):  # elsewhere it may be tomorrow
        raise InputError(f'{where}: "{text}" is in the future', fix="it would win for ever: correct it")
    return day.isoformat()


@dataclass(frozen=True)
class Consensus:
    """What several verdicts on one thing come to.

    correction : the verdict, by all curators who stand for it; unsure where they disagree and nobody decided
    rows : the last verdict and the last decision of every curator; more rows teach nothing
    stands : curator -> those of these rows that they stand for
    overruled : rows of another verdict that nobody stands for
    """

    correction: Correction
    rows: tuple
    stands: dict
    overruled: tuple = ()

    @property
    def is_contested(self):
        """Whether curators disagree, and nobody has decided."""
        return len({row.verdict for of in self.stands.values() for row in of}) > 1

    def to_decide(self):
        """The row that whoever decides fills in, below those of the curators."""
        empty = dict.fromkeys(("curator", "probability", "model_digest", "note"), "")
        return replace(self.correction, decides=self.correction.curator, **empty)


def settle_verdicts(corrections):
    """A dict, key of `Correction` -> Consensus, in the order of the first rows."""
    by_key = defaultdict(list)
    for correction in corrections:
        by_key[correction.key].append(correction)
    return {key: _settle_rows(rows) for key, rows in by_key.items()}


def _settle_rows(rows):
    rows = sorted(set(rows), key=_order)
    own = _last_of_curators(row for row in rows if not row.decides)
    decisions = _last_of_curators(row for row in rows if row.decides)
    later = {c: last for c, last in decisions.items() if c not in own or last[0].date >= own[c][0].date}
    stands = own | later
    kept = {row for last in (*own.values(), *decisions.values()) for row in last}
    standing = [row for row in rows if any(row in last for last in stands.values())]
    said = {c: ", ".join(f"{row.verdict} ({row.date})" for row in stands[c]) for c in sorted(stands)}
    correction = replace(standing[-1], curator="; ".join(said), decides="")
    if len({row.verdict for row in standing}) > 1:
        note = "; ".join(f"{curator}: {words}" for curator, words in said.items())
        correction = replace(correction, verdict=UNSURE, note=note)
    overruled = [row for row in rows if row not in standing and row.verdict != correction.verdict]
    return Consensus(correction, tuple(row for row in rows if row in kept), stands, tuple(overruled))


def _last_of_curators(rows):
    """Curator -> their rows of the last day, one of each verdict; a decision is of all whom it names."""
    last = {}
    for row in rows:  # in order, so that of two alike the same one stays whatever table came first
        for curator in {row.curator, *row.decided}:
            others = (r for r in last.get(curator, ()) if r.date == row.date and r.verdict != row.verdict)
            last[curator] = [*others, row]
    return last


def _order(row):
    return row.date, bool(row.decides), row.curator, *(getattr(row, name) for name in COLUMNS)


_COUNTED = {  # kind of change -> what a count says of it
    "added": "added",
    "removed": "removed",
    "denied": "rejected where there is no row",
    "unsure": "unsure and left out",
}
_CONFLICTS = {
    "older": "older than the annotations, which say otherwise and stay",
    "contested": "left out until decided, for curators disagree (flyannot curate lists them)",
    "overruled": "replaced by a later one of the same curator, or by a decision",
}


def describe_changes(changes):
    """Return what `apply_corrections` changed: a line with counts and first names, and one a conflict."""
    n = sum(len(changes[kind]) for kind in (*_COUNTED, "confirmed", "older", "contested"))
    parts = [
        f"{len(changes[kind])} {word}{_names(changes[kind])}"
        for kind, word in _COUNTED.items()
        if changes[kind]
    ]
    parts += [f"{len(changes['confirmed'])} as before"] if changes["confirmed"] else []
    lines = [f"{pluralise(n, 'reviewed term')}: {', '.join(parts) or 'nothing changed'}"]
    if n_genes := len({correction.key[:2] for correction in changes["of_new_genes"]}):
        genes = pluralise(n_genes, "gene")
        lines.append(f"{genes} without a row in the annotations: known only of the reviewed terms")
    for kind, words in _CONFLICTS.items():
        if rows := changes[kind]:
            lines.append(f"{pluralise(len(rows), 'verdict')} {words}{_names(rows)}")
    return lines


def _names(corrections):
    return f" ({first_names([correction.what for correction in corrections])})"


def apply_corrections(annotations, corrections, table, known=()):
    """Apply a list of Correction to Annotations.

    Accepted terms are added, rejected ones removed; of unsure ones nothing is known.  Where the table has a
    column `date` and says otherwise on a later day, it stays.  A gene without a row in a stage range is known
    only of its reviewed terms there.

    Parameters
    ----------
    table : Path of the annotations, for messages
    known : terms that are right, besides BDGP's and those of the annotations

    Returns
    -------
    corrected : Annotations
    changes : dict, kind -> list of Correction: added and removed (terms that the table did not have, or had),
        unsure (left out), denied (rejected, of genes without a row in the stage range), confirmed (the table
        says so too), older (the table has a later date and says otherwise), contested (curators disagree, and
        nobody has decided: left out), overruled (verdicts that gave way to a later one of the same curator,
        or to a decision, of another kind), of_new_genes (of all kinds, of genes without a row)

    Raises
    ------
    InputError
        If a term is unknown, a gene's symbol stands for several genes, or a date of the table is none.
    """
    _require_terms(annotations, corrections, table, known)
    ids = {(c.gene, c.fbgn): _gene_id(annotations, c, table) for c in corrections}
    days, before, changes = {}, annotations.terms_by_gene, defaultdict(list)
    for (*gene_and_stage, term), text in annotations.dates.items():  # of a term, and the last one of the gene
        day = _iso_date(text, f'{table}, column "date"')
        for key in ((*gene_and_stage, term), tuple(gene_and_stage)):
            days[key] = max(day, days.get(key, ""))
    terms = {key: set(of_gene) for key, of_gene in before.items()}
    unsure, known_only, reviewed = defaultdict(set), defaultdict(set), defaultdict(set)
    # Two spellings are one gene.
    by_gene = settle_verdicts(replace(c, fbgn=ids[c.gene, c.fbgn]) for c in corrections)
    for (*gene_and_stage, term), settled in by_gene.items():
        correction, key = settled.correction, tuple(gene_and_stage)
        is_new, has = key not in before, term in before.get(key, ())
        changes["overruled"] += settled.overruled
        says_otherwise = not is_new and correction.verdict == (REJECT if has else ACCEPT)
        if says_otherwise and days.get((*key, term) if has else key, "") > correction.date:
            changes["older"].append(correction)
            continue
        if correction.verdict == UNSURE:
            kind = "contested" if settled.is_contested else "unsure"
            unsure[key].add(term)
        elif not is_new and not says_otherwise:
            kind = "confirmed"
        else:
            kind = "added" if correction.verdict == ACCEPT else "denied" if is_new else "removed"
        changes[kind].append(correction)
        reviewed[key].add(term)
        of_gene = terms.setdefault(key, set())
        if correction.verdict == ACCEPT:
            of_gene.add(term)
        else:
            of_gene.discard(term)
        if is_new:
            changes["of_new_genes"].append(correction)
            known_only[key].update([term] if correction.verdict != UNSURE else [])
    symbols: dict = {symbol: set(gene_ids) for symbol, gene_ids in annotations.genes_by_symbol.items()}
    known_ids = set().union(*symbols.values())
    for (gene, _), gene_id in ids.items():
        if gene_id not in known_ids:
            symbols.setdefault(gene, set()).add(gene_id)
    frozen, *others = (
        {key: frozenset(of_gene) for key, of_gene in sets.items()}
        for sets in (terms, unsure, known_only, reviewed)
    )
    return Annotations(frozen, symbols, annotations.dates, *others), changes


def _gene_id(annotations, correction, table):
    """The annotated gene that a correction means, else a new one."""
    gene, fbgn = correction.gene, correction.fbgn
    gene_id = annotations.gene_id(gene, fbgn)
    several = annotations.genes_by_symbol.get(gene, ())
    if gene_id is None and not fbgn and len(several) > 1:
        both = " and ".join(sorted(several))
        raise InputError(
            f'{correction.where}, column "fbgn": empty, and {gene} is {both} in {table}',
            fix="fill in the one that is meant",
        )
    return gene_id or fbgn or gene


def _require_terms(annotations, corrections, table, known):
    """Refuse a term that nobody knows: it is misspelt, or belongs into the annotations first."""
    counts = Counter(term for terms in annotations.terms_by_gene.values() for term in terms)
    for correction in corrections:
        term = correction.term
        if term not in counts and term not in bdgp_terms() and term not in known:
            raise InputError(
                f'{correction.where}, column "term": neither {table} nor BDGP has a term "{term}".'
                f"{did_you_mean(term, [*sorted(counts), *sorted(bdgp_terms())])}",
                fix="write the term as the annotations do; a new term needs one row there first",
            )
