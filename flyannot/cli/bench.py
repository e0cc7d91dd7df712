"""flyannot bench: how fast are we beside reference implementations?"""

import click

from flyannot.cli.shared.benchmark_options import benchmark_options, setup_of
from flyannot.cli.shared.options import OUT_FOLDER, Command


@click.command("bench", cls=Command)
@benchmark_options(repeats="2; 3 with --full")
@click.option("-o", "--output", "out", type=OUT_FOLDER, help="A folder that keeps what is finished.")
def command(items, out, force, **given):
    """Measure flyannot beside reference implementations, and print tables.

    ITEM is any name of --list; by default all that belong to no paper. Methods take turns, each measurement
    in a process of its own; medians over the repeats and ratios within them are printed. A reference
    that is not installed is named as absent: SPAMS comes with `pip install 'flyannot[bench]'`.

    \b
    Example:
        flyannot bench learn code -o speed
    """
    from flyannot.benchmarks.items import chosen_items
    from flyannot.benchmarks.runner import measure_items
    from flyannot.benchmarks.tables import report_tables
    from flyannot.cli.shared.exit_codes import SKIPPED

    setup = setup_of(**given, repeats_unless_given=2 if given["quick"] else 3)
    failed = 0
    for outcome in measure_items(chosen_items(items, papers=False), setup, out, force=force):
        failed += not outcome.record
        text = report_tables(outcome.record) if outcome.record else f"failed: {outcome.why_failed}\n"
        click.echo(f"{outcome.item.name}: {outcome.item.title}\n{text}")
    return SKIPPED if failed else 0
