"""Whole runs: all steps one after the other, how far they are, as jobs, and many of them in one table."""

from flyannot.options.registry import Registry

# A function of the path to write, the configuration and the jobs; it returns path -> text of each file.
ENGINES = Registry(
    "engine",
    {name: f"flyannot.steps.runs.workflow:{name}_files" for name in ("snakemake", "slurm")},
)
