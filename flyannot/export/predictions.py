"""Predictions as tables: CSV, TSV, JSON, the tables that OMERO and MultiQC take in, and an Excel workbook.

Excel opens a CSV by its own lights: 4-6 becomes the 6th of April, letters beyond ASCII break, and where the
decimal comma is used, 0.36 becomes text.  In a workbook text is text, and a number a number.
"""

import json
from datetime import datetime
from functools import partial
from io import BytesIO

import numpy as np

from flyannot.classifiers.answers import (
    PREDICTION_COLUMNS,
    YES,
    evidence_of_term,
    prediction_rows,
    predictions_of_group,
    predictions_table,
    read_predicted,
)
from flyannot.errors import InputError
from flyannot.runtime.environment import optional_package
from flyannot.runtime.tables import write_csv_rows
from flyannot.store.reading import read_image_columns

# What `omero metadata populate` wants in the first two lines: types, then names without spaces.
# Numbers that may be missing are text there: it takes no empty number.
_OMERO = {"gene": "Gene", "fbgn": "FBgn", "auc": "AUC", "auc_low": "AUC_Low", "auc_high": "AUC_High"}
_OMERO_NUMBERS = dict.fromkeys(("probability", "threshold", "decision_value", "model_probability"), "d")
_OMERO_NUMBERS["n_genes"] = "l"
_OMERO_COLUMNS = [name for name in PREDICTION_COLUMNS if name != "image"]

_MULTIQC = {  # column -> its title, what it counts, its format
    "images": ("Images", "Images that were read", "{:,.0f}"),
    "groups": ("Genes", "Groups: all images of one gene", "{:,.0f}"),
    "warned": ("Warned", "Groups with a quality warning", "{:,.0f}"),
    "terms": ("Terms", "Terms that the model knows", "{:,.0f}"),
    "yes": ("Yes", "Answers yes for a group, on the average", "{:,.1f}"),
    "auc": ("AUC", "Mean AUC of the terms that could be tested, by cross-validation", "{:,.3f}"),
}

_MOST_ROWS = 1_048_576  # of a sheet of Excel
_NO_DATE = datetime(1980, 1, 1)  # of making: equal predictions give equal bytes
_AS_THEY_ARE = {"strings_to_formulas": False, "strings_to_urls": False, "in_memory": True}
_YES_COLUMNS = ("gene", "stage_range", "term", "probability", "curated")
_LETTERS = {"term": 38, "quality_warnings": 30}  # the width of a column; others as wide as their names


def write_predictions_csv(stored, stage_ranges, path, *, ids=None, delimiter=","):
    """The table as `flyannot annotate` writes it; text that a spreadsheet would run gets an apostrophe."""
    columns, rows = predictions_table(stored, stage_ranges, ids)
    with open(path, "w", newline="", encoding="utf-8") as file:
        write_csv_rows(file, [columns, *rows], delimiter=delimiter)


write_predictions_tsv = partial(write_predictions_csv, delimiter="\t")


def write_predictions_json(stored, stage_ranges, path, *, ids=None):
    """Stage range -> terms with what stands behind them, and groups with their images and what is predicted
    of every term."""
    document = {
        "format": "flyannot-predictions",
        "digest": stored.digest,
        "stage_ranges": {s: _stage_range_as_json(stored, s, ids) for s in stage_ranges},
    }
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _stage_range_as_json(stored, stage_range, ids):
    groups, predicted = read_predicted(stored, stage_range)
    images = images_of_groups(stored, stage_range, groups)
    names = ("term", "probability", "threshold", "answer", "curated", "change", "held_out")
    names += ("decision_value", "model_probability")
    described = {
        "terms": [
            {"term": term, "threshold": float(threshold)} | evidence_of_term(predicted, j)
            for j, (term, threshold) in enumerate(zip(predicted.terms, predicted.probability_threshold))
        ],
        "groups": [
            {
                "group": groups.name[g],
                "gene": groups.gene[g],
                "fbgn": groups.fbgn[g],
                "in_training": bool(predicted.in_training[g]),
                "unlikeness": predicted.known_unlikeness(g),
                "quality_warnings": predicted.quality_warnings[g],
                "images": images[g],
                "predictions": [
                    {name: getattr(row, name) for name in names}
                    for row in predictions_of_group(stage_range, groups, predicted, g)
                ],
            }
            for g in range(len(groups))
        ],
    }
    if ids:
        known = {term: ids.of(term, stage_range) for term in predicted.terms}
        described["term_ids"] = {term: term_id for term, (term_id, _) in known.items()}
        described["stage_id"] = next((stages for _, stages in known.values()), "")
    return described


