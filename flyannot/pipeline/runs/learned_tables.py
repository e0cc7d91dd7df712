"""Copies of the tables that a run learned from, in its output folder, so that the folder is whole."""

from flyannot.dataset.paths import ANNOTATIONS, IMAGES, find_table, has_table
from flyannot.files.atomic_file import copy_file
from flyannot.pipeline.engine.curated_terms import CuratedTerms, require_same_terms
from flyannot.pipeline.runs.configuration import read_record

FOLDER = "tables"  # in the output folder of a run
_CORRECTIONS = "corrections-"  # the beginning of the names of copies, before their number


def copy_tables(configuration):
    """Copy images.csv, annotations.csv and the corrections of a run into its output folder.

    Tables that the run does not have any more are removed.

    Raises
    ------
    WriteError
        If a copy cannot be written.
    """
    data_set = configuration.data_set
    tables = [find_table(data_set, name) for name in (IMAGES, ANNOTATIONS) if has_table(data_set, name)]
    wanted = {table.name: table for table in tables}
    for number, table in enumerate(configuration.options["train"].corrections, 1):
        wanted[f"{_CORRECTIONS}{number}{table.suffix}"] = table
    folder = configuration.output / FOLDER
    for name, table in wanted.items():
        copy_file(table, folder / name, keep_same=True)
    for other in folder.glob("*") if folder.is_dir() else ():
        if other.name not in wanted:
            other.unlink()


def find_run_terms(folder):
    """Return the CuratedTerms that a run learned from, with its corrections; their tables may be missing.

    folder : Path of the output folder of the run
    """
    tables = folder / FOLDER
    corrections = sorted(tables.glob(f"{_CORRECTIONS}*"), key=lambda path: (len(path.name), path.name))
    record = read_record(folder)
    columns = record.options["select"].columns if record else None
    return CuratedTerms(tables, tuple(corrections), columns)


def choose_terms(folder, named, made_from=None):
    """Return the CuratedTerms that a user names; without them, those that a run learned from.

    folder : Path of the output folder of the run; named : CuratedTerms, or None
    made_from : digests of the tables of scores in the folder, if it has no copies of its tables

    Raises DataError if the named terms are not from the same table.
    """
    learned = find_run_terms(folder)
    if named and (known := learned.digests if learned.has_tables else made_from):
        require_same_terms(named.folder_or_table, named.digests, folder, known)
    return named or learned
