"""flyannot ablate: one table of many configurations."""

import json
import shlex

import click

from flyannot.cli.shared.options import IN_FILE, OUT_FOLDER, Command, log


@click.command("ablate", cls=Command)
@click.argument("config", type=IN_FILE)
@click.option("--data-set", type=click.Path(file_okay=False), help="The data set folder, over the file's.")
@click.option("-o", "--output", type=OUT_FOLDER, help="The folder of all results, over the file's.")
@click.option(
    "--inner", is_flag=True,
    help="Judge within the training genes of each fold: the scores to choose options by.",
)  # fmt: skip
def command(config, data_set, output, inner):
    """Evaluate many configurations, and print one table of their scores.

    CONFIG is a TOML file: data-set, output, seed, and a list of rows, each a configuration of `flyannot run`
    and what changes in it, or the raw pixels. What is up to date is skipped, and what rows have in
    common is made once. Any two rows are compared by `flyannot compare`, from the files that the table names.

    \b
    Example:
        flyannot ablate configs/ablation.toml --data-set wu2016 --output results
    """
    from pathlib import Path

    from flyannot.cli.run import carry_out
    from flyannot.scores.table import format_ablation
    from flyannot.steps.ablation import read_ablation

    rows = read_ablation(config, data_set=data_set and Path(data_set), output=output, inner=inner)
    found = []
    for row in rows:
        log.info("== %s", row.name)
        for one in row.commands:
            one.options.get("output", row.scores).parent.mkdir(parents=True, exist_ok=True)
            log.info("[%s] %s", one.step, shlex.join(str(word) for word in one.arguments))
            carry_out(config, one)
        found.append((row.name, json.loads(row.scores.read_text()), row.scores))
    click.echo(format_ablation(found, inner=inner))
