"""The commands flyannot curate and flyannot annotations, which merge and apply corrections."""

import click

from flyannot.cli.shared.options import IN_FILE, Command, add_options, out_option, overwrite_option
from flyannot.cli.shared.output import log, print_text
from flyannot.pipeline.options import Selection


@click.command("curate", cls=Command)
@click.argument("tables", type=IN_FILE, nargs=-1, required=True, metavar="CORRECTIONS...")
@out_option("Write the merged table to this file.", required=False)
@add_options(selection=(Selection, ["columns"]))
@overwrite_option("Replace existing files.")
def command(tables, out, force, selection):
    """Merge the corrections of several curators, and show how well they agree.

    CORRECTIONS are tables that curators downloaded from the report. For every term, the output shows how
    often two curators reviewed the same gene, how often they agreed, and Cohen's kappa (1: always; 0: as
    often as by chance). It then lists the disagreements, which count as unsure until somebody decides them.

    The file NAME.to-decide.csv beside the output lists the disagreements, too. To decide one, fill in the
    verdict and your name in its row without a curator. Then add this file to CORRECTIONS.

    \b
    Example:
        flyannot curate anna.csv ben.csv -o merged.csv
    """
    from flyannot.cli.shared.exit_codes import SKIPPED
    from flyannot.results.curate import format_agreement, settle_corrections, write_merged_corrections

    faults: list = []
    curated = settle_corrections(tables, selection.columns, faults)
    if out:
        to_decide = write_merged_corrections(out, curated, force=force)
        log.info("wrote %s%s", out, f"; to decide: {to_decide}" if to_decide else "")
    print_text(format_agreement(curated))
    return SKIPPED if faults else 0


@click.command("annotations", cls=Command)
@click.argument("annotations", type=IN_FILE)
@click.argument("corrections", type=IN_FILE, nargs=-1, required=True, metavar="CORRECTIONS...")
@out_option("The annotations file to write.")
@click.option(
    "--new-genes",
    is_flag=True,
    help="Also add genes that have no row in a stage range. Their other terms then count as absent.",
)
@add_options(selection=(Selection, ["columns"]))
@overwrite_option("Replace an existing output.")
def annotations_command(annotations, corrections, out, new_genes, force, selection):
    """Apply corrections to a table of annotations.

    ANNOTATIONS is an annotations.csv, CORRECTIONS are tables from the report. Accepted terms are added, and
    rejected terms are removed. Terms marked unsure stay as they are, since the table has no such mark; only
    `flyannot train --corrections` leaves them out. Every change is printed.

    \b
    Example:
        flyannot annotations embryos/annotations.csv corrections.csv -o new.csv
    """
    from flyannot.results.curate import write_corrected_annotations

    how = {"with_new_genes": new_genes, "columns": selection.columns, "force": force}
    lines, sentences = write_corrected_annotations(annotations, corrections, out, **how)
    for line in lines:
        print_text(line)
    for sentence in sentences:
        log.info("note: %s", sentence)
    log.info("wrote %s", out)
