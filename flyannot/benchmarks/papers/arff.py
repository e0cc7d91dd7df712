"""Sparse ARFF, as the Mulan collection publishes Corel5k: {index value, ...} lines after the attributes."""

import gzip
import re
from pathlib import Path

import numpy as np

from flyannot.errors import DataError, InputError

_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(.+)", re.IGNORECASE)


def read_sparse_arff(path):
    """A sparse ARFF file, plain or gzipped.

    Parameters
    ----------
    path : path of the file

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
    names, rows, in_rows = [], [], False
    try:
        with open_text(path, "rt", encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                line = line.strip()
                if not line or line.startswith("%"):
                    continue
                if in_rows:
                    rows.append(_row(path, number, line, len(names)))
                elif line.lower().startswith("@attribute"):
                    names.append(_name(path, number, line))
                in_rows = in_rows or line.lower() == "@data"
    except (OSError, EOFError) as error:
        raise DataError(f"{path} is damaged: {error}", fix="get the file again") from error
    values = np.zeros((len(rows), len(names)), np.float32)
    for row, (places, found) in zip(values, rows):
        row[places] = found
    return names, values


def _name(path, number, line):
    match = _ATTRIBUTE.match(line)
    kind = match[2].strip().lower().replace(" ", "") if match else ""
    if kind not in ("{0,1}", "numeric", "real", "integer"):
        raise DataError(f"{path}, line {number}: not an attribute of numbers or of {{0,1}}: {line[:60]}")
    return match[1].strip("'\"")


def _row(path, number, line, n_attributes):
    """The places and values of one row."""
    if not (line.startswith("{") and line.endswith("}")):
        raise DataError(f"{path}, line {number}: not a sparse row in braces: {line[:60]}")
    places, values = [], []
    for entry in filter(None, (part.strip() for part in line[1:-1].split(","))):
        place, _, value = entry.partition(" ")
        try:
            places.append(int(place))
            values.append(float(value))
        except ValueError:
            raise DataError(f'{path}, line {number}: "{entry}" is no "index value"') from None
        if not 0 <= places[-1] < n_attributes:
            raise DataError(f"{path}, line {number}: attribute {place} of {n_attributes}")
    return places, values
