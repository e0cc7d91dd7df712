"""flyannot reproduce: the papers' tables and figures beside ours."""

from pathlib import Path

import click

from flyannot.cli.shared.options import OUT_FOLDER, Command, force_option, seed_option


@click.command("reproduce", cls=Command)
@click.argument("tables", metavar="[TABLE]...", nargs=-1)
@click.option(
    "--data-set", type=click.Path(path_type=Path),
    help="Learn from the images of this folder.  [default: FlyExpress images beside the checkout, else "
    "synthetic embryos]",
)  # fmt: skip
@click.option(
    "--ratings", type=click.Path(path_type=Path),
    help="A ratings file of MovieLens: u.data, ratings.dat or ratings.csv.",
)  # fmt: skip
@click.option("--quick/--full", default=True, show_default=True, help="Minutes, or the papers' sizes.")
@click.option("--list", "only_list", is_flag=True, help="Name the tables and figures, and measure nothing.")
@click.option("-o", "--output", "out", type=OUT_FOLDER, help="The folder to write.")
@seed_option
@force_option
def command(tables, data_set, ratings, quick, only_list, out, seed, force):
    """Measure the tables and figures of the papers, and write a page that has theirs beside ours.

    TABLE is any name of --list; all by default. What is finished is not measured again. Results are in
    OUTPUT/items (JSON, CSV, SVG, PNG); the page is OUTPUT/index.html, and OUTPUT/index.md.

    \b
    Example:
        flyannot reproduce scc-table-1 -o papers
    """
    from flyannot.benchmarks.papers.table import chosen

    items = chosen(tables)
    if only_list:
        click.echo("\n".join(f"{item.name:<16} {item.title}" for item in items))
        return 0
    if out is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    return _run(items, _setup(data_set, ratings, quick, seed), out, force)


def _setup(data_set, ratings, quick, seed):
    from flyannot.benchmarks.papers.setup import Setup, default_shared
    from flyannot.errors import InputError

    for path in (data_set, ratings):
        if path is not None and not path.exists():
            raise InputError(f"no such file or folder: {path}", fix="name one that is there")
    return Setup("quick" if quick else "full", Path(), data_set, default_shared(), ratings, seed)


def _run(items, setup, out, force):
    from flyannot.benchmarks.papers.runner import reproduce
    from flyannot.cli.shared.exit_codes import SKIPPED

    outcome = reproduce(items, setup, out, force=force)
    click.echo(
        f"{len(outcome.measured)} measured, {len(outcome.kept)} there already: {outcome.page}", err=True
    )
    for name, why in outcome.failed.items():
        click.echo(f"{name} failed: {why}", err=True)
    return SKIPPED if outcome.failed else 0
