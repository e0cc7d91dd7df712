"""The command flyannot fetch, which downloads published images and tables."""

import click

from flyannot.cli.shared.options import Command, add_options, out_folder_option
from flyannot.cli.shared.output import build_execution, log, log_outcome, print_text
from flyannot.pipeline.options import FetchOptions


@click.command("fetch", cls=Command)
@click.argument("source", type=click.Choice(["bdgp"]))
@out_folder_option("The folder to fill.")
@add_options(options=FetchOptions)
@click.option("--dry-run", is_flag=True, help="Download only the tables, and count the images.")
def command(source, folder, options, dry_run):
    """Download BDGP's tables and images into a folder for `flyannot import bdgp`.

    Repeat the command to continue: complete files are not downloaded again. pictures.csv lists failed
    downloads. Be kind to the site: download only what you need.

    \b
    Example:
        flyannot fetch bdgp -o bdgp-files --genes Dl,eve --stage-range 4-6
    """
    from flyannot.pipeline.commands.fetch import fetch_bdgp
    from flyannot.pipeline.engine.fates import NAME

    outcome = fetch_bdgp(folder, options, build_execution(), dry_run=dry_run)
    if dry_run:
        print_text(outcome.summary)
        return 0
    code = log_outcome(outcome, table=folder / NAME)
    log.info("next: flyannot import %s %s -o embryos", source, folder)
    return code
