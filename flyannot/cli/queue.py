"""flyannot queue: what a curator should look at first."""

import click

from flyannot.cli.shared.options import IN_FILE, IN_FOLDER, OUT_FILE, Command, log, say


@click.command("queue", cls=Command)
@click.argument("run", type=IN_FOLDER)
@click.option("-o", "--output", "out", type=OUT_FILE, required=True, help="The table (CSV) to write.")
@click.option(
    "--data-set",
    type=IN_FILE,
    help="The data set folder, for the curated terms. By default the one that the run used.",
)
@click.option("--force", is_flag=True, help="Replace the output if it is there and is no such table.")
def command(run, out, data_set, force):
    """List what a curator should look at first, and curated terms to check.

    RUN is the output folder of `flyannot run`. The rows "look" are terms that nobody has reviewed, three for
    each gene: those whose verdicts should improve the model most, the best genes first. The rows "check" are
    possible errors in the curated terms: given or missing terms that cross-validation contradicts most
    strongly. Without predictions, a row is a gene, each next one the least similar to those before. The
    report has the same lists: order "look at first", show "curated terms to check".

    \b
    Example:
        flyannot queue results -o queue.csv
    """
    from contextlib import ExitStack

    from flyannot.report.queue import queue_in_words, queue_rows, write_queue
    from flyannot.report.run_folder import open_run

    with ExitStack() as stack:
        opened = open_run(stack, run, data_set)
        rows = queue_rows(opened)
        for note in opened.notes:
            log.info("note: %s", note)
    write_queue(out, rows, opened.inputs, force=force)
    say(queue_in_words(rows))
    log.info("wrote %s", out)
