"""The table of cases by which `flyannot curate` and the report page read tables of corrections alike."""

import csv
import io
import tomllib
from pathlib import Path
from typing import NamedTuple

_CASES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_USUAL = {"gene": "Dl", "stage_range": "4-6", "verdict": "accept", "date": "2026-01-30", "curator": "ben"}
GENES = {"Dl": "FBgn0000463", "β-Tub": "", "l(1)sc[1]": "", "nan": ""}


class Case(NamedTuple):
    """A table of corrections.

    content : bytes; rows : set of texts of the rows, see `fields`; lines : of the rows that are left out
    column : the column of which the rows have the text, "" for term, verdict and note
    """

    name: str
    content: bytes
    rows: set
    lines: set
    column: str = ""
    own: tuple = ()


def fields(case, row):
    """Return what a case says of a row, which is a dict: its term, and the cells that matter."""
    columns = [case.column] if case.column else ["verdict", "note"]
    return (row["term"] if case.column != "term" else "", *(row[column] for column in columns))


def list_cases():
    """Return all Cases."""
    found = [_spelling_case(column, spellings) for column, spellings in _CASES["taken"].items()]
    found += [_spelling_case(column, {}) for column in _CASES["refused"]]
    for name, head in _CASES["heads"].items():
        separator = next(one for one in "\t|;," if one in head.splitlines()[-1])
        row = separator.join(["x"] * head.startswith("Unn") + ["Dl", "4-6", "gap", "accept", "2026-01-30"])
        found.append(Case(name, f"{head}\n{row}\n".encode(), {("gap", "accept", "")}, set()))
    for one in _CASES["tables"]:
        content = one["text"].encode(one.get("encoding", "utf-8"))
        rows, own = {tuple(row) for row in one["rows"]}, tuple(one.get("own", ()))
        found.append(Case(one["name"], content, rows, set(one.get("lines", ())), own=own))
    return found


def _spelling_case(column, taken):
    """Build the Case of a table whose rows have the spellings of a column that are taken, or are refused."""
    refused = [] if taken else _CASES["refused"][column]
    text = io.StringIO()
    writer = csv.DictWriter(text, [*_USUAL, "fbgn", "term", "note", "chance", "finished"])
    writer.writeheader()
    rows, lines, line = set(), set(), 2
    for n, cell in enumerate([*taken, *refused]):
        row = _USUAL | {"term": f"term {n}", column: cell}
        writer.writerow(row)
        if cell in taken:
            rows.add((row["term"] if column != "term" else "", taken[cell]))
        else:
            lines.add(line)
        line += 1 + cell.count("\n")
    if not taken:  # a table without any row is no table
        writer.writerow(_USUAL | {"term": "last"})
        usual = _USUAL.get(column, GENES["Dl"] if column == "fbgn" else "last" if column == "term" else "")
        rows.add(("last" if column != "term" else "", usual))
    return Case(f"{column} {'taken' if taken else 'refused'}", text.getvalue().encode(), rows, lines, column)
