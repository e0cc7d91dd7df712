"""flyannot run: the whole chain, from a configuration file."""

from pathlib import Path

import click

from flyannot.cli.shared.options import IN_FILE, OUT_FOLDER, Command, execution_of, finish, log
from flyannot.errors import InputError


@click.command("run", cls=Command)
@click.argument("config", type=IN_FILE, required=False)
@click.option(
    "--demo",
    is_flag=True,
    help="The configuration that comes with flyannot: synthetic embryos, into demo-output.",
)
@click.option(
    "--data-set", type=click.Path(file_okay=False, path_type=Path),
    help="The data set folder, over the file's.",
)  # fmt: skip
@click.option("-o", "--output", type=OUT_FOLDER, help="The folder of all results, over the file's.")
@click.option(
    "--set", "settings", multiple=True, metavar="TABLE.OPTION=VALUE", help="Override one value (repeatable)."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done, and why.")
def command(config, demo, data_set, output, settings, dry_run):
    """Run the whole chain: extract, learn-dict, pool, train, annotate, evaluate, report.

    CONFIG is a TOML file: data-set, output, seed, and tables of options: extract, learn-dict, pool, classify
    (of train and evaluate), annotate, evaluate, report; select (stage-range, view) and run (jobs). What is up
    to date is skipped; every file knows what it was made from. Values given by --set come before
    FLYANNOT_TABLE_OPTION in the environment, and these before the file.

    \b
    Example:
        flyannot run configs/demo.toml --data-set embryos --output results --dry-run
    """
    from flyannot.report.build import report_task
    from flyannot.runtime.atomic_file import locked_output
    from flyannot.runtime.environment import configurations_folder
    from flyannot.steps.configuration import RECORD, read_configuration
    from flyannot.steps.run import plan_all, steps_of
    from flyannot.steps.run_checks import check_run

    if demo == (config is not None):
        raise InputError(
            "--demo brings its own configuration" if demo else "no configuration is named",
            fix="leave out one of the two"
            if demo
            else "name one: flyannot run CONFIG; or see what a run is: flyannot run --demo",
        )
    if demo:
        config, output = configurations_folder() / "demo.toml", output or Path("demo-output")
        data_set = data_set or output / "embryos"
    configuration = read_configuration(config, data_set=data_set, output=output, settings=settings)
    check_run(configuration)
    steps = steps_of(configuration, report_task)
    if dry_run:
        found = plan_all(steps)
        if found:
            log.info("would make %s: %s; then everything after it", found[1], found[2])
        else:
            log.info("all is up to date")
        return 0
    with locked_output(configuration.output / RECORD):
        return _carry_out(configuration, steps)


def _carry_out(configuration, steps):
    """Make all that is not up to date, and print the scores; the exit code."""
    from flyannot.dataset.folder import read_images
    from flyannot.scores.table import format_table
    from flyannot.steps.configuration import write_record
    from flyannot.steps.evaluate import read_scores
    from flyannot.steps.failures import NAME
    from flyannot.steps.nothing_evaluated import nothing_evaluated
    from flyannot.steps.run import carry_out_all

    write_record(configuration)
    code, n_made, nothing = 0, 0, None
    for step, outcome in carry_out_all(steps, execution_of(run=configuration.options["run"])):
        images = read_images(configuration.data_set) if outcome.failures else ()
        said = finish(outcome, step=step, images=images, table=configuration.output / NAME)
        code, n_made = max(code, said), n_made + outcome.made
        if step == "evaluate":
            result = read_scores(outcome.path)
            nothing = nothing_evaluated(result)
            if outcome.made:
                click.echo(format_table(result, synthetic=result["synthetic"]))
    page = outcome.path
    if n_made:
        log.info("done: open %s in a browser; the scores are in %s", page, page.with_name("scores.json"))
    else:
        log.info("all is up to date: the report is %s", page)
    if nothing:
        raise nothing
    return code
