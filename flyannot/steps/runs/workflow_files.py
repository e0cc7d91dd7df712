"""A run as a workflow: jobs for an engine of others, each `flyannot run` of one step, or of parts of one."""

import shlex
import sys
from functools import cache
from pathlib import Path

from flyannot.errors import InputError
from flyannot.runtime.atomic_file import write_text
from flyannot.steps.runs import ENGINES
from flyannot.steps.runs.configuration import RECORD, write_record
from flyannot.steps.runs.jobs import jobs_of_run
from flyannot.steps.runs.size import size_of_run

_FOLDER = "workflow"  # in the output folder: what has been done, and what jobs said


def write_workflow(configuration, out, engine, *, n_jobs=None, force=False):
    """Write the workflow that does what `flyannot run` does, and the record of the run, which its jobs read.

    Parameters
    ----------
    configuration : flyannot.steps.runs.configuration.Configuration, checked
    out : Path of the workflow
    engine : one of ENGINES
    n_jobs : as `jobs_of_run` takes it
    force : whether a file that exists is replaced

    Returns
    -------
    jobs : list of Job
    paths : list of Path of the files that were written

    Raises
    ------
    InputError
        If a file exists, the data set is not there, or there are too many parts.
    """
    jobs = jobs_of_run(configuration, size_of_run(configuration), n_jobs)
    files = ENGINES[engine](Path(out), configuration, jobs)
    for path in files:
        if path.exists() and not force:
            raise InputError(f"{path} exists", fix="add --force to replace it, or name another file with -o")
    write_record(configuration)
    for path, text in files.items():
        write_text(path, text)
    return jobs, list(files)


def snakemake_files(out, configuration, jobs):
    """The file of rules, and beside it the profile of SLURM."""
    profile = out.with_name(f"{out.name}.slurm")
    values = _values(out, configuration, jobs) | {"profile": shlex.quote(str(profile))}
    return {out: _render("snakemake.txt", values), profile / "config.yaml": _render("profile.txt", values)}


def slurm_files(out, configuration, jobs):
    """The script that submits all jobs."""
    return {out: _render("slurm.txt", _values(out, configuration, jobs))}


def _values(out, configuration, jobs):
    folder = configuration.output.absolute()
    return {
        "rules": list(zip(jobs, (_needed(job, before) for job, before in zip(jobs, [None, *jobs])))),
        "run": shlex.join([sys.executable, "-m", "flyannot", "run", RECORD]),  # in the output folder
        "output": str(folder),
        "record": shlex.quote(str(folder / RECORD)),
        "report": str(folder / "report.html"),
        "file": shlex.quote(str(out)),
        "folder": _FOLDER,
        "words": _words,
        "done": _done,
    }


def _words(job, number, count):
    """What follows `flyannot run CONFIG` in a job."""
    step = f" --step {job.step}" if job.step else ""
    return step + (f" --part {number}/{count}" if job.n_jobs else "")


def _done(job, number):
    """The file by which Snakemake knows that a job has ended; ours are too good to be removed by it."""
    part = f".{number}-of-{job.n_jobs}" if job.n_jobs else ""
    return f"{_FOLDER}/{job.step}{part}.done"


def _needed(job, before):
    """What a rule has as its input, as Python."""
    needed = []
    if before is not None and before.n_jobs:
        needed.append(f"expand({_done(before, '{i}')!r}, i=range(1, {before.n_jobs + 1}))")
    elif before is not None:
        needed.append(repr(_done(before, "")))
    if job.table is not None:
        needed.append(repr(str(job.table.absolute()).replace("{", "{{").replace("}", "}}")))
    return needed


def _render(name, values):
    return _environment().get_template(name).render(values)


@cache
def _environment():
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("flyannot.steps.runs"),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "python": repr,
        "shell": shlex.quote,
        "on_one_line": lambda text: " ".join(text.splitlines()),
    }
    return environment
