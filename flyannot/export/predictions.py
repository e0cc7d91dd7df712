"""Predictions as tables: CSV, and an Excel workbook.

Excel guesses what the cells of a CSV mean: 4-6 becomes the 6th of April, letters beyond ASCII break, and a
decimal comma makes text of 0.36. In a workbook, texts stay texts and numbers stay numbers.
"""

from datetime import datetime
from io import BytesIO

from flyannot.base.errors import InputError
from flyannot.files.hdf5.header import ORIGIN
from flyannot.files.tables import write_csv_rows
from flyannot.terms.answers import YES, predictions_table

_MOST_ROWS = 1_048_576  # in a sheet of Excel
_NO_DATE = datetime(1980, 1, 1)  # written as the date of creation, so that equal predictions give equal bytes
_AS_THEY_ARE = {"strings_to_formulas": False, "strings_to_urls": False, "in_memory": True}
_SUGGESTED_COLUMNS = ("gene", "stage_range", "term", "probability", "precision")
_SUGGESTED_COLUMNS += ("measured_on", "caution", "curated", "quality_warnings", *ORIGIN)
_MOST_LETTERS = 40  # the width of the widest column

_NOTES = {
    "probability": "how likely it is that a curator would give the term",
    "precision": "how often the term was right when it was suggested for genes that the model did not know",
    "measured_on": "the genes and pictures on which the precision was measured",
    "caution": "why the answer is little more than a guess",
    "curated": "what curators said before: empty if they did not annotate the gene",
    "quality_warnings": "what looks wrong with a picture",
    "model_digest": "the model behind the row: flyannot verify TABLE finds its file",
    "flyannot_version": "the version that wrote the predictions",
}  # notes on the headings of the first sheet


def write_predictions_csv(stored, stage_ranges, path, *, ids=None):
    """Write the table of `flyannot annotate`; a text that a spreadsheet would run gets an apostrophe."""
    columns, rows = predictions_table(stored, stage_ranges, ids)
    with open(path, "w", newline="", encoding="utf-8") as file:
        write_csv_rows(file, [columns, *rows])


def write_predictions_xlsx(stored, stage_ranges, path, *, ids=None):
    """Write a workbook: a sheet of the suggested terms in short, and a sheet for each stage range.

    The sheets of the stage ranges have the columns of the CSV. The first row of a sheet stays in view and has
    filters.

    Raises
    ------
    InputError
        If a stage range has more rows than a sheet of Excel.
    """
    import xlsxwriter  # imported here, because other formats do not need it

    content = BytesIO()
    with xlsxwriter.Workbook(content, _AS_THEY_ARE) as workbook:
        workbook.set_properties({"created": _NO_DATE})
        in_short = workbook.add_worksheet("suggested")
        answered = []
        for stage_range in stage_ranges:
            columns, rows = predictions_table(stored, [stage_range], ids, as_text=False)
            rows = list(rows)
            named = (dict(zip(columns, row)) for row in rows)
            answered += [row | {"gene": row["gene"] or row["image"]} for row in named if row["answer"] == YES]
            if len(rows) >= _MOST_ROWS:
                what = f"{len(rows):,} predictions of stage range {stage_range} are too many for Excel"
                raise InputError(what, fix="export with --to csv, or annotate fewer genes at a time")
            _write_sheet(workbook.add_worksheet(f"stages {stage_range}"), columns, rows)
        cells = [[row[name] for name in _SUGGESTED_COLUMNS] for row in answered[: _MOST_ROWS - 1]]
        _write_sheet(in_short, _SUGGESTED_COLUMNS, cells, workbook.add_format({"num_format": "0.00"}))
        for name, note in _NOTES.items():
            in_short.write_comment(0, _SUGGESTED_COLUMNS.index(name), note)
    path.write_bytes(content.getvalue())


def _write_sheet(sheet, columns, rows, number_format=None):
    """Write a heading and rows; columns are as wide as their texts, up to _MOST_LETTERS."""
    for number, row in enumerate([columns, *rows]):
        sheet.write_row(number, 0, row)
    for place, name in enumerate(columns):
        longest = max((len(row[place]) for row in rows if isinstance(row[place], str)), default=0)
        letters = min(_MOST_LETTERS, max(9, len(name) + 3, longest + 1))
        sheet.set_column(place, place, letters, number_format)
    sheet.freeze_panes(1, 1)
    sheet.autofilter(0, 0, max(1, len(rows)), len(columns) - 1)
