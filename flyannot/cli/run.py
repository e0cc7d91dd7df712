"""The command flyannot run, which runs all steps."""

from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path

import click
from click.core import ParameterSource

from flyannot.base.errors import InputError
from flyannot.cli.shared import options as shared
from flyannot.cli.shared.output import build_execution, log, log_outcome, print_text, write_and_log_fates
from flyannot.pipeline.options import RunOptions, Selection

_PATIENCE_S = 60  # jobs that start together write the same record one after the other


class ShareType(click.ParamType):
    """An option whose value is the I-th of N equal shares, such as 2/8."""

    name = "I/N"

    def convert(self, value, param, ctx):
        number, _, count = str(value).partition("/")
        if number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count):
            return int(number), int(count)
        return self.fail(f'"{value}" is not one share of several, such as 2/8', param, ctx)


@click.command("run", cls=shared.Command)
@click.argument("config", type=shared.IN_FILE, required=False)
@click.option("--demo", is_flag=True, help="Run the demo: synthetic embryos, results in demo-output.")
@shared.output_data_set_option
@shared.out_folder_option("The folder for all results (overrides CONFIG).", required=False)
@shared.settings_option
@click.option(
    "--corrections",
    type=shared.IN_FILE,
    multiple=True,
    help="The corrections.csv of a curator (repeatable, overrides CONFIG).",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be done, and why.")
@click.option("--step", metavar="STEP", help="Run only this step, from the files of earlier steps.")
@click.option(
    "--part",
    type=ShareType(),
    help="With --step extract, pool or annotate: process only this share of the images, such as 2/8. Then "
    "run the step without --part to join all parts.",
)
@shared.add_options(selection=(Selection, ["columns"]), run=RunOptions)
def command(config, demo, data_set, folder, settings, corrections, dry_run, step, part, selection, run):
    """Run all steps: extract, learn-dict, pool, train, evaluate, annotate, report.

    CONFIG is a TOML file with data-set, output and seed, a table of options for each step, and the tables
    select (stage-range, view) and run (jobs). Files that are up to date are kept. --set overrides CONFIG.
    Without CONFIG, give --data-set and --output; the other options then have their defaults.

    If the data set has no annotations.csv, train and evaluate are left out. For stage range 4-6, the supplied
    model blastoderm suggests terms. Give or correct terms on the page, and run again with --corrections,
    which adapts that model. If the data set has no images.csv, every picture counts as a gene of its own;
    give their stage range with --set select.stage-range=4-6.

    \b
    Example:
        flyannot run configs/demo.toml --data-set embryos --output results --dry-run
    """
    from flyannot.files.atomic_file import lock_output
    from flyannot.pipeline.engine.task import run_task_share
    from flyannot.pipeline.runs.configuration import RECORD, read_configuration, write_record
    from flyannot.pipeline.runs.learned_tables import copy_tables
    from flyannot.pipeline.runs.plan import plan_run
    from flyannot.pipeline.runs.run import describe_first_outdated

    if part and not step:
        raise InputError("--part needs --step", fix="add --step extract, pool or annotate")
    if demo and config:
        raise InputError("--demo has its own configuration", fix="leave out --demo or the configuration")
    if not (demo or config or data_set and folder):
        raise InputError(
            "no configuration was given",
            fix="flyannot run CONFIG; or, with the default options, flyannot run --data-set FOLDER --output "
            "FOLDER; or try the demo: flyannot run --demo",
        )
    if demo:
        from flyannot.jobs.environment import configurations_folder

        config = configurations_folder() / "demo.toml"
        folder = folder or Path("demo-output")
        data_set = data_set or folder / "embryos"
    if selection.columns:
        settings += ("select.columns=" + ",".join(map("=".join, selection.columns.items())),)
    configuration = read_configuration(
        config, data_set=data_set, output=folder, settings=settings, corrections=corrections
    )
    execution = build_execution(run=_merge_run_options(run, configuration.options["run"]))
    if demo and not _draw_demo(configuration, execution, dry_run):
        return 0
    plan = plan_run(configuration)
    if step:
        plan.require(step)
    if dry_run:
        outdated = describe_first_outdated(plan, [step] if step else plan.requests)
        then = "; then all later outputs" if outdated and not step else ""
        log.info("%s%s", outdated or "everything is up to date", then)
        _log_steps_left_out(plan)
        return 0
    if part:
        made = run_task_share(plan.build_task(step), part, execution)
        log.info("%s part %d/%d of %s", "wrote" if made else "up to date:", *part, step)
        return 0
    with ExitStack() as held:
        patience = {"patience_s": _PATIENCE_S} if step else {}
        held.enter_context(lock_output(configuration.output / RECORD, **patience))
        write_record(configuration)
        copy_tables(configuration)
        if step:  # steps of one run may run at the same time on several machines; whole runs may not
            held.close()
        code = _run_steps(plan, step, execution)
        _log_steps_left_out(plan.settled())
        return code


def _draw_demo(configuration, execution, dry_run):
    """Draw the embryos of the demo if they are outdated; return whether the run can go on.

    With `dry_run`, only log that they would be drawn.
    """
    from flyannot.pipeline.commands.synthesize import DEMO, SynthesizeTask
    from flyannot.pipeline.engine.task import describe_plan, run_task
    from flyannot.pipeline.runs.run import log_begin

    task = SynthesizeTask(configuration.data_set, DEMO, configuration.seed)
    if not dry_run:
        log_begin("synthesize")
        log_outcome(run_task(task, replace(execution, force=True)))
        return True
    if why := task.stale_reason():
        log.info("%s; then all later outputs", describe_plan(task, why, "would write"))
    return not why


def _log_steps_left_out(plan):
    """Log which steps the RunPlan omits, and why."""
    if plan.omitted:
        log.info("note: %s", plan.omitted)


def _run_steps(plan, step, execution):
    """Run the steps of a run in order, print new scores, and return the exit code.

    Parameters
    ----------
    plan : RunPlan
    step : name of the only step to run; None for all steps
    execution : Execution
    """
    from flyannot.base.fates import NoUsableImage
    from flyannot.pipeline.answers.evaluation import nothing_evaluated_error
    from flyannot.pipeline.engine.fates import NAME
    from flyannot.pipeline.runs.run import run_steps
    from flyannot.terms.group_outcomes import read_scores
    from flyannot.terms.table import format_scores

    code = 0
    n_made = 0
    nothing = None
    told = None
    table = plan.given.output / NAME
    try:
        for name, _, outcome in run_steps(plan, execution, step):
            is_told = name == "extract" and not (outcome.made or step) and "annotate" in plan.requests
            if is_told or outcome.fates == told:  # `annotate` knows all that `extract` knows
                outcome = replace(outcome, fates=())
            told = outcome.fates or told
            code = max(code, log_outcome(outcome, table=table))
            n_made += outcome.made
            if name == "evaluate":
                result = read_scores(outcome.path)
                nothing = nothing_evaluated_error(result)
                if outcome.made:
                    print_text(format_scores(result, synthetic=result["synthetic"]))
            if name == "report":
                end = "done: open %s in a browser" if n_made else "everything is up to date: the report is %s"
                log.info(end, outcome.path)
    except NoUsableImage as error:
        write_and_log_fates(table, error.fates)
        raise
    if nothing and plan.given.options["evaluate"].folds:
        raise nothing
    if nothing:  # flyannot chose the number of folds: there are too few genes
        log.warning("warning: %s", nothing.message)
    return code


def _merge_run_options(run, configured):
    """Override the configured options of the table [run] by options that were typed on the command line.

    Parameters
    ----------
    run : RunOptions from the command line, with defaults for options that were not typed
    configured : RunOptions from the configuration

    Returns
    -------
    RunOptions
    """
    source = click.get_current_context().get_parameter_source
    typed = [option.name for option in fields(run) if source(option.name) is ParameterSource.COMMANDLINE]
    return replace(configured, **{name: getattr(run, name) for name in typed})
