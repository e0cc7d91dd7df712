"""Sparse ARFF, as the Mulan collection publishes Corel5k: {index value, ...} lines after the attributes."""

import gzip
import re
from pathlib import Path

import numpy as np

from flyannot.errors import DataError, InputError

_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(.+)", re.IGNORECASE)
_KINDS = ("{0,1}", "numeric", "real", "integer")


def read_sparse_arff(path):
    """A sparse ARFF file, plain or gzipped.

    Returns
    -------
    names : list of the attributes' names
    values : float32 array (n_rows, n_attributes); what a row does not name is 0

    Raises
    ------
    InputError
        If there is no such file.
    DataError
        With the line: an attribute that is not numeric or {0,1}, a row that is not sparse, an index that is
        no attribute's, or a value that is no number.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no such file: {path}", fix="name a sparse ARFF file")
    open_text = gzip.open if path.suffix == ".gz" else open
    try:
        with open_text(path, "rt", encoding="utf-8", errors="replace") as lines:
            return _parsed(path, lines)
    except (OSError, EOFError) as error:
        raise DataError(f"{path} is damaged: {error}", fix="get the file again") from error


def _parsed(path, lines):
    names, rows, in_rows = [], [], False
    for number, line in enumerate(map(str.strip, lines), 1):
        where = f"{path}, line {number}"
        if not line or line.startswith("%"):
            continue
        if in_rows:
            rows.append(_row(where, line, len(names)))
        elif match := _ATTRIBUTE.match(line):
            if match[2].strip().lower().replace(" ", "") not in _KINDS:
                raise DataError(f"{where}: not an attribute of numbers or of {{0,1}}: {line[:60]}")
            names.append(match[1].strip("'\""))
        in_rows = in_rows or line.lower() == "@data"
    values = np.zeros((len(rows), len(names)), np.float32)
    for row, entries in zip(values, rows):
        row[list(entries)] = list(entries.values())
    return names, values


def _row(where, line, n_attributes):
    """{place: value} of one row."""
    if not (line.startswith("{") and line.endswith("}")):
        raise DataError(f"{where}: not a sparse row in braces: {line[:60]}")
    entries = {}
    for entry in filter(None, (part.strip() for part in line[1:-1].split(","))):
        place, _, value = entry.partition(" ")
        try:
            entries[int(place)] = float(value)
        except ValueError:
            raise DataError(f'{where}: "{entry}" is no "index value"') from None
        if not 0 <= int(place) < n_attributes:
            raise DataError(f"{where}: attribute {place} of {n_attributes}")
    return entries
