"""flyannot status: how far a run is."""

from dataclasses import asdict

import click

from flyannot.cli.shared.options import IN_FOLDER, Command, json_option
from flyannot.cli.shared.output import say, say_json


@click.command("status", cls=Command)
@click.argument("run", metavar="FOLDER", type=IN_FOLDER)
@json_option
def command(run, as_json):
    """Print how far a run is: which steps are done, which are outdated and why.

    FOLDER is the output folder of `flyannot run` or of a workflow. Ask at any time, from any machine that
    sees the folder: nothing is locked or written. "interrupted" means that some parts of a step are there: a
    run that goes on, or the next one, makes the others.

    \b
    Example:
        flyannot status results
    """
    from flyannot.pipeline.runs.status import status_of_run

    steps = status_of_run(run)
    if as_json:
        say_json({"folder": str(run), "steps": [asdict(step) for step in steps]})
        return
    width = max(len(step.step) for step in steps)
    for step in steps:
        say(f"{step.step:<{width}}  {step.state:<11}  {step.why}".rstrip())
