"""Corrections: verdicts of curators on single terms, and how they change annotations.

A verdict is on one term of one gene in one stage range: accept (the gene has it), reject or unsure.  If a
curator gave several, the last one counts, also within a day.  If curators disagree, the term is unsure until
a row decides it, whatever the dates.  Such a row names the curators in its column `decides`, and counts for
each of them.
"""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime, timedelta
from operator import attrgetter
from pathlib import Path

from flyannot.base.dates import TEXT_COLUMN_ADVICE, parse_serial_date, parse_spreadsheet_date
from flyannot.base.errors import InputError, did_you_mean
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import clean_name, pluralise
from flyannot.dataset.folder import Annotations
from flyannot.dataset.gene_rows import read_gene_rows
from flyannot.dataset.table_warnings import abbreviate_names, bdgp_terms, raise_errors, warn_about_rows
from flyannot.files.tables import format_table

ACCEPT, REJECT, UNSURE = VERDICTS = ("accept", "reject", "unsure")
_REQUIRED = ("gene", "stage_range", "term", "verdict", "date")
_CHANCE = re.compile(r"|1(\.0*)?|0?\.[0-9]*[1-9][0-9]*")  # above 0 and at most 1, or empty
_MOMENT = re.compile(r"[12]\d{3}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})", re.ASCII)
_ISO_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ].*)?", re.ASCII)
_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?: .*)?", re.ASCII)  # 30.01.2026, 1/30/2026
_DATE_WITH_NAME = re.compile(r"\d{1,2}\.?[-./ ][^\W\d_]+\.?[-./ ](\d{4}|\d{2})")  # 30-Jan-2026


@dataclass(frozen=True, slots=True)
class Correction:
    """One row of a table of corrections: the verdict of a curator on one term of one gene.

    `date` is year-month-day, and may also have a time with its offset from UTC. Unknown texts are "".
    The column of a field whose name ends in "_", such as `with_`, is named without it.
    """

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
    decides: str = ""  # curators, separated by semicolons
    chance: str = ""  # the probability with which the page drew the term; "" if it was chosen
    finished: str = ""  # "yes" if the curator has judged the gene whole in this stage range
    with_: str = ""  # the number of verdicts that one action gave together
    own: tuple = ()  # pairs of name and cell, of the columns that the curator added
    where: str = field(default="", compare=False)  # table and line of the row

    @property
    def key(self):
        """The gene identifier, stage range and term of the verdict."""
        return self.fbgn or self.gene, self.stage_range, self.term

    @property
    def moment(self):
        """The date as a text that sorts by time: in UTC, or the day alone if it has no time."""
        is_day = len(self.date) == len("2026-01-31")
        return self.date if is_day else datetime.fromisoformat(self.date).astimezone(UTC).isoformat()

    def precedes(self, other):
        """Return True if the verdict is surely earlier than the verdict of another Correction.

        Only the days are compared if one of the two has no time.
        """
        own = self.moment
        later = other.moment
        return own[: len(later)] < later[: len(own)]

    @property
    def description(self):
        """The gene, stage range and term of the verdict as text."""
        return f"{self.term} of {self.gene} in {self.stage_range}"

    @property
    def decided_curators(self):
        """The curators whose disagreement the row decides; empty if the row is a curator's own verdict."""
        return [name for part in self.decides.split(";") if (name := " ".join(part.split()))]


_FIELDS = [column.name for column in fields(Correction) if column.name not in ("own", "where")]
COLUMNS = tuple(name.rstrip("_") for name in _FIELDS)
_OPTIONAL = tuple(name for name in COLUMNS if name not in _REQUIRED)
_cells = attrgetter(*_FIELDS)


