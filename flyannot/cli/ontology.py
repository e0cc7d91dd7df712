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
    (development), gzipped or not. A term matches by its exact name or synonym, or respelt as FBbt writes
    it. Prints a CSV table: term, stage range, id, its name there, how it matched (nothing, if it did not),
    and what to consider instead of an obsolete id. `flyannot annotate` and `export` write the ids beside
    the terms with --ontology.

    A table of your own among the OBO files (.csv, .tsv, .xlsx; columns term, id and perhaps stage_range,
    such as this command prints, or Bgee's BDGP_terms_to_FBbt_terms.tsv) comes before them.

    \b
    Example:
        flyannot ontology embryos/annotations.csv fbbt.obo fbdv.obo
    """
    from flyannot.dataset.folder import read_annotations
    from flyannot.dataset.ontology import ids_of_stage_ranges, ontology_matches, read_ontology
    from flyannot.runtime.tables import write_csv_rows

    ontology = read_ontology(*obo)
    matches = ontology_matches(ontology, read_annotations(annotations, known=ontology.names()))
    rows = [(m.term, s, m.id, m.name, m.how, " ".join(m.consider)) for m, s in matches]
    rows += [
        (f"stages {s}", s, " ".join(ids), "", "stage" if ids else "", "")
        for s, ids in ids_of_stage_ranges(ontology).items()
    ]
    write_csv_rows(sys.stdout, [("term", "stage_range", "id", "name", "match", "consider"), *rows])
    n_terms, n_found = len({m.term for m, _ in matches}), len({m.term for m, _ in matches if m.id})
    n_obsolete = len({m.term for m, _ in matches if m.how == "obsolete"})
    log.info("%d of %d terms have an id, %d of them an obsolete one", n_found, n_terms, n_obsolete)
