"""python -m benchmarks: the papers' tables and figures beside ours, and how fast all this is."""

import logging
from pathlib import Path

import click

from benchmarks.items import ITEMS, chosen_items
from benchmarks.page import PAGE
from benchmarks.runner import measure_items
from benchmarks.setup import Setup, data_folder
from benchmarks.tables import report_tables
from flyannot.base.errors import FlyannotError

SOME_FAILED = 3  # the exit code of flyannot's commands that skipped something


def _list_items(ctx, _, asked):
    if asked:
        click.echo("\n".join(f"{name:<16} {item.title}" for name, item in ITEMS.items()))
        ctx.exit()


@click.command("benchmarks", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("items", metavar="[ITEM]...", nargs=-1)
@click.option("--papers", is_flag=True, help="All tables and figures of the papers.")
@click.option("--full", is_flag=True, help="The full sizes, which take hours, instead of minutes.")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    help="Measurements of each comparison.  [default: 1 for a paper's item; else 2, or 3 with --full]",
)
@click.option(
    "--data-set",
    type=click.Path(exists=True, path_type=Path),
    help="Measure on the images of this folder.  [default: flyexpress below FLYANNOT_DATA, else synthetic "
    "embryos]",
)
@click.option(
    "--ratings",
    type=click.Path(exists=True, path_type=Path),
    help="A ratings file: u.data, ratings.dat or ratings.csv of MovieLens, or Netflix's "
    "combined_data_1.txt.  [default: synthetic ratings]",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all random choices."
)
@click.option(
    "-o",
    "--output",
    "out",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder for the records (items/ITEM.json, ITEM.svg) and the page made from them "
    "(index.html, index.md).  What it holds already is not measured again.",
)
@click.option("--force", is_flag=True, help="Measure again what the folder holds.")
@click.option(
    "--list", is_flag=True, is_eager=True, expose_value=False, callback=_list_items, help="Name all items."
)
@click.pass_context
def command(ctx, items, papers, full, repeats, data_set, ratings, seed, out, force):
    """Measure ITEMs and print their tables: without names, our own; with --papers, all of the papers.

    Methods that are compared take turns, each measurement in a process of its own. A reference that is not
    installed is named as absent: SPAMS comes with `pip install 'flyannot[bench]'`, figures with
    `pip install 'flyannot[reproduce]'`.

    \b
    Example:
        python -m benchmarks learn code -o speed
        python -m benchmarks --papers -o papers
    """
    _start_log()
    try:
        setup = Setup("full" if full else "quick", Path(), data_set, data_folder(), ratings, seed, repeats)
        outcomes = _measured(chosen_items(items, papers=papers), setup, out, force)
    except FlyannotError as error:
        failure = click.ClickException(f"{error.message}\nFix: {error.fix}")
        failure.exit_code = error.exit_code
        raise failure from None
    ctx.exit(SOME_FAILED if any(outcome.why_failed for outcome in outcomes) else 0)


def _measured(items, setup, out, force):
    """Measure items, print the tables of each when it is done, and say in the end what became of all."""
    outcomes = []
    for outcome in measure_items(items, setup, out, force=force):
        outcomes.append(outcome)
        text = report_tables(outcome.record) if outcome.record else f"failed: {outcome.why_failed}\n"
        click.echo(f"{outcome.item.name}: {outcome.item.title}\n{text}")
    runnable = [outcome for outcome in outcomes if outcome.record and not outcome.record.finding.why_not]
    counts = {
        "measured": sum(not outcome.kept for outcome in runnable),
        "there already": sum(outcome.kept for outcome in runnable),
        "cannot be run here": sum(outcome.record is not None for outcome in outcomes) - len(runnable),
        "failed": sum(outcome.record is None for outcome in outcomes),
    }
    said = ", ".join(f"{count} {words}" for words, count in counts.items() if count)
    logging.getLogger("flyannot").info("%s%s", said, f": {out / PAGE}" if out else "")
    return outcomes


def _start_log():
    log = logging.getLogger("flyannot")
    if not log.handlers:
        log.addHandler(logging.StreamHandler())
        log.setLevel(logging.INFO)


if __name__ == "__main__":
    command(prog_name="python -m benchmarks")
