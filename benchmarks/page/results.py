"""The records of a folder of results, quick/ITEM.json and full/ITEM.json, as the pages in docs/ show them."""

from pathlib import Path

from benchmarks.page import section_of
from benchmarks.records import record_of
from benchmarks.setup import SCALES


def result_of(item, folder):
    """(scale, record) of an item, a full run in the place of a quick one; ("", None) if there is none."""
    found = [(scale, record_of(Path(folder) / scale / f"{item.name}.json")) for scale in SCALES]
    return next(((scale, record) for scale, record in reversed(found) if record is not None), ("", None))


def section_of_result(item, scale, record, folder):
    """As `benchmarks.page.section_of`, with the scale and the file that has all of it."""
    section = section_of(item, record, None, folder) | {"scale": scale}
    if record is not None:
        section["source"] = f"All of it: data/results/{scale}/{item.name}.json. Again: `{record.command}`"
    return section
