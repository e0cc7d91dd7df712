"""The files of a finding: JSON with all of it, CSV with its rows.  A file that exists is whole."""

import csv
import io
import json
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from flyannot import __version__
from flyannot.benchmarks.papers.findings import Finding
from flyannot.benchmarks.speed.peers import PEERS
from flyannot.runtime.atomic_file import write_text

FOLDER = "items"


@dataclass(frozen=True)
class Record:
    """A finding, with what it was made by: `settings`, the machine, the
    seconds of processor time it took, and the command."""

    name: str
    finding: Finding
    settings: dict
    machine: str
    seconds: float
    command: str


def paths_of(out, name):
    """The files of an item: json, csv, svg and png."""
    return {suffix: Path(out) / FOLDER / f"{name}.{suffix}" for suffix in ("json", "csv", "svg", "png")}


def settings_of(item, setup):
    """What decides the numbers of an item; a record with the same settings is not made again."""
    return {"item": item.name, "version": __version__, "peers": dict(_peer_versions())} | setup.described()


def write_record(out, record):
    """Write JSON and CSV; the JSON last, for it says that the item is finished."""
    paths = paths_of(out, record.name)
    write_text(paths["csv"], as_csv(record.finding.rows))
    stored = vars(record) | {"finding": record.finding.as_json()}
    write_text(paths["json"], json.dumps(stored, indent=1, allow_nan=False) + "\n")


def read_record(out, name):
    """The record of an item, or None where there is none that can be read."""
    try:
        stored = json.loads(paths_of(out, name)["json"].read_text(encoding="utf-8"))
        return Record(**(stored | {"finding": Finding.from_json(stored["finding"])}))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def as_csv(rows):
    """Rows with the union of their keys as columns, in the order in which they appear."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    if columns:
        writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _peer_versions():
    for peer in PEERS.values():
        try:
            yield peer.project, version(peer.project)
        except PackageNotFoundError:
            yield peer.project, None
