"""What is probably wrong in a table although it can be read: one line in the log for each kind.

Cells of several terms, misspelt terms, and names of genes that a spreadsheet turned into dates or numbers.
"""

import logging
import re
from collections import Counter

from flyannot.dataset.vocabulary import bdgp_terms, near_terms
from flyannot.runtime.wording import pluralise
from flyannot.stage_ranges import AS_TEXT, month_and_day

log = logging.getLogger("flyannot")

_MOST_NAMED = 3
_SEPARATORS = re.compile(r"[;|]")
_NUMBER = re.compile(r"\d(?:[.,]\d+)?E[+-]\d+", re.ASCII)  # 2.00E+05
_MAYBE_DATE = re.compile(r"\d|[A-Z][a-z]{2}-\d\d$", re.ASCII)  # dec-1 is a gene, Dec-01 a date


class TermCells:
    """The cells of one table's column `term`; those that hold several terms are taken apart, and named."""

    def __init__(self, table):
        self._table, self._found = table, []

    def terms(self, cell, line):
        """The terms of a cell: separated by ; and |, and by commas where all parts are terms of BDGP."""
        term = " ".join(cell.split())
        if not (";" in term or "|" in term or "," in term):
            return [term]
        parts = _parts(term, _SEPARATORS.split(term))
        if len(parts) < 2:
            commas = _parts(term, term.split(","))
            parts = commas if bdgp_terms().issuperset(commas) else parts
        if parts != [term]:
            self._found.append(f'line {line}: "{term}"')
        return parts

    def warn(self):
        """Name the cells that were taken apart."""
        if n := len(self._found):
            what = pluralise(n, "cell holds", "cells hold")
            log.warning(
                "warning: %s: %s several terms, each of which was taken as one (%s); give each a row",
                self._table.name, what, named(self._found),
            )  # fmt: skip


def _parts(term, parts):
    return [part for part in map(str.strip, parts) if part] or [term]


def warn_of_terms(table, terms_of_genes, known=()):
    """Name the terms that are nearly one of BDGP's, of an ontology (`known`), or of the table itself."""
    counts = Counter(term for terms in terms_of_genes for term in terms)
    near = near_terms(counts, bdgp_terms().union(known))
    if n := len(near):
        shown = [f'"{term}" ({pluralise(counts[term], "gene")}; "{meant}"?)' for term, meant in near.items()]
        what = pluralise(n, "term looks", "terms look")
        log.warning("warning: %s: %s misspelt: %s", table.name, what, named(shown))


def warn_of_genes(table, genes, lines):
    """Name the genes that look like what a spreadsheet makes of Sep1 or 2E5."""
    first = dict(zip(reversed(genes), reversed(lines)))
    shown = [f'"{gene}" (line {line})' for gene, line in reversed(first.items()) if _is_made(gene)]
    if n := len(shown):
        what = pluralise(n, "gene is a date or number", "genes are dates or numbers")
        log.warning(
            "warning: %s: %s that a spreadsheet made of the name: %s; write the name again; %s",
            table.name, what, named(shown), AS_TEXT,
        )  # fmt: skip


def named(shown):
    """The first few of what there is to name, and how many more there are."""
    more = f" and {len(shown) - _MOST_NAMED:,} more" if len(shown) > _MOST_NAMED else ""
    return ", ".join(shown[:_MOST_NAMED]) + more


def _is_made(gene):
    return bool(_MAYBE_DATE.match(gene) and (_NUMBER.fullmatch(gene) or month_and_day(gene)))
