"""The curated terms that steps score against."""

from flyannot.dataset.folder import read_annotations
from flyannot.dataset.ontology import read_ontology, with_parent_terms


def curated_annotations_of(annotations_csv, roll_up):
    """`flyannot.dataset.folder.Annotations`; with OBO files, a gene that has a term has its parents too."""
    if not roll_up:
        return read_annotations(annotations_csv)
    ontology = read_ontology(*roll_up)
    return with_parent_terms(read_annotations(annotations_csv, known=ontology.names()), ontology)


def is_synthetic(columns):
    """Whether any image of these columns (dicts) was drawn by a program."""
    return any("synthetic" in one["source"] for one in columns)
