"""The commands of the steps, each made from what its `Step` says of itself."""

from collections.abc import Mapping
from functools import partial

import click

from flyannot.cli.shared.options import (
    IN_FILE,
    Command,
    ModelFile,
    execution_of,
    finish,
    force_option,
    out_option,
    seed_option,
    takes,
)
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.options import RunOptions, Selection


class StepCommands(Mapping):
    """Name -> (function that makes the command, what it does) of every step except those listed elsewhere."""

    def __init__(self, listed_elsewhere):
        self._listed_elsewhere = listed_elsewhere

    def __iter__(self):
        return iter(name for name in STEPS if name not in self._listed_elsewhere)

    def __len__(self):
        return len(list(iter(self)))

    def __getitem__(self, name):
        step = STEPS[name]
        return step.command or partial(command_of_step, step), step.about


def command_of_step(step):
    """Make the command of a `Step`: its inputs are arguments."""

    def carried_out(out, options, selection, run, force, seed=0, page=False, **inputs):
        from flyannot.pipeline.engine.step import StepRequest
        from flyannot.pipeline.engine.task import run_task

        paths = {name: path if isinstance(path, tuple) else (path,) for name, path in inputs.items()}
        request = StepRequest(inputs=paths, out=out, options=options, selection=selection, seed=seed)
        task, execution = step.task_of(request), execution_of(force, run)
        code = finish(run_task(task, execution), images=task.images)
        if page:
            finish(run_task(step.page_of(request), execution))
        return code

    function = force_option(carried_out)
    if step.page:
        page = "Also write NAME.html: every picture with its terms, for a browser."
        function = click.option("--page", is_flag=True, help=page)(function)
    if step.is_seeded:
        function = seed_option(function)
    function = takes(options=step.options, selection=(Selection, step.selects), run=RunOptions)(function)
    function = out_option(f"The {step.kind or step.makes} file to write.")(function)
    for read in reversed([read for read in step.reads if read.is_argument]):
        n, kind = -1 if read.several else 1, ModelFile() if read.holds == "model" else IN_FILE
        function = click.argument(read.name, type=kind, nargs=n, required=True)(function)
    return click.command(step.name, cls=Command, help=step.help or f"{step.about}\n\n\b\nExample:\n")(
        function
    )
