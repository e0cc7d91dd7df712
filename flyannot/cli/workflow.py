"""flyannot workflow: a run as jobs, for an engine that has many machines."""

import click

from flyannot.cli.shared.options import (
    COUNT,
    IN_FILE,
    OUT_FILE,
    Command,
    force_option,
    log,
    over_data_set_option,
    settings_option,
)
from flyannot.steps.runs import ENGINES


@click.command("workflow", cls=Command)
@click.argument("config", type=IN_FILE)
@click.option(
    "--engine",
    type=click.Choice(list(ENGINES)),
    required=True,
    help="snakemake: rules, and beside them a profile for SLURM. slurm: a script that submits all jobs.",
)
@click.option("-o", "--output", "out", type=OUT_FILE, required=True, help="The workflow to write.")
@click.option(
    "--parts",
    type=COUNT,
    help="How many jobs share the parts of extract, pool and annotate.  [default: as many as take "
    "half an hour each]",
)
@over_data_set_option
@settings_option
@force_option
def command(config, engine, out, parts, data_set, settings, force):
    """Write `flyannot run CONFIG` as jobs for Snakemake or SLURM.

    The jobs ask for memory and time by the size of the data set; [run] jobs sets their threads. All options
    go into run.toml in the output folder, and every job is `flyannot run` of one step of it, or of some
    parts of a step: the files are the same as from `flyannot run`, bit for bit.

    \b
    Example:
        flyannot workflow configs/demo.toml --engine snakemake -o Snakefile
    """
    from flyannot.steps.runs.configuration import read_configuration
    from flyannot.steps.runs.costs import require_data_set
    from flyannot.steps.runs.run import check_run, steps_left_out
    from flyannot.steps.runs.workflow import write_workflow

    configuration = read_configuration(config, data_set=data_set, settings=settings)
    require_data_set(configuration)
    check_run(configuration)
    jobs, paths = write_workflow(configuration, out, engine, n_jobs=parts, force=force)
    log.info("%21s %6s %8s %9s %10s %10s", "job", "jobs", "threads", "memory", "expected", "at most")
    for job in jobs:
        log.info(
            "%21s %6d %8d %6d MB %6.0f min %6d min",
            job.name,
            max(1, job.n_jobs),
            job.threads,
            job.memory_mb,
            job.expected_minutes,
            job.minutes,
        )
    for path in paths:
        log.info("wrote %s", path)
    if left_out := steps_left_out(configuration):
        log.info("note: %s", left_out)
