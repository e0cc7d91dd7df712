"""flyannot curate and flyannot annotations: corrections put together, and applied to a table."""

import click

from flyannot.cli.shared.options import IN_FILE, OUT_FILE, Command, log, out_option, say


@click.command("curate", cls=Command)
@click.argument("tables", type=IN_FILE, nargs=-1, required=True, metavar="CORRECTIONS...")
@click.option("-o", "--output", "out", type=OUT_FILE, help="Also write one table of all that they say.")
@click.option("--force", is_flag=True, help="Replace what is there.")
def command(tables, out, force):
    """Put the corrections of several curators together, and say how far they agree.

    CORRECTIONS are tables that the report gives (Download corrections.csv). For every term that two curators
    reviewed: how often both did, how often they agree, and Cohen's kappa, which is 1 where they always do,
    and 0 where they do as often as by chance. Then every disagreement: it is unsure until somebody decides.
    NAME.to-decide.csv beside the output lists them. Fill in the rows without a curator (verdict, and your
    name), and give that table as one more.

    \b
    Example:
        flyannot curate anna.csv ben.csv -o merged.csv
    """
    from flyannot.steps.curate import agreement_in_words, settle_corrections, write_curated

    curated = settle_corrections(tables)
    if out:
        to_decide = write_curated(out, curated, force=force)
        log.info("wrote %s%s", out, f"; to decide: {to_decide}" if to_decide else "")
    say(agreement_in_words(curated))


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
def annotations_command(annotations, corrections, out, new_genes, force):
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
        say(line)
    for sentence in sentences:
        log.info("note: %s", sentence)
    log.info("wrote %s", out)
