"""The command flyannot workflow, which writes a run as a Snakemake workflow."""

from shlex import quote

import click

from flyannot.cli.shared import options as shared
from flyannot.cli.shared.output import log


@click.command("workflow", cls=shared.Command)
@click.argument("config", type=shared.IN_FILE)
@shared.out_option("The Snakefile to write.")
@click.option(
    "--parts",
    type=shared.COUNT,
    help="Number of jobs that share the images in extract, pool and annotate.  "
    "[default: one per 1,000 images]",
)
@shared.input_data_set_option
@shared.settings_option
@shared.force_option
def command(config, out, parts, data_set, settings, force):
    """Write a run as a Snakemake workflow, for one machine or for SLURM.

    Two profiles are written beside the Snakefile: profiles/laptop for one machine, and profiles/slurm for a
    cluster. The option jobs in the table [run] sets the threads of a job. All options are stored in run.toml
    in the output folder. Every job runs one step, or some parts of a step. The files are the same as from
    `flyannot run`, bit for bit.

    \b
    Example:
        flyannot workflow configs/demo.toml --data-set embryos -o workflow/Snakefile
    """
    from flyannot.pipeline.runs.configuration import read_configuration
    from flyannot.pipeline.runs.plan import plan_run
    from flyannot.pipeline.runs.workflow import write_workflow

    plan = plan_run(read_configuration(config, data_set=data_set, settings=settings))
    for path in write_workflow(plan, out, n_jobs=parts, force=force):
        log.info("wrote %s", path)
    profile = quote(str(out.with_name("profiles") / "laptop"))
    log.info("start it: snakemake --snakefile %s --profile %s", quote(str(out)), profile)
    if plan.omitted:
        log.info("note: %s", plan.omitted)
