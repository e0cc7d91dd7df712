"""flyannot ablate: one table of many configurations."""

import click

from flyannot.cli.shared.options import (
    IN_FILE,
    OUT_FOLDER,
    Command,
    execution_of,
    log,
    over_data_set_option,
    say,
    takes,
)
from flyannot.steps.options import EvaluateOptions, RunOptions


@click.command("ablate", cls=Command)
@click.argument("config", type=IN_FILE)
@over_data_set_option
@click.option("-o", "--output", type=OUT_FOLDER, help="The folder for all results (overrides CONFIG).")
@takes(options=(EvaluateOptions, ["nested"]), run=RunOptions)
def command(config, data_set, output, options, run):
    """Evaluate many configurations, and print one table of their scores.

    CONFIG is a TOML file: data-set, output, seed, and a list of rows, each a configuration of `flyannot run`
    and what changes in it, or the raw pixels. What is up to date is skipped, and what rows have in
    common is made once. Any two rows are compared by `flyannot compare`, from the files that the table names.

    \b
    Example:
        flyannot ablate configs/ablation.toml --data-set wu2016 --output results
    """
    from flyannot.scores.group_outcomes import read_scores
    from flyannot.scores.table import format_ablation
    from flyannot.steps.engine.task import run_task
    from flyannot.steps.runs.ablation import read_ablation

    execution, evaluated = execution_of(run=run), []
    for row in read_ablation(config, data_set=data_set, output=output, nested=options.nested):
        log.info("== %s", row.name)
        for task in row.tasks:
            run_task(task(), execution)
        evaluated.append((row.name, read_scores(row.scores), row.scores))
    say(format_ablation(evaluated, nested=options.nested))
