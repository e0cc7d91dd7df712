"""flyannot curate: corrections of several curators."""

import click

from flyannot.cli.shared.options import IN_FILE, OUT_FILE, Command, log


@click.command("curate", cls=Command)
@click.argument("tables", type=IN_FILE, nargs=-1, required=True, metavar="CORRECTIONS...")
@click.option("-o", "--output", "out", type=OUT_FILE, help="Also write the table that they come to.")
@click.option("--force", is_flag=True, help="Replace that table if it is there.")
def command(tables, out, force):
    """Put the corrections of several curators together, and say how far they agree.

    CORRECTIONS are tables that the report gives (Download corrections.csv). For every term that two curators
    looked at: how often both did, how often they agree, and Cohen's kappa, which is 1 where they always do,
    and 0 where they do as often as by chance. Then every disagreement, and what becomes of it: the later
    verdict counts; of verdicts of the same day none does, and the term is unsure.

    \b
    Example:
        flyannot curate anna.csv ben.csv -o corrections.csv
    """
    from flyannot.steps.curate import agreement_in_words, settle_corrections, write_curated

    curated = settle_corrections(tables)
    if out:
        write_curated(out, curated, tables, force=force)
    click.echo(agreement_in_words(curated))
    if out:
        log.info("wrote %s", out)
