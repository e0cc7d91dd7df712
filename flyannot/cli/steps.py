"""The commands of the steps, each made from what its `Step` says of itself."""

import click

from flyannot.base.registry import import_object
from flyannot.cli.shared.options import (
    IN_FILE,
    Command,
    ModelFile,
    force_option,
    out_option,
    seed_option,
    takes,
)
from flyannot.cli.shared.output import execution_of, finish
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.options import RunOptions, Selection


def command_of_step(name):
    """Make the command of the `Step` of that name: its inputs are arguments."""
    step = STEPS[name]
    if step.command:
        return import_object(step.command)

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