def write_predictions_omero_csv(stored, stage_ranges, path):
    """One row for each image and term, for `omero metadata populate` on a Dataset; source: its README.

    OMERO knows an image by its file's name, without the folder.
    """
    with open(path, "w", newline="", encoding="utf-8") as file:
        types = ["s", *(_OMERO_NUMBERS.get(name, "s") for name in _OMERO_COLUMNS)]
        file.write(f"# header {','.join(types)}\n")
        names = ["Image Name", *(_OMERO.get(name, name.title()) for name in _OMERO_COLUMNS)]
        write_csv_rows(file, [names, *_omero_rows(stored, stage_ranges)])


def _omero_rows(stored, stage_ranges):
    for stage_range in stage_ranges:
        groups, _ = read_predicted(stored, stage_range)
        images = dict(zip(groups.name, images_of_groups(stored, stage_range, groups)))
        for row in prediction_rows(stored, [stage_range]):
            texts = row.texts()._asdict()
            for image in images[row.group]:
                yield image.rpartition("/")[2], *(texts[name] for name in _OMERO_COLUMNS)


def write_predictions_multiqc(stored, stage_ranges, path):
    """A row for each stage range, as custom content of MultiQC: it takes in what is named `..._mqc.json`."""
    run, rows = stored.path.absolute().parent.name, {}
    for stage_range in stage_ranges:
        groups, predicted = read_predicted(stored, stage_range)
        tested = predicted.auc[~np.isnan(predicted.auc)]
        n_images, n_warned = sum(map(len, groups.rows)), sum(map(bool, predicted.quality_warnings))
        yes = float(predicted.yes.sum(axis=1).mean())
        numbers = [n_images, len(groups), n_warned, len(predicted.terms), yes]
        numbers += [float(tested.mean())] if len(tested) else []
        rows[f"{run} {stage_range}"] = dict(zip(_MULTIQC, numbers))
    document = {
        "id": "flyannot",
        "section_name": "flyannot",
        "description": f"Anatomical terms of embryos; images skipped: {len(stored.failures)}.",
        "plot_type": "table",
        "pconfig": {"id": "flyannot_table", "title": "flyannot: terms", "col1_header": "Run, stage range"},
        "headers": {
            name: {"title": title, "description": text, "format": form}
            for name, (title, text, form) in _MULTIQC.items()
        },
        "data": rows,
    }
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def write_predictions_xlsx(stored, stage_ranges, path, *, ids=None):
    """A sheet with the answers yes in short, then one for each stage range with the columns of the CSV; the
    first row stays, with filters."""
    content = BytesIO()
    with optional_package("xlsxwriter", "excel").Workbook(content, _AS_THEY_ARE) as workbook:
        workbook.set_properties({"created": _NO_DATE})
        in_short, answered = workbook.add_worksheet("yes only"), []
        for stage_range in stage_ranges:
            columns, rows = predictions_table(stored, [stage_range], ids, as_text=False)
            rows = list(rows)
            named = (dict(zip(columns, row)) for row in rows)
            answered += [row | {"gene": row["gene"] or row["image"]} for row in named if row["answer"] == YES]
            if len(rows) >= _MOST_ROWS:
                raise InputError(
                    f"{len(rows):,} predictions of stage range {stage_range} are too many for Excel",
                    fix="export with --to csv, or annotate fewer genes at a time",
                )
            _write_sheet(workbook.add_worksheet(f"stages {stage_range}"), columns, rows)
        cells = [[row[name] for name in _YES_COLUMNS] for row in answered[: _MOST_ROWS - 1]]
        _write_sheet(in_short, _YES_COLUMNS, cells, workbook.add_format({"num_format": "0.00"}))
    path.write_bytes(content.getvalue())


def _write_sheet(sheet, columns, rows, number_format=None):
    for number, row in enumerate([columns, *rows]):
        sheet.write_row(number, 0, row)
    for place, name in enumerate(columns):
        sheet.set_column(place, place, max(9, _LETTERS.get(name, len(name) + 3)), number_format)
    sheet.freeze_panes(1, 1)
    sheet.autofilter(0, 0, max(1, len(rows)), len(columns) - 1)


def images_of_groups(stored, stage_range, groups):
    """The names of the images of every group: a list of lists."""
    names = read_image_columns(stored, stage_range)["image"]
    return [[names[i] for i in rows] for rows in groups.rows]
