"""Commands of the steps, built from their `Step` declarations."""

import click

from flyannot.base.registry import import_object
from flyannot.cli.shared import options as shared
from flyannot.cli.shared.output import build_execution, log_outcome, write_and_log_fates
from flyannot.pipeline.options import RunOptions, Selection


def build_step_command(step):
    """Build the click command of a `Step`; the inputs of the step are its arguments."""
    if step.command:
        return import_object(step.command)

    def run_step(out, options, selection, run, force, seed=0, page=False, **inputs):
        from flyannot.base.fates import NoUsableImage
        from flyannot.pipeline.engine.fates import fates_path
        from flyannot.pipeline.engine.step import StepRequest
        from flyannot.pipeline.engine.task import run_task

        paths = {name: path if isinstance(path, tuple) else (path,) for name, path in inputs.items()}
        request = StepRequest(inputs=paths, out=out, options=options, selection=selection, seed=seed)
        task = step.build_task(request)
        execution = build_execution(force, run)
        try:
            outcome = run_task(task, execution)
        except NoUsableImage as error:  # the output of before stays, and the table says why
            write_and_log_fates(fates_path(out), error.fates)
            raise
        code = log_outcome(outcome)
        if page:
            log_outcome(run_task(step.build_page_task(request), execution))
        return code

    function = shared.force_option(run_step)
    if step.page:
        page = "Also write NAME.html: every picture with its terms, for a browser."
        function = click.option("--page", is_flag=True, help=page)(function)
    if step.is_seeded:
        function = shared.seed_option(function)
    selection = Selection, step.selects
    function = shared.add_options(options=step.options, selection=selection, run=RunOptions)(function)
    function = shared.out_option(f"The {step.kind or step.makes} file to write.")(function)
    for read in reversed([read for read in step.reads if read.is_argument]):
        n = -1 if read.several else 1
        kind = shared.ModelFile() if read.holds == "model" else shared.IN_FILE
        function = click.argument(read.name, type=kind, nargs=n, required=True)(function)
    text = step.help or f"{step.about}\n\n\b\nExample:\n"
    return click.command(step.name, cls=shared.Command, help=text)(function)
