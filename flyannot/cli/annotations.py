"""flyannot annotations: a table of annotations with corrections applied."""

import click

from flyannot.cli.shared.options import IN_FILE, Command, log, out_option


@click.command("annotations", cls=Command)
@click.argument("annotations", type=IN_FILE)
@click.argument("corrections", type=IN_FILE, nargs=-1, required=True, metavar="CORRECTIONS...")
@out_option("annotations")
@click.option(
    "--new-genes",
    is_flag=True,
    help="Also write genes without a row in a stage range: all that was not accepted of them is then a no.",
)
@click.option("--force", is_flag=True, help="Replace the output if it is there.")
def command(annotations, corrections, out, new_genes, force):
    """Write a table of annotations in which corrections are applied.

    ANNOTATIONS is an annotations.csv, CORRECTIONS are tables that the report gives. Accepted terms are added,
    rejected ones removed. A table of annotations cannot say "unsure": such a term stays as it was, and only
    `flyannot train --corrections` leaves it out. Prints every change, one a line.

    \b
    Example:
        flyannot annotations embryos/annotations.csv corrections.csv -o new.csv
    """
    from flyannot.steps.curate import write_corrected_annotations

    lines, sentences = write_corrected_annotations(
        annotations, corrections, out, with_new_genes=new_genes, force=force
    )
    for line in lines:
        click.echo(line)
    for sentence in sentences:
        log.info("note: %s", sentence)
    log.info("wrote %s", out)
