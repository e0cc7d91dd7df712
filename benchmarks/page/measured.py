"""The page of our own measurements: `python -m benchmarks.page.measured data/results docs`.

It writes `measured.md` and, where matplotlib is installed, `pictures/measured-ITEM.svg`: what the records of
that folder hold, and nothing else.
"""

import sys
from pathlib import Path

from benchmarks.items import ITEMS, OURS
from benchmarks.page import rendered
from benchmarks.page.figures import draw
from benchmarks.page.results import result_of, section_of_result
from flyannot.runtime.atomic_file import write_text

PAGE = "measured.md"


def own_records(folder):
    """(item, scale, record) of every item of ours that was recorded; full ones in the place of quick ones."""
    for item in ITEMS.values():
        scale, record = result_of(item, folder)
        if item.paper == OURS and record is not None:
            yield item, scale, record


def picture_of(name):
    """Where the figure of an item lies, from the page."""
    return f"pictures/measured-{name}.svg"


def measured_page(folder):
    """The Markdown of all records of ours in a folder."""
    sections, machines = [], {}
    for item, scale, record in own_records(folder):
        machines[record.machine] = None
        section = section_of_result(item, scale, record, folder)
        section["figure"] = picture_of(item.name) if record.finding.panels else None
        sections.append(section)
    return rendered(PAGE, sections=sections, machines=list(machines))


def write_page(folder, docs):
    """Write the page and its figures."""
    for item, _, record in own_records(folder):
        draw(record.finding, item.title, {"svg": Path(docs) / picture_of(item.name)})
    write_text(Path(docs) / PAGE, measured_page(folder))


if __name__ == "__main__":
    write_page(*sys.argv[1:])
