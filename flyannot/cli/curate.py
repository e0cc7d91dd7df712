"""flyannot curate and flyannot annotations: corrections put together, and applied to a table."""

import click

from flyannot.cli.shared.options import IN_FILE, Command, out_option, overwrite_option
from flyannot.cli.shared.output import log, say


@click.command("curate", cls=Command)
@click.argument("tables", type=IN_FILE, nargs=-1, required=True, metavar="CORRECTIONS...")
@out_option("Also write the merged table.", required=False)
@overwrite_option("Replace what is there.")
def command(tables, out, force):
    """Merge the corrections of several curators, and say how far they agree.

    CORRECTIONS are tables from the report (Download corrections.csv). For every term, this prints how often
    two curators reviewed it and agreed, with Cohen's kappa (1: they always agree; 0: as often as by chance),
    and then every disagreement, which is unsure until somebody decides. NAME.to-decide.csv beside the output
    lists them. To decide, fill in the verdict and your name in its rows without a curator, and give that
    table in addition.

    \b
    Example:
        flyannot curate anna.csv ben.csv -o merged.csv
    """
    from flyannot.pipeline.curate import agreement_in_words, settle_corrections, write_curated

    curated = settle_corrections(tables)
    if out:
        to_decide = write_curated(out, curated, force=force)
        log.info("wrote %s%s", out, f"; to decide: {to_decide}" if to_decide else "")
    say(agreement_in_words(curated))


@click.command("annotations", cls=Command)
@click.argument("annotations", type=IN_FILE)
@click.argument("corrections", type=IN_FILE, nargs=-1, required=True, metavar="CORRECTIONS...")
@out_option("The annotations file to write.")
@click.option(
    "--new-genes",
    is_flag=True,
    help="Also write genes without a row in a stage range: their other terms then count as absent.",
)
@overwrite_option("Replace the output if it is there.")
def annotations_command(annotations, corrections, out, new_genes, force):
    """Write a table of annotations in which corrections are applied.

    ANNOTATIONS is an annotations.csv, CORRECTIONS are tables from the report. Accepted terms are added,
    rejected ones removed. A table of annotations cannot say "unsure": such a term stays as it was, and only
    `flyannot train --corrections` leaves it out. Prints every change on a line of its own.

    \b
    Example:
        flyannot annotations embryos/annotations.csv corrections.csv -o new.csv
    """
    from flyannot.pipeline.curate import write_corrected_annotations

    lines, sentences = write_corrected_annotations(
        annotations, corrections, out, with_new_genes=new_genes, force=force
    )
    for line in lines:
        say(line)
    for sentence in sentences:
        log.info("note: %s", sentence)
    log.info("wrote %s", out)
