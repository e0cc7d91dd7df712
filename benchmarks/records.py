"""The files of an item: JSON with all of it, CSV with its rows.  A file that exists is whole."""

import csv
import io
import json
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.code_version import code_digest
from benchmarks.findings import Finding
from benchmarks.references import REFERENCES, why_reference_is_absent
from flyannot import __version__
from flyannot.runtime.atomic_file import write_text
from flyannot.runtime.environment import processor_facts

FOLDER = "items"


@dataclass(frozen=True)
class Record:
    """A finding, and what it was made by: settings, machine, seconds of processor time, command, day, commit.

    The settings hold a digest of the code that decides the numbers.
    """

    name: str
    finding: Finding
    settings: dict
    machine: str
    seconds: float
    command: str
    date: str
    commit: str | None

    def evaluated_by(self, statements):
        """The finding with the claims that the statements make of it.

        None where its rows are of other code, and lack what the statements ask for.
        """
        try:
            return self.finding.evaluated_by(statements)
        except KeyError:
            return None


def paths_of(out, name):
    """The files of an item: json, csv, svg and png."""
    return {suffix: Path(out) / FOLDER / f"{name}.{suffix}" for suffix in ("json", "csv", "svg", "png")}


def settings_of(item, setup):
    """What decides the numbers of an item; a record with the same settings is not made again."""
    own = {"item": item.name, "version": __version__, "references": _versions()}
    own["code"] = code_digest(item.measure)
    return own | setup.described()


def write_record(out, record):
    """Write JSON and CSV; the JSON last, for it says that the item is finished."""
    paths = paths_of(out, record.name)
    write_text(paths["csv"], as_csv(record.finding.rows))
    stored = vars(record) | {"finding": record.finding.as_json()}
    write_text(paths["json"], json.dumps(stored, indent=1, allow_nan=False) + "\n")


def read_record(out, name):
    """The record of an item in an output folder, or None where there is none that can be read."""
    return record_of(paths_of(out, name)["json"])


def record_of(path):
    """The record in a JSON file, or None where there is none that can be read."""
    try:
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
        return Record(**(stored | {"finding": Finding.from_json(stored["finding"])}))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def as_csv(rows):
    """Rows with the union of their keys as columns, in the order in which they appear."""
    columns, text = list(dict.fromkeys(key for row in rows for key in row)), io.StringIO()
    if columns:
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def machine():
    """The processor, its cores, and the versions of what is measured."""
    found = processor_facts()
    versions = {"numpy": version("numpy"), "numba": version("numba")} | _versions()
    listed = ", ".join(f"{project} {number or 'absent'}" for project, number in versions.items())
    return f"{found['model'] or platform.machine()}, {found['usable']} cores; {listed}"


def _versions():
    """Of the references: project -> version, None where it is absent."""
    there = {name: not why_reference_is_absent(name) for name in REFERENCES}
    return {r.project: version(r.project) if there[name] else None for name, r in REFERENCES.items()}
