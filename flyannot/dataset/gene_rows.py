"""The rows of tables about genes, with names and stage ranges that are cleaned and checked."""

import logging
from collections import Counter

from flyannot.base.dates import TEXT_COLUMN_ADVICE
from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import (
    STAGE_WORDS,
    describe_stage_spellings,
    parse_stage_range,
    recover_stage_range,
)
from flyannot.base.text import clean_name, is_flybase_number, is_unknown, pluralise
from flyannot.dataset.table_warnings import (
    abbreviate_names,
    raise_errors,
    warn_about,
    warn_about_rows,
    warn_of_mangled_names,
)
from flyannot.files.tables import RowError, read_table

log = logging.getLogger("flyannot")

NO_STAGE_RANGE = "no stage range in its row"
_WRITE_NAME = "write the name, or delete the row"
FILL_IN = "fill in the column stage_range"
_STAGE_OPTIONS = ", give one with --stage-range, or let flyannot guess it with --guess-stages"
_NAMES = ("image", "gene", "term")  # columns that must have a name
_MORE_NAMES = ("view", "fbgn", "group")  # columns that may have one
_CLEANED = ("gene", "term", "fbgn")  # their names may be spelt in several ways
_LIKE_DATES = ("gene", "term", "view")  # columns whose names a spreadsheet may turn into dates
_MEANT = {  # other names that people give to columns, to suggest the right one
    "image": "file filename file_name path picture images image_file image_name image_url imagen imagem bild "
    "datei immagine archivo fichier",
    "gene": "symbol gene_symbol gene_name genes name gen gène",
    "stage_range": "stageranges stagerange stage_ranges " + STAGE_WORDS,
    "term": "terms annotation annotations label anatomy anatomical_term begriff término termino terme termo "
    "termine",
    "verdict": "verdicts answer decision status urteil entscheidung veredicto decisión verdetto décision",
    "date": "day dates time datum fecha data",
    "view": "views direction ansicht vista vue",
    "curator": "curators kurator kuratorin curador curadora curateur curatore",
    "note": "notes notiz kommentar comentario comment remarque nota",
}
_MEANT = {column: tuple(words.split()) for column, words in _MEANT.items()}


def read_gene_rows(table, required, optional, faults=None, *, unknown_stage=None, columns=None, **more):
    """Yield the rows of a table that has the columns gene and stage_range, as `read_table` yields them.

    Stage ranges get BDGP's names, and names one spelling, see `clean_name`.  A row is left out if the cell of
    a name has none, such as #N/A or ?; an optional name is then empty.  In a table of images, such a row is
    at fault, and so is one without a stage range.  That table may lack the column stage_range.

    After the last row, warnings are logged.  They are about rows that are left out, stages that were taken
    for stage ranges, dates that a spreadsheet made of stage ranges, and names that look like such dates.

    Parameters
    ----------
    table : Path
    required, optional : names of columns
    faults : list to which the RowErrors of rows are appended, which are left out; None to raise the first
    unknown_stage : the stage range for rows that have none, or say "unknown"
        None leaves these rows out; "" is for callers that guess stage ranges.
    columns, more : as in `read_table`

    Raises
    ------
    InputError
        As `read_table`, or if a text is no stage range; names the file, line and column.  Also if no row has
        a stage range and names.
    """
    check = _RowCheck(table, required, optional, unknown_stage)
    of_images = "image" in required
    how = {"columns": columns, "meant": _MEANT, "faults": faults, "may_be_empty": ("stage_range",), **more}
    how["may_lack"] = ("stage_range",) if of_images else ()
    unnamed = []
    for line, cells in read_table(table, required, optional, **how):
        try:
            check.clean_row(line, cells)
        except RowError as error:
            found = unnamed if isinstance(error, _UnnamedRowError) and not of_images else faults
            if found is None:
                raise
            found.append(error)
            continue
        yield line, cells
    if not check.lines_of["gene"]:
        raise_errors(table, unnamed)
    else:
        warn_about_rows(table, unnamed)
    check.warn()


class _UnnamedRowError(RowError):
    """The error for a row without a name or a stage range, which a table of terms may have."""


