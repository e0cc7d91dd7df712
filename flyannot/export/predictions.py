"""Predictions as text: CSV, TSV, JSON, and the table that OMERO takes in."""

import json

from flyannot.runtime.tables import write_csv_rows
from flyannot.steps.predictions import read_predictions
from flyannot.steps.predictions_table import (
    COLUMNS,
    evidence_of_term,
    prediction_rows,
    predictions_table,
    rows_of_group,
)
from flyannot.store.reading import read_image_columns

# What `omero metadata populate` wants in the first two lines: types, then names without spaces.
# Numbers that may be missing are text there: it takes no empty number.
_OMERO = {"gene": "Gene", "fbgn": "FBgn", "auc": "AUC", "auc_low": "AUC_Low", "auc_high": "AUC_High"}
_OMERO_NUMBERS = {"decision_value": "d", "probability": "d", "threshold": "d", "n_genes": "l"}
_OMERO_COLUMNS = [name for name in COLUMNS if name != "image"]


def write_csv(stored, stage_ranges, path, *, ids=None):
    """The table as `flyannot annotate` writes it; text that a spreadsheet would run gets an apostrophe."""
    _write_table(stored, stage_ranges, path, ",", ids)


def write_tsv(stored, stage_ranges, path, *, ids=None):
    """As the CSV, separated by tabs."""
    _write_table(stored, stage_ranges, path, "\t", ids)


def _write_table(stored, stage_ranges, path, delimiter, ids):
    columns, rows = predictions_table(stored, stage_ranges, ids)
    with open(path, "w", newline="", encoding="utf-8") as file:
        write_csv_rows(file, [columns, *rows], delimiter=delimiter)


def write_json(stored, stage_ranges, path, *, ids=None):
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
    groups, predicted = read_predictions(stored, stage_range)
    images = images_of_groups(stored, stage_range, groups)
    known = {term: ids.of(term, stage_range) for term in predicted.terms} if ids else {}
    of_ontology = {
        "term_ids": {term: one for term, (one, _) in known.items()},
        "stage_id": next((stages for _, stages in known.values()), ""),
    }
    of_groups = [
        {
            "group": groups.name[g],
            "gene": groups.gene[g],
            "fbgn": groups.fbgn[g],
            "in_training": bool(predicted.in_training[g]),
            "quality_warnings": predicted.quality_warnings[g],
            "images": images[g],
            "predictions": [
                {name: getattr(row, name) for name in ("term", "decision_value", "probability", "answer")}
                for row in rows_of_group(stage_range, groups, predicted, g)
            ],
        }
        for g in range(len(groups))
    ]
    terms = [
        {"term": term, "threshold": float(predicted.threshold[j])} | evidence_of_term(predicted, j)
        for j, term in enumerate(predicted.terms)
    ]
    return {"terms": terms, "groups": of_groups} | (of_ontology if ids else {})


def write_omero_csv(stored, stage_ranges, path):
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
        groups, _ = read_predictions(stored, stage_range)
        images = dict(zip(groups.name, images_of_groups(stored, stage_range, groups)))
        for row in prediction_rows(stored, [stage_range]):
            texts = row.texts()._asdict()
            for image in images[row.group]:
                yield image.rpartition("/")[2], *(texts[name] for name in _OMERO_COLUMNS)


def images_of_groups(stored, stage_range, groups):
    """The names of the images of every group: a list of lists."""
    names = read_image_columns(stored, stage_range)["image"]
    return [[names[i] for i in rows] for rows in groups.rows]
