"""Predictions as text: CSV, TSV, JSON, and the table that OMERO takes in."""

import json

from flyannot.export.rows import Prediction, images_of_groups, prediction_rows, ranked
from flyannot.runtime.csv_table import write_rows
from flyannot.steps.predictions import read_predictions

# What `omero metadata populate` wants in the first two lines: types, then names without spaces.
_OMERO_TYPES = "# header s,s,s,s,s,d,d,b"
_OMERO_COLUMNS = ("Image Name", "Gene", "FBgn", "Stage_Range", "Term", "Probability", "Decision_Value", "Yes")


def write_predictions_csv(stored, stage_ranges, path, *, ids=None):
    """One row for each group and term; text that a spreadsheet would run gets an apostrophe."""
    _write_predictions(stored, stage_ranges, path, ",", ids)


def write_predictions_tsv(stored, stage_ranges, path, *, ids=None):
    """As the CSV, separated by tabs."""
    _write_predictions(stored, stage_ranges, path, "\t", ids)


def _write_predictions(stored, stage_ranges, path, delimiter, ids):
    rows = [_formatted(row) for row in prediction_rows(stored, stage_ranges)]
    columns = Prediction._fields
    if ids:
        columns += ids.COLUMNS
        rows = [(*row, *ids.of(row.term, row.stage_range)) for row in rows]
    with open(path, "w", newline="", encoding="utf-8") as file:
        write_rows(file, [columns, *rows], delimiter=delimiter)


def _formatted(row):
    return row._replace(decision_value=f"{row.decision_value:.9g}", probability=f"{row.probability:.9g}")


def write_predictions_json(stored, stage_ranges, path, *, ids=None):
    """Stage range -> terms, and groups with their images and what is said of every term."""
    document = {
        "format": "flyannot-predictions",
        "digest": stored.digest,
        "stage_ranges": {s: _stage_range_as_json(stored, s) for s in stage_ranges},
    }
    if ids:
        for stage_range, part in document["stage_ranges"].items():
            found = {term: ids.of(term, stage_range) for term in part["terms"]}
            part["term_ids"] = {term: one for term, (one, _) in found.items()}
            part["stage_id"] = next((stages for _, stages in found.values()), "")
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _stage_range_as_json(stored, stage_range):
    groups, predicted = read_predictions(stored, stage_range)
    images = images_of_groups(stored, stage_range, groups)
    return {
        "terms": predicted.terms,
        "groups": [
            {
                "group": groups.name[g],
                "gene": groups.gene[g],
                "fbgn": groups.fbgn[g],
                "in_training": bool(predicted.in_training[g]),
                "images": images[g],
                "predictions": [
                    {
                        "term": predicted.terms[j],
                        "decision_value": float(predicted.decision_value[g, j]),
                        "probability": float(predicted.probability[g, j]),
                        "yes": bool(predicted.yes[g, j]),
                    }
                    for j in ranked(predicted.probability[g])
                ],
            }
            for g in range(len(groups))
        ],
    }


def write_omero_csv(stored, stage_ranges, path):
    """One row for each image and term, for `omero metadata populate` on a Dataset; source: its README.

    OMERO knows an image by its file's name, without the folder.
    """
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.write(_OMERO_TYPES + "\n")
        write_rows(file, [_OMERO_COLUMNS, *_omero_rows(stored, stage_ranges)])


def _omero_rows(stored, stage_ranges):
    for stage_range in stage_ranges:
        groups, _ = read_predictions(stored, stage_range)
        images = dict(zip(groups.name, images_of_groups(stored, stage_range, groups)))
        for row in prediction_rows(stored, [stage_range]):
            values = f"{row.probability:.9g}", f"{row.decision_value:.9g}", str(row.answer == "yes")
            for image in images[row.group]:
                name = image.rpartition("/")[2]
                yield name, row.gene, row.fbgn, stage_range, row.term, *values
