"""flyannot status: how far a run is."""

import json
from dataclasses import asdict

import click

from flyannot.cli.shared.options import IN_FOLDER, Command, json_option
from flyannot.cli.shared.output import say

_N_NAMED = 5  # images that were skipped; --json has them all


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
        listed = [asdict(step) for step in steps]
        for step in listed:
            step["skipped"] = [{"image": image, "reason": reason} for image, reason in step["skipped"]]
        say(json.dumps({"folder": str(run), "steps": listed}, indent=1, ensure_ascii=False))
        return
    width = max(len(step.step) for step in steps)
    for step in steps:
        say(f"{step.step:<{width}}  {step.state:<11}  {step.why}".rstrip())
    for step in steps:
        for image, reason in step.skipped[:_N_NAMED]:
            say(f"{step.step}: skipped {image}: {reason}")
        if (n_more := len(step.skipped) - _N_NAMED) > 0:
            say(f"{step.step}: {n_more:,} more: add --json, or see failures.csv")
