"""Where a data set's table lies, and what was probably meant where it does not."""

import os
from pathlib import Path

from flyannot.errors import InputError, did_you_mean

IMAGES, ANNOTATIONS = "images.csv", "annotations.csv"
TABLE_SUFFIXES = (".csv", ".tsv", ".xlsx")
_MOST_FOLDERS = 1000  # below a folder, that are looked into


def table_of(folder_or_table, name):
    """The path of a table: that of a file as it stands, or in a folder the table `name`, perhaps as .xlsx.

    Raises
    ------
    InputError
        If a folder lacks it, and the folder around it, or the only one within, has it.
    """
    path = Path(folder_or_table)
    if not path.is_dir():
        return path
    if found := _table_in(path, name):
        return found
    if place := place_of_table(path, name):
        raise InputError(f"{path} has no {name}, but {place} has", fix=f"name the folder {place}")
    names = {one.name for one in _entries(path) if one.is_file()} - {IMAGES, ANNOTATIONS}
    if near := did_you_mean(name, sorted(names)):
        raise InputError(f"no such table: {path / name}.{near}", fix=f"rename the table to {name}")
    return path / name


def has_table(folder, name):
    """Whether a folder holds the table."""
    return _table_in(Path(folder), name) is not None


def place_of_table(folder, name):
    """The folder around this one, or the only one within, that has the table; else None."""
    path = Path(folder)
    around = path.absolute().parent
    if _table_in(around, name):
        return around
    folders = [one for one in _entries(path) if one.is_dir()][:_MOST_FOLDERS]
    within = [one for one in folders if _table_in(one, name)]
    return within[0] if len(within) == 1 else None


def _entries(folder):
    try:
        return list(folder.iterdir())
    except OSError:  # whoever reads the table says so
        return []


def _table_in(folder, name):
    for one in (folder / name, (folder / name).with_suffix(".xlsx")):
        if os.path.isfile(one):  # where is_file may not look, it raises
            return one
    return None
