"""The command flyannot status, which prints the status of a run."""

from dataclasses import asdict

import click

from flyannot.cli.shared.options import IN_FOLDER, Command, json_option
from flyannot.cli.shared.output import log, print_json, print_text


@click.command("status", cls=Command)
@click.argument("run", metavar="FOLDER", type=IN_FOLDER)
@json_option
def command(run, as_json):
    """Print which steps of a run are done, outdated or begun, and why.

    FOLDER is the output folder of `flyannot run` or of a workflow. You can ask at any time and from any
    machine that can read the folder; nothing is locked or written. "begun" means that some parts of the
    output exist: a run is writing the others, or was interrupted, and the next one continues from there.

    Pictures are not read: they count as changed if their number or the times of their last changes say so.
    `flyannot run --dry-run` compares their contents.

    \b
    Example:
        flyannot status results
    """
    from flyannot.pipeline.runs.status import read_run_status

    steps = read_run_status(run)
    if as_json:
        print_json({"folder": str(run), "steps": [asdict(step) for step in steps]})
        return
    width = max(len(step.step) for step in steps)
    for step in steps:
        print_text(f"{step.step:<{width}}  {step.state:<8}  {step.why}".rstrip())
    log.info("pictures not read: judged by their number and their times of change")
