"""What a command prints, and how its steps are carried out."""

import json

import click

from flyannot.base.text import pluralise, printable_text
from flyannot.cli.shared.messages import Progress, log


def say(text, *, head=""):
    """Print the result of a command on stdout; `head` has colours."""
    click.echo(head + printable_text(text))


def say_json(value):
    """Print the result of a command on stdout, as JSON."""
    say(json.dumps(value, indent=1, ensure_ascii=False))


def execution_of(force=False, run=None):
    """Return the `Execution` of a step, by a `RunOptions`; its workers end with the command."""
    from flyannot.jobs.executor import Executor
    from flyannot.jobs.resources import available_cpus
    from flyannot.pipeline.engine.task import Execution
    from flyannot.pipeline.options import RunOptions

    run = run or RunOptions(jobs=1)
    workers = Executor(run.jobs or available_cpus(), run.scheduler)
    click.get_current_context().call_on_close(workers.close)
    return Execution(workers, force, Progress())


def finish(outcome, *, step=None, images=(), table=None):
    """Print what a step did; list what it skipped; return the exit code.

    Parameters
    ----------
    outcome : Outcome
    step : its name; by default that of the command
    images : as of `flyannot.pipeline.engine.failures.list_failures`
    table : Path of the list; by default that beside the output
    """
    from flyannot.cli.shared.exit_codes import SKIPPED
    from flyannot.pipeline.engine.failures import NAME, list_failures

    state = "wrote" if outcome.made else "up to date:"
    log.info(
        "%s %s%s", state, outcome.path, f"\n{outcome.summary}" if outcome.made and outcome.summary else ""
    )
    table = table or outcome.path.with_name(NAME)
    list_failures(table, step or click.get_current_context().info_name, outcome, images)
    if not outcome.failures:
        return 0
    skipped = pluralise(len(outcome.failures), "image was", "images were")
    log.warning("%s skipped; the reasons are in %s", skipped, table)
    return SKIPPED
