"""The page of recorded results: `python -m benchmarks.page.recorded data/results > docs/papers.md`.

It has what the files of that folder hold, `quick/ITEM.json` and `full/ITEM.json`, and nothing else.
"""

import sys
from dataclasses import replace

from benchmarks.items import ITEMS, OURS
from benchmarks.page import rendered
from benchmarks.page.results import result_of, section_of_result
from benchmarks.page.summary import summary_of
from benchmarks.tables import MEASUREMENTS

_MOST_ROWS = 12  # of the numbers beside the paper's; the item's file has all


def recorded_page(folder):
    """The Markdown of all records of a folder; a full run of an item stands in the place of a quick one."""
    sections, machines = [], {}
    for item in ITEMS.values():
        if item.paper != OURS:
            scale, record = result_of(item, folder)
            section = section_of_result(item, scale, record, folder)
            if record is not None:
                machines[record.machine] = None
                section["tables"] = [_few(t) for t in section["tables"] if t["table"].caption != MEASUREMENTS]
            sections.append(section)
    return rendered("recorded.md", sections=sections, machines=list(machines), summary=summary_of(sections))


def _few(shown):
    table = shown["table"]
    more = len(table.rows) - _MOST_ROWS
    is_long = table.caption == "The paper and ours" and more > 0
    return {
        "table": replace(table, rows=table.rows[:_MOST_ROWS] if is_long else table.rows),
        "more": f"{more:,} more are in the file" if is_long else "",
    }


if __name__ == "__main__":
    sys.stdout.write(recorded_page(sys.argv[1]))