def read_corrections(paths, columns=None, faults=None):
    """Read the corrections of some tables, one after the other.

    Rows at fault are left out and listed in the log.

    A curator without a name is named after the table.  Names that differ only in capitals, or as `clean_name`
    says, are one curator, with the first spelling.  A row without FlyBase number gets the number that
    its symbol has elsewhere in these tables, if there is only one.  Rows that wait for a decision are
    left out.

    paths : Paths of the tables; columns : as in `read_table`
    faults : list that gets the InputErrors of rows at fault; None to pass none

    Raises
    ------
    InputError
        As `read_gene_rows`.  Also if a table has no row that is not at fault.
    """
    n_of_name = Counter(Path(path).stem for path in paths)
    corrections = []
    for path in map(Path, paths):
        folder = f"{path.absolute().parent.name}/" if n_of_name[path.stem] > 1 else ""
        corrections += _read_table(path, folder + path.stem, columns, [] if faults is None else faults)
    fbgns = defaultdict(set)
    for correction in corrections:
        if correction.fbgn:
            fbgns[correction.gene].add(correction.fbgn)
    names = {_curator_key(c.curator): c.curator for c in reversed(corrections)}
    read = []
    for c in corrections:
        fbgn = min(fbgns[c.gene]) if not c.fbgn and len(fbgns[c.gene]) == 1 else c.fbgn
        decides = "; ".join(names.get(_curator_key(name), name) for name in c.decided_curators)
        read.append(replace(c, fbgn=fbgn, curator=names[_curator_key(c.curator)], decides=decides))
    return read


def _curator_key(name):
    return clean_name(name).casefold()


def format_corrections(corrections):
    """Format a table of corrections, sorted by stage range, gene and term."""
    ordered = sorted(corrections, key=lambda c: (STAGE_RANGES.index(c.stage_range), *c.key))
    own = tuple(dict.fromkeys(name for c in ordered for name, _ in c.own))
    rows = ((*_cells(c), *(dict(c.own).get(name, "") for name in own)) for c in ordered)
    return format_table(COLUMNS + own, rows)


def _read_table(path, curator, columns, faults):
    corrections = []
    found: list = []
    own: list = []
    how = {"columns": columns, "free": ("note",), "others": own}
    for line, cells in read_gene_rows(path, _REQUIRED, _OPTIONAL, found, **how):
        row = dict(zip(_REQUIRED + _OPTIONAL, cells), where=f"{path}, line {line}")
        row["own"] = tuple((name, cell) for name, cell in zip(own, cells[len(COLUMNS) :]) if cell)
        try:
            correction = _parse_row(row, curator)
        except InputError as error:
            found.append(error)
            continue
        if correction.curator:  # otherwise the row waits for a decision
            corrections.append(correction)
    if not corrections:
        raise_errors(path, found)
        raise InputError(f"{path} has no verdict", fix="add one row per gene, stage range and term")
    warn_about_rows(path, found)
    faults += found
    return corrections


def _parse_row(row, curator):
    """Return the Correction of a row, a dict; raise InputError if it cannot be understood.

    curator : name of the curator if the row has none
    """
    if row["verdict"].casefold() not in VERDICTS:
        raise InputError(
            f'{row["where"]}, column "verdict": unknown verdict "{row["verdict"]}".'
            f"{did_you_mean(row['verdict'], VERDICTS)}",
            fix=f"use one of {', '.join(VERDICTS)}",
        )
    row |= {name: row[name].casefold() for name in ("verdict", "finished")}
    row["date"] = _iso_date(row["date"], f'{row["where"]}, column "date"')
    if not _CHANCE.fullmatch(row["chance"]) or row["finished"] not in ("", "no", "yes"):
        cells = f'chance "{row["chance"]}" or finished "{row["finished"]}"'
        fix = "write the chance as 0.12, and yes if the whole gene was judged, or leave both empty"
        raise InputError(f"{row['where']}: {cells} cannot be understood", fix=fix)
    row["term"] = " ".join(row["term"].split())
    if not row["decides"]:
        row["curator"] = row["curator"] or curator
    elif row["verdict"] != UNSURE and not row["curator"]:
        raise InputError(f'{row["where"]}, column "curator": empty', fix="write who decided")
    row["curator"] = " ".join(row["curator"].replace(";", ",").split())
    return Correction(*map(row.__getitem__, (*COLUMNS, "own", "where")))


