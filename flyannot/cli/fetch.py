"""flyannot fetch: published images and tables from their site."""

from pathlib import Path

import click

from flyannot.cli.shared.options import (
    COUNT,
    OUT_FOLDER,
    Command,
    execution_of,
    finish,
    log,
    stage_range_option,
)
from flyannot.errors import InputError


@click.command("fetch", cls=Command)
@click.argument("source", type=click.Choice(["bdgp"]))
@click.option("-o", "--output", "folder", type=OUT_FOLDER, required=True, help="The folder to fill.")
@click.option(
    "--genes", multiple=True,
    help="Only these genes (repeatable): names separated by commas, or @FILE with one a line.",
)  # fmt: skip
@stage_range_option
@click.option("--max-images", "most", type=COUNT, help="No more than so many images.")
@click.option("--dry-run", is_flag=True, help="Only say how much would be fetched, and how long it takes.")
@click.option("--refresh", is_flag=True, help="Fetch the tables again even if they are there.")
@click.option("--base-url", help="The site's address.  [default: https://insitu.fruitfly.org/]")
@click.option(
    "--connections", type=click.IntRange(1, 4), default=2, show_default=True, help="Requests at a time."
)
@click.option(
    "--pause", "pause_s", type=click.FloatRange(min=0), default=0.5, show_default=True,
    help="Seconds between the starts of two requests.",
)  # fmt: skip
def command(source, folder, genes, stage_ranges, dry_run, connections, pause_s, **wanted):
    """Fetch BDGP's tables and images into a folder for `flyannot import bdgp`.

    Run the same command again to continue: what is there is not fetched again. manifest.csv lists every
    file with its digest, failures.csv what could not be had. Be kind to the site: fetch what you need.

    \b
    Example:
        flyannot fetch bdgp -o bdgp-files --genes Dl,eve --stage-range 4-6
    """
    try:
        from flyannot.dataset.bdgp_site.download import RetryPolicy
        from flyannot.steps.fetch import Wanted, fetch_bdgp
    except ImportError as error:
        raise InputError(
            f"fetching needs a package that is not installed: {error.name}",
            fix="pip install 'flyannot[fetch]'",
        ) from None
    given = {name: value for name, value in wanted.items() if value is not None}
    chosen = Wanted(genes=tuple(_names(genes)), stage_ranges=tuple(stage_ranges), **given)
    policy = RetryPolicy(connections=connections, pause_s=pause_s)
    outcome = fetch_bdgp(folder, chosen, execution_of(), policy=policy, dry_run=dry_run)
    if dry_run:
        click.echo(outcome.summary)
        return 0
    code = finish(outcome)
    log.info("next: flyannot import %s %s -o embryos", source, folder)
    return code


def _names(genes):
    """The names in the values of --genes."""
    for value in genes:
        if value.startswith("@"):
            try:
                names = Path(value[1:]).read_text(encoding="utf-8-sig").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"cannot read the genes in {value[1:]}: {error}") from None
        else:
            names = value.split(",")
        yield from filter(None, (name.strip() for name in names))