class _RowCheck:
    """The check of the rows of a table, with the places of what is wrong in them.

    The parameters are as in `read_gene_rows`.
    """

    def __init__(self, table, required, optional, unknown_stage):
        self._columns = required + optional
        columns = list(enumerate(self._columns))
        self._table = table
        self._advice = FILL_IN + (_STAGE_OPTIONS if "image" in required else "")
        self._unknown_stage = unknown_stage
        self._where = required.index("stage_range")
        self._required = [name for name in required if name in _NAMES]
        self._names = [(n, name) for n, name in columns if name in _NAMES + _MORE_NAMES]
        self._stage_ranges = {}  # by the text of a cell
        self._dates = {}  # cell that is a date -> its first line
        self._n_dates = Counter()  # cell that is a date -> number of its rows
        self.lines_of = {name: {} for _, name in columns if name in _LIKE_DATES}  # name -> its first line
        self._emptied = []
        self._respelt = {}  # text of a cell -> the name as it is read

    def clean_row(self, line, cells):
        """Replace the names and the stage range of a row by cleaned ones.

        line : int; cells : list of str, changed in place

        Raises
        ------
        RowError
            If the cell in the column stage_range is no stage range, or if it or a name has none.  Also if the
            cell in fbgn is not one FlyBase number.
        """
        nameless = {}
        for n, name in self._names:
            cells[n] = self._clean_name(cells[n]) if name in _CLEANED else cells[n]
            if (cells[n] or name in self._required) and is_unknown(cells[n], name):
                nameless[name] = f'line {line}, column "{name}": "{cells[n]}"'
                cells[n] = ""
            if name == "fbgn" and cells[n] and not is_flybase_number(cells[n]):
                fix = "write it as FBgn0000490, or leave the cell empty"
                raise self._error(line, cells, name, f'"{cells[n]}" is not one FlyBase number', fix)
        if absent := [nameless[name] for name in self._required if name in nameless]:
            what = f"{self._table}, {absent[0]} is no name"
            raise _UnnamedRowError(what, fix=_WRITE_NAME, line=line, cells=zip(self._columns, cells))
        self._emptied += nameless.values()
        try:
            stage_range = self._parse_stage_range(line, cells[self._where])
        except InputError as error:
            raise self._error(line, cells, "stage_range", error.message, error.fix) from None
        if stage_range is None:
            advice = self._advice
            raise self._error(line, cells, "stage_range", NO_STAGE_RANGE, advice, _UnnamedRowError)
        cells[self._where] = stage_range
        for n, name in self._names:
            if cells[n] and name in _LIKE_DATES:
                self.lines_of[name].setdefault(cells[n], line)

    def _error(self, line, cells, column, what, fix, kind=RowError):
        """Make the RowError for the cell of a row in a column."""
        where = f'{self._table}, line {line}, column "{column}"'
        return kind(f"{where}: {what}", fix=fix, line=line, cells=zip(self._columns, cells))

    def _clean_name(self, text):
        name = clean_name(text)
        if name != text:
            self._respelt[text] = name
        return name

    def _parse_stage_range(self, line, text):
        """Return the stage range that the cell of a line means, with BDGP's name; None if it says none."""
        if text not in self._stage_ranges:
            if is_unknown(text):
                self._stage_ranges[text] = self._unknown_stage
            elif recovered := recover_stage_range(text):
                self._stage_ranges[text] = recovered
                self._dates[text] = line
            else:
                self._stage_ranges[text] = parse_stage_range(text)
        if text in self._dates:
            self._n_dates[text] += 1
        return self._stage_ranges[text]

    def warn(self):
        """Log which cells were taken as empty, and how stage ranges and dates were read."""
        table = self._table
        warn_about(table, self._emptied, "cell is taken as empty", "cells are taken as empty")
        if self._unknown_stage and any(map(is_unknown, self._stage_ranges)):
            log.info("note: %s: rows without a stage range are taken as %s", table.name, self._unknown_stage)
        spelt = [text for text in self._stage_ranges if not is_unknown(text) and text not in self._dates]
        if note := describe_stage_spellings(spelt):
            log.info("note: %s: %s", table.name, note)
        if respelt := [f'"{text}" as {name}' for text, name in self._respelt.items()]:
            names = pluralise(len(respelt), "name is", "names are")
            log.info(
                "note: %s: %s read in another spelling: %s", table.name, names, abbreviate_names(respelt)
            )
        taken = []
        for text, line in self._dates.items():
            others = f" and {self._n_dates[text] - 1:,} more" if self._n_dates[text] > 1 else ""
            taken.append(f'"{text}" as {self._stage_ranges[text]} (line {line}{others})')
        one = "date was taken as a stage range"
        many = "dates were taken as stage ranges"
        warn_about(table, taken, one, many, f"; {TEXT_COLUMN_ADVICE}", n=self._n_dates.total())
        for column, lines in self.lines_of.items():
            warn_of_mangled_names(table, column, lines)
