"""Results of commands: printing them, and running the tasks that make them."""

import json

import click

from flyannot.base.text import escape_unprintable, pluralise
from flyannot.cli.shared.messages import Progress, log


def print_text(text, *, head=""):
    """Print a result on stdout; `head` comes first and may have colours."""
    click.echo(head + escape_unprintable(text))


def print_json(value):
    """Print a result on stdout as JSON."""
    print_text(json.dumps(value, indent=1, ensure_ascii=False))


def build_execution(force=False, run=None):
    """Build the `Execution` that runs a step; its worker processes end with the command.

    `force` is the flag --force. `run` is a RunOptions with the number of jobs; by default one process does
    all the work.
    """
    from flyannot.jobs.executor import Executor
    from flyannot.jobs.resources import available_cpus
    from flyannot.pipeline.engine.task import Execution
    from flyannot.pipeline.options import RunOptions

    run = run or RunOptions(jobs=1)
    workers = Executor(run.jobs or available_cpus(), run.scheduler)
    click.get_current_context().call_on_close(workers.close)
    return Execution(workers, force, Progress())


def log_outcome(outcome, *, step=None, images=(), table=None):
    """Log what a step did, write the table of skipped images, and return the exit code.

    Parameters
    ----------
    outcome : Outcome of the step
    step : str, name of the step; by default the name of the command
    images : the processed images, as `record_failures` takes them
    table : Path of the table of skipped images; by default failures.csv beside the output
    """
    from flyannot.cli.shared.exit_codes import SKIPPED
    from flyannot.pipeline.engine.failures import NAME, record_failures

    state = "wrote" if outcome.made else "up to date:"
    log.info(
        "%s %s%s", state, outcome.path, f"\n{outcome.summary}" if outcome.made and outcome.summary else ""
    )
    table = table or outcome.path.with_name(NAME)
    record_failures(table, step or click.get_current_context().info_name, outcome, images)
    if not outcome.failures:
        return 0
    skipped = pluralise(len(outcome.failures), "image was", "images were")
    log.warning("%s skipped; the reasons are in %s", skipped, table)
    return SKIPPED
