"""What a referee reads first: how many statements have which finding, what is contradicted, and what lies
outside the regime."""

from collections import Counter
from dataclasses import dataclass

from benchmarks.claims import CONTRADICTED, HOLDS, OURS, OUTSIDE, REPRODUCED, in_words, merged
from benchmarks.findings import WORDS, counted
from benchmarks.tables import Table


@dataclass(frozen=True)
class Summary:
    """The top of the page: one sentence, and three tables."""

    sentence: str
    of_items: Table
    contradicted: Table
    outside: Table


def summary_of(sections):
    """The `Summary` of sections that `benchmarks.page.section_of` made; our own are left out."""
    sections = [s for s in sections if s["paper"]]
    claims = merged(claim for s in sections for claim in _of_paper(s))
    n_inside = sum(claim.finding != OUTSIDE for claim in claims)
    n_measured = sum(bool(_of_paper(s)) for s in sections)
    sentence = (
        f"{len(claims)} statements of {len({s['paper'] for s in sections})} papers, from {n_measured} of "
        f"{len(sections)} tables, figures and sections; {n_inside} in the regime of the paper: "
        f"{counted(claim for claim in claims if claim.finding != OUTSIDE) or 'none'}."
    )
    inside = list(_contradicted(sections, set(), inside=True))
    outside = list(_contradicted(sections, {c.key for c in claims if c.finding == CONTRADICTED}))
    heads = ["item", "in the paper", "regime", *WORDS.values(), "ours: hold", "time"]
    return Summary(
        sentence,
        Table("Item by item", heads, [_of_item(s) for s in sections]),
        Table("Contradicted in the regime", _HEADS, inside),
        Table("Outside the regime, where methods stop working", _HEADS, outside),
    )


_HEADS = ["item", "statement", "here", "refuted by"]


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
    """The processor time of an item in words; one that shares another's measurements takes nearly none."""
    return f"{seconds:.0f}{unit}" if seconds >= 0.5 else "with another item"


def _contradicted(sections, seen, *, inside=False):
    """Rows of the statements not yet seen that are contradicted in the regime, or outside it (what fails in
    it too has not stopped working there), each with its worst case."""
    for s in sections:
        for claim in _of_paper(s):
            found = [c for c in claim.cases if (c.regime != OUTSIDE) == inside]
            found = [c for c in found if claim.finding_of(c) == CONTRADICTED]
            if found and claim.key not in seen:
                seen.add(claim.key)
                worst = max(found, key=claim.distance)
                here = in_words(worst.value, claim.unit) + f" ({worst.name})" * bool(worst.name)
                yield [s["name"], claim.text, here, claim.refuted_by]
