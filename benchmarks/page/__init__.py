"""The page of all items: as one HTML file that needs no other, and as Markdown."""

import base64
from dataclasses import replace
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from benchmarks.items import ITEMS, OURS, paper_values, papers
from benchmarks.page.figures import INSTALL, can_draw
from benchmarks.page.summary import summary_of, took
from benchmarks.records import FOLDER, paths_of, read_record
from benchmarks.tables import MEASUREMENTS, is_number_cell, tables_of
from flyannot.files.atomic_file import write_text

PAGE = "index.html"
_MOST_ROWS = 60  # of a table of the page; the item's file has all


def write_pages(out, failed):
    """Write index.html and index.md from the records in a folder.

    Parameters
    ----------
    out : folder
    failed : dict from item name to the reason why it failed in this run
    """
    sections, machines = [], {}
    for item in ITEMS.values():
        record = read_record(out, item.name)
        if record is not None:
            machines[record.machine] = None
        if record is not None or item.name in failed or item.paper != OURS:
            figure = paths_of(out, item.name)["svg"]
            sections.append(section_of(item, record, failed.get(item.name), figure=figure))
    note = "" if can_draw() else f"There are no figures: matplotlib is not installed ({INSTALL})."
    given = {"sections": sections, "machines": list(machines), "note": note, "summary": summary_of(sections)}
    for name in (PAGE, "index.md"):
        write_text(Path(out) / name, rendered(name, **given))


def rendered(name, **given):
    """Return a filled-in template; everything in HTML is escaped unless the template says otherwise."""
    found = Environment(
        loader=PackageLoader("benchmarks", "page"),
        autoescape=lambda name: name == PAGE,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.tests["number"] = is_number_cell
    found.filters["base64"] = lambda path: base64.b64encode(path.read_bytes()).decode()
    found.filters["cell"] = lambda text: text.replace("|", "\\|")
    return found.get_template(name).render(**given)


def section_of(item, record, why_failed="", *, figure=None):
    """Return what the templates show of an item: its current claims, and its figure if it exists."""
    section = {"name": item.name, "title": item.title, "cited": "A measurement of our own", "lines": []}
    section |= {"tables": [], "figure": None, "source": "", "paper": "", "finding": None, "seconds": None}
    paper = None if item.paper == OURS else papers()[item.paper]
    if paper:
        entry = paper_values(item.paper, item.where)
        section["paper"] = f"{paper['authors']}, {paper['venue']}"
        section["cited"] = f"{section['paper']}: {entry['cited']}"
        section["place"] = entry["cited"]
    finding = record and record.evaluated_by(item)
    if finding is None or why_failed:
        why = f"failed: {why_failed}" if why_failed else "not measured"
        return section | {"outcome": f"{why}; python -m benchmarks {item.name} -o OUT measures it"}
    return section | {
        "outcome": finding.outcome,
        "finding": finding,
        "seconds": record.seconds,
        "lines": list(_lines(item, paper, record, finding)),
        "tables": [_shown(table) for table in tables_of(finding)],
        "figure": figure if finding.panels and figure and figure.is_file() else None,
        "source": f"From {FOLDER}/{item.name}.json, made by: {record.command}",
    }


def _lines(item, paper, record, finding):
    if paper:
        yield "paper", f"{paper['title']}, pages {paper['pages']}"
        picture = paper_values(item.paper, item.where).get("picture")
        if picture:
            yield "what it shows", picture
        yield "regime", item.regime.text
    if not finding.why_not:
        yield "data", f"{finding.source.text} ({finding.source.kind})"
        yield "variant", finding.variant
    if finding.size:
        yield "size", finding.size.in_words
    if finding.explanation:
        yield "our reading", finding.explanation
    yield from (("note", note) for note in finding.notes)
    time = took(record.seconds, " s of processor time")
    yield "measured", f"{record.date}, {time}; commit {record.commit or 'unknown'}"


def _shown(table):
    more = len(table.rows) - _MOST_ROWS
    folded = table.caption == MEASUREMENTS
    text = f"{more:,} more rows are in the file" if more > 0 else ""
    return {"table": replace(table, rows=table.rows[:_MOST_ROWS]), "folded": folded, "more": text}
