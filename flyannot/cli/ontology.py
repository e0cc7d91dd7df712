"""flyannot ontology: which terms an ontology knows."""

import sys

import click

from flyannot.cli.shared.options import IN_FILE, Command, log


@click.command("ontology", cls=Command)
@click.argument("annotations", type=IN_FILE)
@click.argument("obo", type=IN_FILE, nargs=-1, required=True)
def command(annotations, obo):
    """Look up the terms of a table of annotations, and stage ranges, in ontologies.

    ANNOTATIONS is an annotations.csv, OBO are files such as FlyBase's fbbt.obo (anatomy) and fbdv.obo
    (development), gzipped or not. A term matches by its exact name or synonym. Prints a CSV table: term,
    id, its name there, how it matched (nothing, if it did not), and what to consider instead of an
    obsolete id. `flyannot annotate` and `export` write the ids beside the terms with --ontology.

    \b
    Example:
        flyannot ontology embryos/annotations.csv fbbt.obo fbdv.obo
    """
    from flyannot.dataset.folder import read_annotations
    from flyannot.dataset.ontology import ids_of_stage_ranges, ontology_matches, read_ontology
    from flyannot.runtime.tables import write_csv_rows

    ontology = read_ontology(*obo)
    matches = ontology_matches(ontology, read_annotations(annotations, known=ontology.names()))
    rows = [(m.term, m.id, m.name, m.how, " ".join(m.consider)) for m in matches]
    rows += [
        (f"stages {s}", " ".join(ids), "", "stage" if ids else "", "")
        for s, ids in ids_of_stage_ranges(ontology).items()
    ]
    write_csv_rows(sys.stdout, [("term", "id", "name", "match", "consider"), *rows])
    n_found = sum(bool(m.id) for m in matches)
    n_obsolete = sum(m.how == "obsolete" for m in matches)
    log.info("%d of %d terms have an id, %d of them an obsolete one", n_found, len(matches), n_obsolete)
