"""The pages of docs/ that are made from records: `python -m benchmarks.page.recorded data/results docs`.

papers.md has the records of the papers' items, measured.md our own, each with its figure where matplotlib is
installed.  A record of an item that is gone stays on measured.md: retired.toml says why it went.  earlier.md
has what was measured before there were records.
"""

import sys
import tomllib
from dataclasses import replace
from pathlib import Path

from benchmarks.items import ITEMS, OURS, Item
from benchmarks.page import rendered, section_of
from benchmarks.page.figures import draw
from benchmarks.page.summary import summary_of
from benchmarks.records import record_of
from benchmarks.tables import MEASUREMENTS
from flyannot.runtime.atomic_file import write_text

PAPERS, MEASURED = "papers.md", "measured.md"
_MOST_ROWS = 12  # of the numbers beside the paper's; the item's file has all


def papers_page(folder):
    """The Markdown of the papers' items: what the records of a folder hold, and nothing else."""
    recorded = [(item, _record(folder, item)) for item in ITEMS.values() if item.paper != OURS]
    sections = [_section(item, record) for item, record in recorded]
    for section in sections:
        section["tables"] = [_shortened(t) for t in section["tables"] if t["table"].caption != MEASUREMENTS]
    return rendered(PAPERS, sections=sections, machines=_machines(recorded), summary=summary_of(sections))


def _shortened(shown):
    table = shown["table"]
    more = len(table.rows) - _MOST_ROWS
    is_long = table.caption == "The paper and ours" and more > 0
    return {
        "table": replace(table, rows=table.rows[:_MOST_ROWS] if is_long else table.rows),
        "more": f"{more:,} more are in the file" if is_long else "",
    }


def measured_page(folder):
    """The Markdown of our own records."""
    recorded = list(own_records(folder))
    sections = [
        _section(item, record) | {"figure": picture_of(item.name) if record.finding.panels else None}
        for item, record in recorded
    ]
    earlier = (Path(folder) / "earlier.md").read_text(encoding="utf-8")
    return rendered(MEASURED, sections=sections, machines=_machines(recorded), earlier=earlier)


def own_records(folder):
    """(item, record) of every item of ours that was recorded, those that are gone last."""
    retired = tomllib.loads((Path(folder) / "retired.toml").read_text(encoding="utf-8"))
    gone = [Item(name, entry["title"], lambda setup: None) for name, entry in retired["items"].items()]
    for item in [*(item for item in ITEMS.values() if item.paper == OURS), *gone]:
        record = _record(folder, item)
        if record is not None:
            if item in gone:
                entry = retired | retired["items"][item.name]
                why = f"{entry['decided']} The code is in commit {entry['commit']}."
                finding = replace(record.finding, notes=[*record.finding.notes, why])
                record = replace(record, finding=finding)
            yield item, record


def picture_of(name):
    """Where the figure of an item lies, from the page."""
    return f"pictures/measured-{name}.svg"


def write_recorded_pages(folder, docs):
    """Write both pages and their figures."""
    write_text(Path(docs) / PAPERS, papers_page(folder))
    for item, record in own_records(folder):
        draw(record.finding, item.title, {"svg": Path(docs) / picture_of(item.name)})
    write_text(Path(docs) / MEASURED, measured_page(folder))


def _record(folder, item):
    return record_of(Path(folder) / f"{item.name}.json")


def _section(item, record):
    section = section_of(item, record)
    if record is None:
        return section | {"scale": ""}
    source = f"All of it: data/results/{item.name}.json. Again: `{record.command}`"
    return section | {"scale": record.settings["scale"], "source": source}


def _machines(recorded):
    return list(dict.fromkeys(record.machine for _, record in recorded if record is not None))


if __name__ == "__main__":
    write_recorded_pages(*sys.argv[1:])
