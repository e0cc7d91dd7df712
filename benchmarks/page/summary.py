"""The summary for a referee: how many statements have which finding, and what fails where."""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.claims import CONTRADICTED, HOLDS, OURS, OUTSIDE, REPRODUCED, Case, Claim, in_words
from benchmarks.findings import WORDS, counted
from benchmarks.tables import Table


class Failure(NamedTuple):
    """A statement of an item that measurements contradict, with its worst case."""

    item: str
    claim: Claim
    case: Case

    @property
    def here(self):
        """What was measured, in words, with an interval from 0, and why it decides nothing, if so."""
        why = self.claim.why_reopened(self.case)
        ends = (self.case.low, self.case.high) if self.case.low == 0 else ()
        return in_words(self.case.value, self.claim.unit, *ends) + (f": {why}" if why else "")


@dataclass(frozen=True)
class Summary:
    """The top of the page: one sentence, a table of the items, and `Failure`s in the regime and outside.

    reopened : `Failure`s in the regime that decide nothing
    """

    sentence: str
    of_items: Table
    contradicted: list
    outside: list
    reopened: list

    @property
    def of_failures(self):
        """Their tables."""
        inside = _table_of("Contradicted in the regime", self.contradicted)
        reopened = _table_of("Reopened: beyond the bounds, which decides nothing", self.reopened)
        return inside, reopened, _table_of("Outside the regime, where methods stop working", self.outside)


def summary_of(sections):
    """Return the `Summary` of sections that `section_of` made, without our own measurements."""
    sections = [s for s in sections if s["paper"]]
    claims = [claim for s in sections for claim in _of_paper(s)]
    n_inside = sum(claim.finding != OUTSIDE for claim in claims)
    n_measured = sum(bool(_of_paper(s)) for s in sections)
    sentence = (
        f"{len(claims)} statements of {len({s['paper'] for s in sections})} papers, from {n_measured} of "
        f"{len(sections)} tables, figures and sections; {n_inside} in the regime of the paper: "
        f"{counted(claim for claim in claims if claim.finding != OUTSIDE) or 'none'}."
    )
    heads = ["item", "in the paper", "regime", *WORDS.values(), "ours: hold", "time"]
    return Summary(
        sentence,
        Table("Item by item", heads, [_of_item(s) for s in sections]),
        list(_contradicted(sections, set(), inside=True)),
        list(_contradicted(sections, {c.key for c in claims if c.finding == CONTRADICTED})),
        list(_contradicted(sections, set(), inside=True, is_reopened=True)),
    )


def _table_of(caption, failures):
    rows = [
        [f.item, f.claim.text, f.here + f" ({f.case.name})" * bool(f.case.name), f.claim.refuted_by]
        for f in failures
    ]
    return Table(caption, ["item", "statement", "here", "refuted by"], rows)


def _of_paper(section):
    return section["finding"].of_paper if section["finding"] else []


def _of_item(section):
    first = [section["name"] + (" --full" if section.get("scale") == "full" else ""), section["place"]]
    claims, finding = _of_paper(section), section["finding"]
    if not claims:
        return [*first, section["outcome"], *[""] * (len(WORDS) + 2)]
    findings = Counter(claim.finding for claim in claims)
    ours = [claim.finding in (HOLDS, REPRODUCED) for claim in finding.claims if claim.by == OURS]
    held = f"{sum(ours)} of {len(ours)}" if ours else ""
    counts = [str(findings[word]) for word in WORDS]
    return [*first, finding.regime, *counts, held, took(section["seconds"])]


def took(seconds, unit="\N{NO-BREAK SPACE}s"):
    """Write the processor time of an item; one that shares another's measurements takes nearly none."""
    return f"{seconds:.0f}{unit}" if seconds >= 0.5 else "with another item"


def _contradicted(sections, seen, *, inside=False, is_reopened=False):
    """Yield a `Failure` for each statement that fails, or is reopened, within the regime or outside of it.

    A statement that fails in both is yielded once.
    """
    for s in sections:
        for claim in _of_paper(s):
            found = [c for c in claim.cases if (c.regime != OUTSIDE) == inside]
            found = [c for c in found if claim.compared(c) == CONTRADICTED]
            found = [c for c in found if bool(claim.why_reopened(c)) == is_reopened]
            if found and claim.key not in seen:
                seen.add(claim.key)
                yield Failure(s["name"], claim, max(found, key=claim.distance))
