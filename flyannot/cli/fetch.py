"""flyannot fetch: published images and tables from their site."""

import click

from flyannot.cli.shared.options import Command, out_folder_option, takes
from flyannot.cli.shared.output import execution_of, finish, log, say
from flyannot.pipeline.options import FetchOptions


@click.command("fetch", cls=Command)
@click.argument("source", type=click.Choice(["bdgp"]))
@out_folder_option("The folder to fill.")
@takes(options=FetchOptions)
@click.option("--dry-run", is_flag=True, help="Fetch only the tables, and count the images.")
def command(source, folder, options, dry_run):
    """Fetch BDGP's tables and images into a folder for `flyannot import bdgp`.

    Run the same command again to continue: what is there is not fetched again. failures.csv lists what could
    not be fetched, and why. Be kind to the site: fetch what you need.

    \b
    Example:
        flyannot fetch bdgp -o bdgp-files --genes Dl,eve --stage-range 4-6
    """
    from flyannot.pipeline.fetch import fetch_bdgp

    outcome = fetch_bdgp(folder, options, execution_of(), dry_run=dry_run)
    if dry_run:
        say(outcome.summary)
        return 0
    code = finish(outcome)
    log.info("next: flyannot import %s %s -o embryos", source, folder)
    return code
