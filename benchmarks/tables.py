"""The tables of a finding, the same for the terminal and for the page."""

import re
from dataclasses import dataclass

from benchmarks.claims import OURS, OUTSIDE, PAPER

MEASUREMENTS, TARGETS = "All that was measured", "Performance targets"
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,]*(e[-+]?[0-9]+)?|-|")
_MAY_BE_EMPTY = ("who", "variant", "note")


@dataclass(frozen=True)
class Table:
    """Text cells under headings."""

    caption: str
    heads: list
    rows: list


def tables_of(finding):
    """Return the tables of a finding that have rows."""
    compared = [
        [c.what, c.unit, number(c.paper_value), number(c.ours), number(c.ratio), c.remark]
        for c in finding.comparisons
    ]
    targets = [
        [t.text, number(t.value), f"{'>=' if t.at_least else '<='} {t.bound:.4g}", t.verdict]
        for t in finding.targets
    ]
    tables = (
        *(_claims(finding, by) for by in (PAPER, OURS)),
        Table("The paper and ours", ["what", "unit", "paper", "ours", "ours / paper", "remark"], compared),
        _measurements(finding),
        Table(TARGETS, ["target", "here", "bound", "verdict"], targets),
    )
    return [table for table in tables if table.rows]


def _claims(finding, by):
    """Return a table of the paper's or our statements: the result of each case, and what would refute it."""
    rows = []
    for claim in (claim for claim in finding.claims if claim.by == by):
        first = [claim.text, claim.finding]
        for case in claim.cases:
            found = case.regime if case.regime == OUTSIDE else claim.finding_of(case)
            rows.append([*first, case.name, found, case.here, claim.refuted_by, claim.at_other_bounds(case)])
            first = ["", ""]
    caption = "What the paper states" if by == PAPER else "What we state"
    heads = ["statement", "finding", "case", "of the case", "here", "refuted by", "whose bound"]
    return Table(caption, heads, rows)


def _measurements(finding):
    """Return the rows as a table, without lists and columns that have no entry."""
    keys = dict.fromkeys(key for row in finding.rows for key in row)
    shown = [key for key in keys if any(_is_shown(row.get(key)) for row in finding.rows)]
    shown.sort(key=lambda key: key == "note")  # last
    cells = [[_cell(key, row.get(key)) for key in shown] for row in finding.rows]
    return Table(MEASUREMENTS, [key.replace("_", " ") for key in shown], cells)


def report_tables(record):
    """Return what the terminal shows of a record: machine, data, measurements and targets."""
    finding = record.finding
    lines = [finding.why_not] if finding.why_not else []
    if not finding.why_not:
        lines += [f"  {record.machine}", f"  {finding.source.text}", f"  {finding.variant}"]
    tables = [as_text(table) for table in tables_of(finding) if table.caption in (MEASUREMENTS, TARGETS)]
    return "\n".join([*lines, *tables, ""])


def as_text(table):
    """Cells under one another; columns of numbers to the right, the others to the left."""
    lines = [table.heads, *table.rows]
    columns = list(zip(*lines))
    widths = [max(map(len, column)) for column in columns]
    signs = [">" if all(map(is_number_cell, column[1:])) else "<" for column in columns]
    return "\n".join(
        "  ".join(f"{c:{sign}{w}}" for c, sign, w in zip(line, signs, widths)).rstrip() for line in lines
    )


def is_number_cell(text):
    """Return whether a cell has a number, or the sign for none."""
    return _NUMBER.fullmatch(text) is not None


def number(value, key=""):
    """Four digits that matter, five decimals of an objective; "-" for None."""
    if value is None:
        return "-"
    if isinstance(value, int) or abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.5f}" if "objective" in key and abs(value) < 10 else f"{value:.4g}"


def _is_shown(value):
    return value not in (None, "") and not isinstance(value, list | dict)


def _cell(key, value):
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "NO"  # the false one stands out
    return "" if value is None and key in _MAY_BE_EMPTY else number(value, key)
