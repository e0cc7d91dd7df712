"""The curated terms that steps score against."""

from flyannot.dataset.folder import read_annotations
from flyannot.dataset.ontology import read_ontology, with_parent_terms
from flyannot.errors import InputError


def annotations_of(annotations_csv, roll_up):
    annotations = read_annotations(annotations_csv)
    return with_parent_terms(annotations, read_ontology(*roll_up)) if roll_up else annotations


def nothing_annotated(path, annotations_csv):
    return InputError(
        f"no gene of {path} is annotated in {annotations_csv}",
        fix="check that genes and stage ranges are spelled alike in both",
    )


def is_synthetic(loaded):
    return any("synthetic" in columns["source"] for columns, *_ in loaded.values())
