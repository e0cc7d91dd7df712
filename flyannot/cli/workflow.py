"""flyannot workflow: a run as jobs, for many processors or machines."""

import click

from flyannot.cli.shared.options import (
    COUNT,
    IN_FILE,
    OUT_FILE,
    Command,
    force_option,
    over_data_set_option,
    settings_option,
)
from flyannot.cli.shared.output import log


@click.command("workflow", cls=Command)
@click.argument("config", type=IN_FILE)
@click.option("-o", "--output", "out", type=OUT_FILE, required=True, help="The Snakefile to write.")
@click.option(
    "--parts",
    type=COUNT,
    help="How many jobs share the parts of extract, pool and annotate.  [default: one for 1,000 images]",
)
@over_data_set_option
@settings_option
@force_option
def command(config, out, parts, data_set, settings, force):
    """Write `flyannot run CONFIG` as a workflow of Snakemake, for one machine or for SLURM.

    Beside the Snakefile, profiles/laptop and profiles/slurm say where its jobs run; [run] jobs sets their
    threads. All options go into run.toml in the output folder, and every job is `flyannot run` of one step of
    it, or of some parts of a step: the files are the same as from `flyannot run`, bit for bit.

    \b
    Example:
        flyannot workflow configs/demo.toml -o workflow/Snakefile
    """
    from flyannot.pipeline.runs.configuration import read_configuration
    from flyannot.pipeline.runs.run import check_run, steps_left_out
    from flyannot.pipeline.runs.workflow import write_workflow

    configuration = read_configuration(config, data_set=data_set, settings=settings)
    check_run(configuration)
    for path in write_workflow(configuration, out, n_jobs=parts, force=force):
        log.info("wrote %s", path)
    log.info(
        "start it with: snakemake --snakefile %s --profile %s", out, out.with_name("profiles") / "laptop"
    )
    if left_out := steps_left_out(configuration):
        log.info("note: %s", left_out)
