"""Predictions as an Excel workbook; takes the package xlsxwriter.

Excel opens a CSV by its own lights: 4-6 becomes the 6th of April, letters beyond ASCII break, and where the
decimal comma is used, 0.36 becomes text.  In a workbook text is text, and a number a number.
"""

from datetime import datetime
from io import BytesIO

from flyannot.errors import InputError
from flyannot.runtime.environment import optional_package
from flyannot.steps.predictions_table import COLUMNS, prediction_rows

_MOST_ROWS = 1_048_576  # of a sheet
_NO_DATE = datetime(1980, 1, 1)  # of making: equal predictions give equal bytes
_AS_THEY_ARE = {"strings_to_formulas": False, "strings_to_urls": False, "in_memory": True}
_LETTERS = {"term": 38, "quality_warnings": 30}  # the width of a column; others as wide as their names


def write_predictions(stored, stage_ranges, path, *, ids=None):
    """A sheet for each stage range with the columns of the CSV; the first row stays, with filters."""
    columns, content = COLUMNS + (ids.COLUMNS if ids else ()), BytesIO()
    with optional_package("xlsxwriter", "excel").Workbook(content, _AS_THEY_ARE) as workbook:
        workbook.set_properties({"created": _NO_DATE})
        for stage_range in stage_ranges:
            rows = [_cells(row, ids) for row in prediction_rows(stored, [stage_range])]
            if len(rows) >= _MOST_ROWS:
                raise InputError(
                    f"{len(rows):,} predictions of stage range {stage_range} are too many for Excel",
                    fix="export with --to csv, or annotate fewer genes at a time",
                )
            _write_sheet(workbook.add_worksheet(f"stages {stage_range}"), columns, rows)
    path.write_bytes(content.getvalue())


def _cells(row, ids):
    return (*row, *ids.of(row.term, row.stage_range)) if ids else row


def _write_sheet(sheet, columns, rows):
    for number, row in enumerate([columns, *rows]):
        sheet.write_row(number, 0, row)
    for place, name in enumerate(columns):
        sheet.set_column(place, place, max(9, _LETTERS.get(name, len(name) + 3)))
    sheet.freeze_panes(1, 1)
    sheet.autofilter(0, 0, max(1, len(rows)), len(columns) - 1)
