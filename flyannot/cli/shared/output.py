"""Results of commands: printing them, and running the tasks that make them."""

import json

import click

from flyannot.base.text import escape_unprintable
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


def log_outcome(outcome, *, table=None):
    """Log what a step did, and return the exit code. If it lists fates of pictures, write their table.

    outcome : Outcome of the step; table : Path of the table; by default NAME-pictures.csv beside the output
    """
    from flyannot.pipeline.engine.fates import fates_path

    state = "wrote" if outcome.made else "up to date:"
    summary = f"\n{outcome.summary}" if outcome.made and outcome.summary else ""
    log.info("%s %s%s", state, outcome.path, summary)
    table = table or fates_path(outcome.path)
    return write_and_log_fates(table, outcome.fates, outcome.path) if outcome.fates else 0


def write_and_log_fates(table, fates, out=None):
    """Write the table of the fates of pictures, log how many have each fate, and return the exit code.

    table : Path; fates : list of PictureFate; out : Path of the output, if it was made
    """
    from flyannot.cli.shared.exit_codes import SKIPPED
    from flyannot.pipeline.engine.fates import format_counts, write_fates

    write_fates(table, fates, out)
    n_faults = sum(fate.is_fault for fate in fates)
    (log.warning if n_faults else log.info)("%s\ntable: %s", format_counts(fates), table)
    return SKIPPED if n_faults else 0
