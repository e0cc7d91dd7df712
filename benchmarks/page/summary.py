"""What a referee reads in a minute: how many claims hold, paper by paper, item by item, and which fail."""

from collections import Counter
from dataclasses import dataclass

from benchmarks.claims import FAILS, HOLDS, NOT_MEASURED, OURS, PAPER, UNDECIDED
from benchmarks.findings import NOT_RUNNABLE
from benchmarks.tables import Table

_VERDICTS = {HOLDS: "hold", FAILS: "fail", UNDECIDED: "are undecided", NOT_MEASURED: "are not measured"}
_STATUSES = {word: word.removesuffix("s") for word in ("reproduced", "agrees", "differs", "undecided")}


@dataclass(frozen=True)
class Summary:
    """The top of the page: one sentence, and three tables."""

    sentence: str
    of_papers: Table
    of_items: Table
    failing: Table


def summary_of(sections):
    """The `Summary` of sections that `benchmarks.page.section_of` made; our own are left out."""
    sections = [s for s in sections if s["paper"]]
    measured = [s for s in sections if _is_measured(s)]
    claims = _verdicts(measured)
    statuses = Counter(_status(s) for s in sections)
    n_papers = len({s["paper"] for s in sections})
    n_absent = sum(s["status"] == NOT_RUNNABLE for s in sections)
    absent = f"; {n_absent} cannot be run here, for data or programs are absent" if n_absent else ""
    sentence = (
        f"Of {len(sections)} tables, figures and sections of {n_papers} papers {len(measured)} were "
        f"measured: {_counted(statuses, _STATUSES)}{absent}. "
        f"Of {sum(claims.values())} claims of the papers {_counted(claims, _VERDICTS)}."
    )
    heads = ["item", "in the paper", "status", "size", "claims: hold", "fail", "open", "ours: hold", "time"]
    of_items = Table("Item by item", heads, [_of_item(s) for s in sections])
    return Summary(sentence, _of_papers(sections), of_items, _failing(measured))


def _of_papers(sections):
    rows = []
    for paper in dict.fromkeys(s["paper"] for s in sections):
        mine = [s for s in sections if s["paper"] == paper]
        measured = [s for s in mine if _is_measured(s)]
        items, claims = _counted(Counter(map(_status, mine)), _STATUSES), _verdicts(measured)
        verdicts = [str(claims[verdict]) for verdict in _VERDICTS]
        rows.append([paper, f"{len(measured)} of {len(mine)}", items, *verdicts])
    heads = ["paper", "measured", "items", "claims: hold", "fail", "undecided", "not measured"]
    return Table("Paper by paper", heads, rows)


def _of_item(section):
    finding = section["finding"]
    named = section["name"] + (" --full" if section.get("scale") == "full" else "")
    first = [named, section["place"], section["status"]]
    if finding is None:
        return [*first, *[""] * 6]
    claims = _verdicts([section])
    n_ours = sum(claim.by == OURS for claim in finding.claims)
    size = finding.size or ""
    if size:  # ours over the paper's
        size = f"{size.ours:,} {size.what}" if size.share is None else f"{100 * min(size.share, 1):.3g} %"
    counts = claims[HOLDS], claims[FAILS], claims[UNDECIDED] + claims[NOT_MEASURED]
    held = f"{finding.n_holding(OURS)} of {n_ours}" if n_ours else ""
    return [*first, size, *map(str, counts), held, took(section["seconds"])]


def took(seconds, unit="\N{NO-BREAK SPACE}s"):
    """The processor time of an item in words; one that shares another's measurements takes nearly none."""
    return f"{seconds:.0f}{unit}" if seconds >= 0.5 else "with another item"


def _is_measured(section):
    return section["finding"] is not None and section["status"] != NOT_RUNNABLE


def _failing(measured):
    rows = [
        [s["name"], claim.text, claim.here, claim.refuted_by]
        for s in measured
        for claim in s["finding"].claims
        if claim.by == PAPER and claim.verdict == FAILS
    ]
    return Table("Claims of the papers that fail here", ["item", "claim", "here", "refuted by"], rows)


def _verdicts(sections):
    """Of the papers' claims."""
    return Counter(c.verdict for s in sections for c in s["finding"].claims if c.by == PAPER)


def _status(section):
    """The first word of the status."""
    return section["status"].split()[0]


def _counted(counts, names):
    """How many of each there are, in words; what there is none of is left out."""
    return ", ".join(f"{counts[name]} {words}" for name, words in names.items() if counts[name]) or "none"
