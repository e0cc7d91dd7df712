"""The page of all items: the same sections as Markdown and as one HTML file that needs no other."""

from pathlib import Path

from flyannot.benchmarks.papers.figures import INSTALL, can_draw
from flyannot.benchmarks.papers.findings import DIFFERS, NOT_RUNNABLE, REPRODUCED
from flyannot.benchmarks.papers.html_page import as_html
from flyannot.benchmarks.papers.papers import papers, stated
from flyannot.benchmarks.papers.records import FOLDER, paths_of
from flyannot.benchmarks.papers.sections import Section, Table, summary, tables_of
from flyannot.benchmarks.papers.table import ITEMS
from flyannot.runtime.atomic_file import write_text

MOST_ROWS = 60  # of the measurements of one item; the file has all
FAILED, NOT_MEASURED = "failed", "not measured"
STATUSES = (REPRODUCED, DIFFERS, NOT_RUNNABLE, FAILED, NOT_MEASURED)
TITLE = "The papers' tables and figures beside ours"
INTRODUCTION = (
    "Every number of ours below was measured by flyannot. Times are processor time of one thread of this "
    "machine unless a row says otherwise, so ratios are to be compared, not times. An item is reproduced "
    "when every statement listed for it holds here; it differs when one does not; it is not runnable when "
    "its data or programs cannot be had. A number marked projected is a measured rate times a number of "
    "patches that were not run. An item that shares measurements with one before it takes little time."
)


def write_pages(out, records, failed):
    """Write index.html and index.md.

    Parameters
    ----------
    out : folder
    records : dict from item name to flyannot.benchmarks.papers.records.Record
    failed : dict from item name to the reason why it failed in this run
    """
    sections = [_section(item, records.get(item.name), failed, out) for item in ITEMS.values()]
    machines = list(dict.fromkeys(record.machine for record in records.values()))
    note = "" if can_draw() else f"There are no figures: matplotlib is not installed ({INSTALL})."
    introduction = [INTRODUCTION, *(f"Machine: {m}." for m in machines), *([note] if note else [])]
    write_text(Path(out) / "index.md", as_markdown(TITLE, introduction, sections))
    write_text(Path(out) / "index.html", as_html(TITLE, introduction, sections))


def as_markdown(title, introduction, sections):
    """The whole page as Markdown; figures are links to the files beside it."""
    parts = [f"# {title}", *introduction, markdown_table(summary(sections))]
    for section in sections:
        parts += [f"## {section.name}: {section.title}", f"**{section.status}**. {section.reason}".strip()]
        parts += [f"- {label}: {text}" for label, text in section.lines]
        if section.figure:
            parts += [f"![{section.title}]({FOLDER}/{section.figure.name})", section.source]
        for caption, table in tables_of(section):
            parts += [f"### {caption}", markdown_table(table), section.source]
    return "\n\n".join(parts).replace("\n\n- ", "\n- ") + "\n"


def markdown_table(table):
    """A table of pipes; bars inside cells are escaped."""
    lines = [table.heads, ["---"] * len(table.heads), *table.rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _section(item, record, failed, out):
    paper, entry = papers()[item.paper], stated(item.paper, item.where)
    cited = f"{paper['authors']}, {paper['venue']}: {entry['cited']}"
    if record is None or item.name in failed:
        status = FAILED if item.name in failed else NOT_MEASURED
        empty = Table([], [])
        reason = failed.get(item.name, f"flyannot reproduce {item.name} -o OUT measures it")
        return Section(item.name, item.title, cited, status, reason, [], empty, empty, empty, None)
    finding, figure = record.finding, paths_of(out, item.name)["svg"]
    return Section(
        item.name, item.title, cited, finding.status, finding.why, _lines(record, paper),
        Table(["statement", "holds", "here"], [[c.text, _yes(c.holds), c.here] for c in finding.claims]),
        _compared(finding.compared), _measurements(finding.rows),
        figure if finding.panels and figure.is_file() else None,
        f"From {FOLDER}/{item.name}.json and .csv, made by: {record.command}",
    )  # fmt: skip


def _lines(record, paper):
    finding = record.finding
    lines = [("paper", f"{paper['title']}, pages {paper['pages']}")]
    if not finding.blocked:
        lines += [("data", f"{finding.data} ({finding.kind})"), ("variant", finding.variant)]
    lines += [("note", note) for note in finding.notes]
    return [*lines, ("took", f"{record.seconds:.0f} s of processor time")]


def _compared(compared):
    heads = ["what", "unit", "paper", "ours", "ours / paper", "remark"]
    rows = [[c.what, c.unit, number(c.paper), number(c.ours), number(c.ratio), c.remark] for c in compared]
    return Table(heads, rows)


def _measurements(rows):
    heads = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[cell(row.get(head)) for head in heads] for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        cells.append([f"{len(rows) - MOST_ROWS:,} more rows are in the file", *[""] * (len(heads) - 1)])
    return Table(heads, cells)


def cell(value):
    """A value of a row as text."""
    if isinstance(value, bool):
        return _yes(value)
    return number(value) if isinstance(value, int | float) or value is None else str(value)


def number(value):
    """Four digits that matter; "-" for None."""
    if value is None:
        return "-"
    if isinstance(value, int) or abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def _yes(flag):
    return "yes" if flag else "NO"