def _iso_date(text, where):
    """Return a date as year-month-day, with its time if the text has one with an offset from UTC.

    The text may be any date of a spreadsheet.

    where : beginning of the message of the error

    Raises
    ------
    InputError
        If the date cannot be understood, or if day and month may be exchanged, as in 1/3/2026.
    """
    try:
        days = _possible_dates(text)
        day = days[0]
        moment = datetime.fromisoformat(text) if _MOMENT.fullmatch(text) else None
    except (ValueError, IndexError):
        raise InputError(
            f'{where}: "{text}" is no date such as 2026-01-31',
            fix=f"write year-month-day; {TEXT_COLUMN_ADVICE}",
        ) from None
    if len(set(days)) > 1:
        raise InputError(
            f'{where}: "{text}" may be {" or ".join(map(str, days))}', fix="write dates as year-month-day"
        )
    if day > date.today() + timedelta(days=1):  # in another time zone it may be tomorrow
        raise InputError(
            f'{where}: "{text}" is in the future',
            fix="correct the date: otherwise later verdicts could not replace it",
        )
    return moment.isoformat(timespec="seconds") if moment else day.isoformat()


def _possible_dates(text):
    """Return the dates that a text may mean, in a list: none, one or two.

    In dates with points, the day comes first.  In other dates of numbers, the month may come first.
    """
    match = _ISO_DATE.fullmatch(text)
    if iso := match[1] if match else parse_serial_date(text):
        return [date.fromisoformat(iso)]
    if match := _DATE_WITH_NAME.fullmatch(text):
        month_and_day = parse_spreadsheet_date(text)
        return [date(_full_year(match[1]), *month_and_day)] if month_and_day else []
    if not (match := _DATE.fullmatch(text)):
        return []
    first = int(match[1])
    second = int(match[3])
    orders = [(second, first)] if match[2] == "." else [(second, first), (first, second)]
    return [date(_full_year(match[4]), month, day) for month, day in orders if month <= 12]


def _full_year(text):
    return int(text) if len(text) == 4 else 2000 + int(text)


@dataclass(frozen=True)
class Consensus:
    """The result of all verdicts on one term of one gene.

    correction : the resulting Correction, with all curators whose verdict it is
        Its verdict is unsure if they disagree and nobody decided.
    rows : the last verdict and the last decision of every curator; older rows have no effect
    stands : dict, curator -> list of the rows that count for the curator
    overruled : rows with another verdict, which count for nobody
    """

    correction: Correction
    rows: tuple
    stands: dict
    overruled: tuple = ()

    @property
    def is_contested(self):
        """True if curators disagree, and nobody has decided."""
        return len({row.verdict for of in self.stands.values() for row in of}) > 1

    @property
    def ties(self):
        """The curators whose last verdicts are several: nobody knows which was the later."""
        return [curator for curator, rows in self.stands.items() if len({row.verdict for row in rows}) > 1]

    def blank_row(self):
        """Return the Correction in which somebody enters the decision: unsure, and without a curator."""
        empty = dict.fromkeys(("curator", "probability", "model_digest", "note"), "")
        return replace(self.correction, decides=self.correction.curator, own=(), **empty)


def settle_verdicts(corrections):
    """Combine Corrections to one Consensus for each key; return them as a dict, in order of appearance."""
    by_key = defaultdict(list)
    for correction in corrections:
        by_key[correction.key].append(correction)
    return {key: _settle_rows(rows) for key, rows in by_key.items()}


def _settle_rows(rows):
    rows = sorted(
        set(rows), key=lambda row: (row.moment, bool(row.decides), row.curator, *_cells(row), row.own)
    )
    own = _latest_verdicts(row for row in rows if not row.decides)
    decisions = _latest_verdicts(row for row in rows if row.decides)
    later = {c: of for c, of in decisions.items() if c not in own or not of[-1].precedes(own[c][-1])}
    stands = own | later
    kept = {row for last in (*own.values(), *decisions.values()) for row in last}
    standing = [row for row in rows if any(row in last for last in stands.values())]
    said = {c: _format_verdicts(stands[c]) for c in sorted(stands)}
    correction = replace(standing[-1], curator="; ".join(said), decides="")
    if len({row.verdict for row in standing}) > 1:
        note = "; ".join(f"{curator}: {words}" for curator, words in said.items())
        correction = replace(correction, verdict=UNSURE, note=note)
    overruled = [row for row in rows if row not in standing and row.verdict != correction.verdict]
    return Consensus(correction, tuple(row for row in rows if row in kept), stands, tuple(overruled))


