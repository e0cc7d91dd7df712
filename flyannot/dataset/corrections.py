"""The table of corrections: what curators say of single terms, on the page of a run or elsewhere.

A verdict is about one term of one gene in one stage range: accept (the gene has it), reject or unsure.
Where there are several of one thing, the last of each curator counts, and of these the latest; curators who
disagree on the same day leave it unsure.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from flyannot.dataset.stage_range_cells import StageRangeCells
from flyannot.dataset.table_warnings import warn_of_genes
from flyannot.errors import InputError, did_you_mean
from flyannot.runtime.tables import read_table, write_table
from flyannot.stage_ranges import AS_TEXT, STAGE_RANGES

ACCEPT, REJECT, UNSURE = VERDICTS = ("accept", "reject", "unsure")
_REQUIRED = ("gene", "stage_range", "term", "verdict", "date")
_OPTIONAL = ("fbgn", "curator", "note", "probability", "model_digest")
_MEANT = {
    "gene": ("symbol", "gene_symbol", "gene_name", "name"),
    "stage_range": ("stage", "stages", "stageranges", "stagerange"),
    "verdict": ("verdicts", "answer", "decision", "status"),
    "date": ("day", "dates", "time"),
    "term": ("terms", "annotation", "label"),
}
_ISO = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ].*)?", re.ASCII)


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
    where: str = field(default="", compare=False)  # the table and the line that it was read from

    @property
    def key(self):
        """What the verdict is about: gene_id, stage range, term."""
        return self.fbgn or self.gene, self.stage_range, self.term

    @property
    def what(self):
        """The same in words."""
        return f"{self.term} of {self.gene} in {self.stage_range}"


COLUMNS = (
    "gene", "fbgn", "stage_range", "term", "verdict", "curator", "date", "note", "probability",
    "model_digest",
)  # fmt: skip


def read_corrections(paths):
    """The corrections of some tables, one after the other; a curator without a name is named by the table.

    A row without FlyBase number takes the one that its symbol has elsewhere in these tables, if it is one.

    Raises
    ------
    InputError
        With file, line and column, as `flyannot.runtime.tables.read_table`: an unknown verdict or stage
        range, a date that is none.
    """
    corrections = [one for path in paths for one in _read(Path(path))]
    known = defaultdict(set)
    for one in corrections:
        if one.fbgn:
            known[one.gene].add(one.fbgn)
    return [
        replace(one, fbgn=min(known[one.gene])) if not one.fbgn and len(known[one.gene]) == 1 else one
        for one in corrections
    ]


def write_corrections(path, corrections):
    """Write a table of corrections, by stage range, gene and term; raises WriteError."""
    ordered = sorted(corrections, key=lambda one: (STAGE_RANGES.index(one.stage_range), *one.key))
    write_table(path, COLUMNS, ([getattr(one, name) for name in COLUMNS] for one in ordered))


def _read(path):
    stage_range_of, rows, lines = StageRangeCells(path), [], []
    for line, cells in read_table(path, _REQUIRED, _OPTIONAL, meant=_MEANT):
        gene, stage_range, term, verdict, day, fbgn, curator, *others = cells
        verdict = _verdict(verdict, path, line)
        day, stage_range = _day(day, path, line), stage_range_of(stage_range, line)
        term, curator = " ".join(term.split()), " ".join(curator.split()) or path.stem
        where = f"{path}, line {line}"
        rows.append(Correction(gene, fbgn, stage_range, term, verdict, curator, day, *others, where))
        lines.append(line)
    if not rows:
        raise InputError(f"{path} holds no verdict", fix="add one row per gene, stage range and term")
    stage_range_of.note()
    warn_of_genes(path, [one.gene for one in rows], lines)
    return rows


def _verdict(text, path, line):
    if text.casefold() not in VERDICTS:
        raise InputError(
            f'{path}, line {line}, column "verdict": unknown verdict "{text}".{did_you_mean(text, VERDICTS)}',
            fix=f"use one of {', '.join(VERDICTS)}",
        )
    return text.casefold()


def _day(text, path, line):
    return iso_date(text, f'{path}, line {line}, column "date"')


def iso_date(text, where):
    """Year-month-day of a date, perhaps with a time; InputError, whose message begins with `where`."""
    found = _ISO.fullmatch(text)
    try:
        return date.fromisoformat(found[1] if found else text[:0]).isoformat()
    except ValueError:
        raise InputError(
            f'{where}: "{text}" is no date such as 2026-01-31',
            fix=f"write year-month-day; {AS_TEXT}",
        ) from None


@dataclass(frozen=True)
class Settled:
    """What several verdicts on one thing come to.

    correction : the one that counts; unsure where curators disagree on the same day
    overruled : those with another verdict that gave way to it, of all curators
    is_contested : whether curators disagree on the same day
    """

    correction: Correction
    overruled: tuple = ()
    is_contested: bool = False


def settle(corrections):
    """A dict, key of `Correction` -> Settled, in the order of the first rows."""
    by_key = defaultdict(list)
    for one in corrections:
        by_key[one.key].append(one)
    return {key: _settle(rows) for key, rows in by_key.items()}


def last_of_curators(rows):
    """Curator -> the last correction of each, among rows on one thing; the later row of the same day."""
    last = {}
    for one in rows:
        if one.curator not in last or one.date >= last[one.curator].date:
            last[one.curator] = one
    return last


def _settle(rows):
    last = list(last_of_curators(rows).values())
    latest = max(one.date for one in last)
    of_the_day = [one for one in last if one.date == latest]
    winner = of_the_day[-1]
    if len({one.verdict for one in of_the_day}) > 1:
        said = "; ".join(f"{one.curator}: {one.verdict}" for one in of_the_day)
        curators = ", ".join(one.curator for one in of_the_day)
        contested = replace(winner, verdict=UNSURE, curator=curators, note=said)
        return Settled(contested, tuple(one for one in rows if one not in of_the_day), True)
    return Settled(winner, tuple(one for one in rows if one.verdict != winner.verdict))
