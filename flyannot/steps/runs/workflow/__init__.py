"""A run as a workflow: jobs for an engine of others, each of them `flyannot run` of one step, or of a share
of one."""

from flyannot.options.registry import Registry

# A function of the path to write, the configuration and the jobs; it returns path -> text of each file.
ENGINES = Registry(
    "engine",
    {name: f"flyannot.steps.runs.workflow.write:{name}_files" for name in ("snakemake", "slurm")},
)