def _format_verdicts(rows):
    words = " and ".join(f"{row.verdict} ({row.date})" for row in rows)
    return f"{words}, at one time" if len({row.verdict for row in rows}) > 1 else words


def _latest_verdicts(rows):
    """Return for each curator the last Corrections that count for the curator, as a dict.

    There are several if they have one moment, or one day and not all a time.  A decision counts for all
    curators that it names.
    """
    last = {}
    for row in rows:  # they are sorted, so that the order of tables does not matter
        for curator in {row.curator, *row.decided_curators}:
            others = (r for r in last.get(curator, ()) if not r.precedes(row))
            last[curator] = [*(r for r in others if (r.moment, r.verdict) != (row.moment, row.verdict)), row]
    return last


_COUNTED = {  # kind of change -> words after its count
    "added": "added",
    "removed": "removed",
    "denied": "rejected where there is no row",
    "unsure": "unsure and left out",
}
_CONFLICTS = {
    "older": "older than the annotations, which contradict them and stay",
    "contested": "left out, since verdicts disagree and nobody has decided (flyannot curate lists them)",
    "overruled": "replaced by a later one of the same curator, or by a decision",
}


def describe_changes(changes):
    """Describe the changes of `apply_corrections`: a line with counts, and a line for each conflict."""
    n = sum(len(changes[kind]) for kind in (*_COUNTED, "confirmed", "older", "contested"))
    parts = [f"{len(changes[k])} {w}{_list_terms(changes[k])}" for k, w in _COUNTED.items() if changes[k]]
    parts += [f"{len(changes['confirmed'])} as before"] if changes["confirmed"] else []
    lines = [f"{pluralise(n, 'reviewed term')}: {', '.join(parts) or 'nothing changed'}"]
    if n_genes := len({correction.key[:2] for correction in changes["of_new_genes"]}):
        genes = pluralise(n_genes, "gene")
        lines.append(f"{genes} without a row in the annotations: only the reviewed terms are known")
    for kind, words in _CONFLICTS.items():
        if rows := changes[kind]:
            lines.append(f"{pluralise(len(rows), 'verdict')} {words}{_list_terms(rows)}")
    return lines


def _list_terms(corrections):
    return f" ({abbreviate_names([correction.description for correction in corrections])})"


def apply_corrections(annotations, corrections, table, known=()):
    """Apply a list of Correction to Annotations.

    Accepted terms are added, and rejected ones removed.  An unsure term is left out: whether the gene has
    it is unknown.  If the table has a column `date` and contradicts on a later day, the table's term
    stays.  Of a gene without a row in a stage range, only the reviewed terms are known there.  If a curator
    has finished the gene, it lacks all other terms.

    Parameters
    ----------
    annotations : Annotations
    corrections : list of Correction
    table : Path of the annotations, for messages
    known : terms that are right, besides BDGP's and those of the annotations

    Returns
    -------
    corrected : Annotations
    changes : dict, kind -> list of Correction.  The kinds are

        - added, removed: the table did not have the term, or had it
        - confirmed: the table agrees
        - unsure: left out
        - denied: rejected, and the gene has no row in the stage range
        - older: the table contradicts, and has a later date
        - contested: curators disagree, and nobody has decided; left out
        - overruled: replaced by a later verdict of the same curator, or by a decision
        - of_new_genes: of any kind, and the gene has no row in the stage range

    Raises
    ------
    InputError
        If a term is unknown, a gene's symbol belongs to several genes, or a date of the table is invalid.
    """
    _require_terms(annotations, corrections, table, known)
    ids = {(c.gene, c.fbgn): _gene_id(annotations, c, table) for c in corrections}
    days = _latest_days(annotations.dates, table)
    before = annotations.terms_by_gene
    terms = {key: set(of_gene) for key, of_gene in before.items()}
    changes = defaultdict(list)
    unsure = defaultdict(set)
    known_only = defaultdict(set)
    reviewed = defaultdict(set)
    chances = defaultdict(dict)
    # A gene may be named in two ways, and is one gene here.
    by_gene = settle_verdicts(replace(c, fbgn=ids[c.gene, c.fbgn]) for c in corrections)
    finished = {row.key[:2] for s in by_gene.values() for row in s.rows if row.finished == "yes"}
    for (*gene_and_stage, term), settled in by_gene.items():
        correction = settled.correction
        key = tuple(gene_and_stage)
        has = term in before.get(key, ())
        day = days.get((*key, term) if has else key, "")
        kind = _classify_correction(settled, day, gene_is_new=key not in before, table_has_term=has)
        changes[kind].append(correction)
        changes["overruled"] += settled.overruled
        if kind == "older":
            continue
        reviewed[key].add(term)
        of_gene = terms.setdefault(key, set())
        if correction.verdict == ACCEPT:
            of_gene.add(term)
        else:
            of_gene.discard(term)
        if correction.verdict == UNSURE:
            unsure[key].add(term)
        if key not in before and key not in finished:
            changes["of_new_genes"].append(correction)
            known_only[key].update([term] if correction.verdict != UNSURE else [])
            if correction.chance:
                chances[key][term] = float(correction.chance)
    symbols: dict = {symbol: set(gene_ids) for symbol, gene_ids in annotations.genes_by_symbol.items()}
    known_ids = set().union(*symbols.values())
    for (gene, _), gene_id in ids.items():
        if gene_id not in known_ids:
            symbols.setdefault(gene, set()).add(gene_id)
    sets = {"terms_by_gene": terms, "unsure": unsure, "known_only": known_only, "reviewed": reviewed}
    frozen: dict = {
        name: {key: frozenset(of_gene) for key, of_gene in some.items()} for name, some in sets.items()
    }
    more = {"genes_by_symbol": symbols, "dates": annotations.dates, "chances": dict(chances)}
    return Annotations(**frozen, **more), changes


