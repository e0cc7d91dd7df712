"""Workflows for Snakemake: a Snakefile, and profiles for one machine and for SLURM.

The files in `templates` are filled in by the configuration. Every job is `flyannot run` of one step, or of a
share of its parts.
"""

import math
import shlex
import sys
from contextlib import ExitStack
from importlib.resources import files

from flyannot.dataset import paths
from flyannot.files.atomic_file import file_has_text, lock_output, write_text
from flyannot.files.digest import json_digest
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.step import ANNOTATIONS, IMAGES
from flyannot.pipeline.engine.task import locked_output
from flyannot.pipeline.runs.configuration import RECORD, write_record

THREADS = 4  # threads of a job whose step can use several, unless the configuration has [run] jobs
IMAGES_PER_JOB = 1000  # approximately, if --parts is not given
_MOST_JOBS = 1000
_TABLES = {IMAGES: paths.IMAGES, ANNOTATIONS: paths.ANNOTATIONS}
_PROFILES = ("laptop", "slurm")


def write_workflow(plan, out, *, n_jobs=None, force=False):
    """Write a workflow that does the same as `flyannot run`, and the record of the run, which its jobs read.

    Parameters
    ----------
    plan : RunPlan
    out : Path of the Snakefile; the profiles are written beside it, into profiles/
    n_jobs : int, number of jobs that share the parts of a step; by default one for every 1,000 images
    force : whether existing files are replaced

    Returns
    -------
    paths : list of the Paths of the written files

    Raises
    ------
    InputError
        If a file exists.
    """
    configuration = plan.given
    default_jobs = min(max(1, math.ceil(len(plan.images) / IMAGES_PER_JOB)), _MOST_JOBS)
    values = {
        # -P: Python must not import modules from the output folder, where jobs run.
        "RUN": shlex.join([sys.executable, "-P", "-m", "flyannot", "run", RECORD]),
        "THREADS": configuration.options["run"].jobs or THREADS,
        "STEPS": _describe_steps(plan, n_jobs or default_jobs),
        "FOLDER": str(configuration.output.absolute()),
    }
    text = _template("Snakefile")
    for name, value in values.items():
        text = text.replace(f"@{name}@", repr(value))
    profiles = out.with_name("profiles")
    texts = {out: text} | {profiles / name / "config.yaml": _template(f"{name}.yaml") for name in _PROFILES}
    with ExitStack() as held:
        for path, content in texts.items():
            held.enter_context(locked_output(path, force=force or file_has_text(path, content)))
        held.enter_context(lock_output(configuration.output / RECORD))
        write_record(configuration)
        for path, content in texts.items():
            write_text(path, content)
    return list(texts)


def _template(name):
    return files("flyannot.pipeline.runs").joinpath("templates", name).read_text(encoding="utf-8")


def _describe_steps(plan, n_jobs):
    """Return a dict for the Snakefile: step name -> its facts; the last step is made by `flyannot run`."""
    described = {}
    for name, request in list(plan.requests.items())[:-1]:
        step = STEPS[name]
        table = next((_TABLES[read.holds] for read in step.reads if read.holds in _TABLES), None)
        table = table and paths.find_table(plan.given.data_set, table)
        described[name] = {
            "jobs": n_jobs if step.in_parts else 1,
            "has_threads": step.has_workers,
            "table": str(table.absolute()) if table and table.is_file() else None,
            "options": json_digest([request.seed, repr(request.selection), repr(request.options)])[:12],
        }
    return described
