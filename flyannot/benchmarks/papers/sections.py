"""The parts of the page, before they are Markdown or HTML."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Table:
    """Text cells under headings."""

    heads: list
    rows: list


@dataclass(frozen=True)
class Section:
    """One item as the page shows it.

    `lines` are (label, text); `figure` is the path of an SVG or None; `source` is the command and the file
    behind its numbers, which stands under each of them.
    """

    name: str
    title: str
    cited: str
    status: str
    reason: str
    lines: list
    claims: Table
    compared: Table
    measurements: Table
    figure: Path | None
    source: str = ""


def summary(sections):
    """One line for every item."""
    rows = [[s.name, s.cited, s.status, s.reason] for s in sections]
    return Table(["item", "in the paper", "status", "in one sentence"], rows)


def tables_of(section):
    """The tables of a section that have rows, each with a caption."""
    named = (
        ("What must hold", section.claims),
        ("The paper and ours", section.compared),
        ("All that was measured", section.measurements),
    )
    return [(caption, table) for caption, table in named if table.rows]
