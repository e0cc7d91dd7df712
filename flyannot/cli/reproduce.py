"""flyannot reproduce: the papers' tables and figures beside ours."""

import click

from flyannot.cli.shared.benchmark_options import benchmark_options, setup_of
from flyannot.cli.shared.options import OUT_FOLDER, Command, log


@click.command("reproduce", cls=Command)
@benchmark_options(repeats="1")
@click.option("-o", "--output", "out", type=OUT_FOLDER, required=True, help="The folder to write.")
def command(items, out, force, **given):
    """Measure the tables and figures of the papers, and write a page that has theirs beside ours.

    ITEM is any name of --list; by default all that belong to a paper. What is finished is not measured
    again. Results are in OUTPUT/items (JSON, CSV, SVG, PNG); the page is OUTPUT/index.html, and
    OUTPUT/index.md.

    \b
    Example:
        flyannot reproduce scc-table-1 -o papers
    """
    from flyannot.benchmarks.items import chosen_items
    from flyannot.benchmarks.runner import reproduce
    from flyannot.cli.shared.exit_codes import SKIPPED

    outcomes = reproduce(
        chosen_items(items, papers=True), setup_of(**given, repeats_unless_given=1), out, force=force
    )
    failed = [outcome for outcome in outcomes if outcome.why_failed]
    is_kept = [one.kept for one in outcomes if one.record and not one.record.finding.why_not]
    n_kept, n_absent = sum(is_kept), len(outcomes) - len(failed) - len(is_kept)
    not_here = f", {n_absent} cannot be run here" if n_absent else ""
    log.info(
        "%d measured, %d there already%s: %s", len(is_kept) - n_kept, n_kept, not_here, out / "index.html"
    )
    for outcome in failed:
        log.warning("%s failed: %s", outcome.item.name, outcome.why_failed)
    return SKIPPED if failed else 0
