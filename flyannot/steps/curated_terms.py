"""The curated terms that steps score against."""

from flyannot.dataset.corrections import corrected, read_corrections
from flyannot.dataset.folder import read_annotations
from flyannot.dataset.ontology import read_ontology, with_parent_terms
from flyannot.dataset.paths import annotations_table
from flyannot.runtime.digest import digest_of_file


def curated_annotations_of(annotations_csv, *, corrections=(), roll_up=()):
    """The curated terms of a table, as corrections change them.

    Parameters
    ----------
    annotations_csv : Path, of the table or of its data set folder
    corrections : paths of tables of corrections
    roll_up : paths of OBO files: a gene that has a term has its parent terms too

    Returns
    -------
    annotations : flyannot.dataset.folder.Annotations
    sentences : what the corrections changed; none without corrections
    """
    ontology = read_ontology(*roll_up) if roll_up else None
    names = ontology.names() if ontology else ()
    annotations, sentences = read_annotations(annotations_csv, known=names), []
    if corrections:
        table = annotations_table(annotations_csv)
        annotations, changes = corrected(annotations, read_corrections(corrections), table, names)
        sentences = [f"{', '.join(path.name for path in corrections)}: {s}" for s in changes.sentences()]
    return (with_parent_terms(annotations, ontology) if ontology else annotations), sentences


def digests_of_curated(annotations_csv, corrections):
    """The digests of both, by role, as a header's inputs have them; without corrections, no such role."""
    found = {"annotations": [digest_of_file(annotations_csv)]}
    return found | ({"corrections": [digest_of_file(path) for path in corrections]} if corrections else {})


def is_synthetic(columns):
    """Whether any image of these columns (dicts) was drawn by a program."""
    return any("synthetic" in one["source"] for one in columns)
