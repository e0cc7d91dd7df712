"""flyannot run: the whole chain, from a configuration file."""

from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path

import click
from click.core import ParameterSource

from flyannot.base.errors import InputError
from flyannot.cli.shared.options import (
    IN_FILE,
    Command,
    MoreOption,
    made_data_set_option,
    out_folder_option,
    settings_option,
    takes,
)
from flyannot.cli.shared.output import execution_of, finish, log, say
from flyannot.pipeline.options import RunOptions

_PATIENCE_S = 60  # jobs that begin at the same time record the same run one after the other


class ShareOfParts(click.ParamType):
    """The I-th of N equal shares, as in 2/8."""

    name = "I/N"

    def convert(self, value, param, ctx):
        number, _, count = str(value).partition("/")
        if number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count):
            return int(number), int(count)
        return self.fail(f'"{value}" is not one share of several, such as 2/8', param, ctx)


@click.command("run", cls=Command)
@click.argument("config", type=IN_FILE, required=False)
@click.option(
    "--demo",
    is_flag=True,
    help="Use the configuration of the demo: synthetic embryos, results in demo-output.",
)
@made_data_set_option
@out_folder_option("The folder for all results (overrides CONFIG).", required=False)
@settings_option
@click.option(
    "--corrections",
    type=IN_FILE,
    multiple=True,
    help="The corrections.csv of a curator (repeatable; overrides CONFIG).",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done, and why.")
@click.option(
    "--step", cls=MoreOption, metavar="STEP", help="Only this step, from the files of earlier ones."
)
@click.option(
    "--part",
    type=ShareOfParts(),
    cls=MoreOption,
    help="With --step extract, pool or annotate: make only this share of the parts of its output, such as "
    "2/8. The same step without --part joins all parts.",
)
@takes(run=RunOptions)
def command(config, demo, data_set, folder, settings, corrections, dry_run, step, part, run):
    """Run all steps: extract, learn-dict, pool, train, evaluate, annotate, report.

    CONFIG is a TOML file with data-set, output, seed, a table of options for each step, and the tables
    select (stage-range, view) and run (jobs). Files that are up to date are kept. --set overrides
    FLYANNOT_TABLE_OPTION in the environment, which overrides CONFIG. Without CONFIG, give --data-set and
    --output; all else is the default.

    Without annotations.csv, train and evaluate are left out: give terms on the page, then add --corrections.
    For stage range 4-6 the supplied model blastoderm suggests terms; for the others annotate is left out.
    Without images.csv every picture is a gene of its own; give the stage range of all with
    --set select.stage-range=4-6.

    \b
    Example:
        flyannot run configs/demo.toml --data-set embryos --output results --dry-run
    """
    from flyannot.files.atomic_file import locked_output
    from flyannot.jobs.environment import configurations_folder
    from flyannot.pipeline.engine.task import make_part_of_task
    from flyannot.pipeline.runs.configuration import (
        RECORD,
        read_configuration,
        write_record,
    )
    from flyannot.pipeline.runs.run import check_run, first_outdated_step, step_named, steps_of, task_in_run

    if part and not step:
        raise InputError("--part is of one step", fix="add --step extract, pool or annotate")
    if demo and config:
        raise InputError("--demo brings its own configuration", fix="leave out one of the two")
    if not (demo or config or data_set and folder):
        raise InputError(
            "no configuration is named",
            fix="name one: flyannot run CONFIG; or only folders, for the defaults: flyannot run --data-set "
            "FOLDER --output FOLDER; or see what a run is: flyannot run --demo",
        )
    if demo:
        config = configurations_folder() / "demo.toml"
        folder = folder or Path("demo-output")
        data_set = data_set or folder / "embryos"
    configuration = read_configuration(
        config, data_set=data_set, output=folder, settings=settings, corrections=corrections
    )
    check_run(configuration)
    steps = [step_named(configuration, step)] if step else steps_of(configuration)
    execution = execution_of(run=_given(run, configuration.options["run"]))
    if dry_run:
        planned = first_outdated_step(steps, configuration)
        if planned:
            log.info("would make %s: %s%s", *planned[1:], "" if step else "; then everything after it")
        else:
            log.info("all is up to date")
        _log_steps_left_out(configuration)
        return 0
    if part:
        made = make_part_of_task(task_in_run(steps[0], configuration), part, execution)
        log.info("part %d/%d of %s is %s", *part, step, "made" if made else "up to date")
        return 0
    with ExitStack() as held:
        patience = {"patience_s": _PATIENCE_S} if step else {}
        held.enter_context(locked_output(configuration.output / RECORD, **patience))
        write_record(configuration)
        if step:  # steps of one run may run side by side, on several machines; whole runs may not
            held.close()
        code = _make_steps(configuration, steps, execution)
        _log_steps_left_out(configuration)
        return code


def _log_steps_left_out(configuration):
    from flyannot.pipeline.runs.run import steps_left_out

    if sentence := steps_left_out(configuration):
        log.info("note: %s", sentence)


def _make_steps(configuration, steps, execution):
    """Make the outputs that are not up to date, and print the scores; return the exit code."""
    from flyannot.pipeline.engine.failures import NAME
    from flyannot.pipeline.evaluation import nothing_evaluated
    from flyannot.pipeline.runs.run import run_all_steps
    from flyannot.terms.group_outcomes import read_scores
    from flyannot.terms.table import format_scores

    code, n_made, nothing = 0, 0, None
    for step, task, outcome in run_all_steps(steps, configuration, execution):
        table = configuration.output / NAME
        code = max(code, finish(outcome, step=step.name, images=task.images, table=table))
        n_made += outcome.made
        if step.name == "evaluate":
            result = read_scores(outcome.path)
            nothing = nothing_evaluated(result)
            if outcome.made:
                say(format_scores(result, synthetic=result["synthetic"]))
        if step.name == "report":
            end = "done: open %s in a browser" if n_made else "all is up to date: the report is %s"
            log.info(end, outcome.path)
    if nothing and configuration.options["evaluate"].folds:
        raise nothing
    if nothing:  # in as few folds as there can be
        log.warning("warning: %s", nothing.message)
    return code


def _given(run, configured):
    """Return the options of [run]: values of the command line override those of the configuration."""
    source = click.get_current_context().get_parameter_source
    typed = [option.name for option in fields(run) if source(option.name) is ParameterSource.COMMANDLINE]
    return replace(configured, **{name: getattr(run, name) for name in typed})