def _latest_days(dates, table):
    """Return the last day on which a table gave a term, or any term, to a gene in a stage range.

    dates : dict, (gene identifier, stage range, term) -> date; table : Path, for messages

    Returns
    -------
    days : dict, (gene identifier, stage range) or that with a term -> year-month-day
    """
    days: dict = {}
    for key, text in dates.items():
        day = _iso_date(text, f'{table}, column "date"')[:10]
        for place in (key, key[:2]):
            days[place] = max(day, days.get(place, ""))
    return days


def _classify_correction(settled, table_day, *, gene_is_new, table_has_term):
    """Return what a correction does to the table of annotations, in the words of `apply_corrections`.

    Parameters
    ----------
    settled : Consensus on a term of a gene
    table_day : the day on which the table gave the gene the term or, if it did not, the last other term; or
        ""
    gene_is_new : whether the table has no row of the gene in the stage range
    table_has_term : whether the table gives the gene the term
    """
    verdict = settled.correction.verdict
    says_otherwise = not gene_is_new and verdict == (REJECT if table_has_term else ACCEPT)
    if says_otherwise and table_day > settled.correction.date[:10]:
        return "older"
    if verdict == UNSURE:
        return "contested" if settled.is_contested else "unsure"
    if not gene_is_new and not says_otherwise:
        return "confirmed"
    return "added" if verdict == ACCEPT else "denied" if gene_is_new else "removed"


def _gene_id(annotations, correction, table):
    """Return the identifier of the annotated gene that a correction is about, or a new identifier.

    annotations : Annotations; table : Path, for messages
    """
    gene = correction.gene
    fbgn = correction.fbgn
    gene_id = annotations.gene_id(gene, fbgn)
    several = annotations.genes_by_symbol.get(gene, ())
    if gene_id is None and not fbgn and len(several) > 1:
        both = " and ".join(sorted(several))
        raise InputError(
            f'{correction.where}, column "fbgn": empty, and {gene} is {both} in {table}',
            fix="fill in the right one",
        )
    return gene_id or fbgn or gene


def _require_terms(annotations, corrections, table, known):
    """Raise InputError for an unknown term: it is misspelt, or must first be in the annotations."""
    counts = Counter(term for terms in annotations.terms_by_gene.values() for term in terms)
    for correction in corrections:
        term = correction.term
        if term not in counts and term not in bdgp_terms() and term not in known:
            raise InputError(
                f'{correction.where}, column "term": neither {table} nor BDGP has a term "{term}".'
                f"{did_you_mean(term, [*sorted(counts), *sorted(bdgp_terms())])}",
                fix="write the term as the annotations do; a new term needs one row there first",
            )
