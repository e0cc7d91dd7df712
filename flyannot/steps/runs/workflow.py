"""A run as a workflow of another engine: its jobs, what each asks of a machine, and the files that say so.

Every job is `flyannot run` of one step, or of a share of the parts of one.
"""

import math
import shlex
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from flyannot.errors import InputError
from flyannot.runtime.atomic_file import holds_text, locked_output, write_text
from flyannot.runtime.digest import digest_of_json
from flyannot.steps.engine.parts import IMAGES_PER_PART
from flyannot.steps.engine.step import ANNOTATIONS, IMAGES
from flyannot.steps.engine.task import output_file
from flyannot.steps.runs import ENGINES
from flyannot.steps.runs.configuration import RECORD, write_record
from flyannot.steps.runs.costs import MB_S, START_S, Need, size_of_run
from flyannot.steps.runs.run import steps_of

_FOLDER = "workflow"  # in the output folder: what has been done, and what jobs said
THREADS = 4  # of a job whose step has workers, unless the configuration says how many
_PART_MINUTES = 30  # that a job of many is to take: between 15 and 60, if the estimate is wrong by two
_MOST_JOBS = 1000  # SLURM takes arrays of up to 1,001 by default
_SAFETY = 3  # times as long as estimated, before a job is ended
_MEMORY_SAFETY = 1.3
_LEAST_MINUTES, _MINUTES_STEP, _MB_STEP = 15, 5, 100


@dataclass(frozen=True)
class Job:
    """One job, or an array of jobs, of a workflow.

    step : of `flyannot run --step`; None for the run itself, which makes all that is left
    n_jobs : how many jobs make the parts of the step, each its share; 0 where one job makes all of it
    table : Path of the table of the data set that it reads, or None
    options : a digest of the options and the seed that the step is made with
    expected_minutes : as estimated, of `minutes` that it is given
    """

    name: str
    step: str | None
    n_jobs: int
    threads: int
    memory_mb: int
    minutes: int
    expected_minutes: float
    options: str = ""
    table: str | None = None


def jobs_of_run(configuration, size, n_jobs=None):
    """The Jobs of a run, each of which needs the one before it.

    Parameters
    ----------
    configuration : flyannot.steps.runs.configuration.Configuration
    size : RunSize
    n_jobs : among how many jobs the parts of a step are divided; None for as many as take about half an hour
        each

    Raises
    ------
    InputError
        If there are fewer parts than `n_jobs`.
    """
    n_parts = math.ceil(size.n_all_images / IMAGES_PER_PART)
    if n_jobs and n_jobs > n_parts:
        raise InputError(
            f"{n_jobs:,} parts of {size.n_all_images:,} images: they are worked on {IMAGES_PER_PART} at a "
            f"time, which makes {n_parts:,}",
            fix=f"name --parts {n_parts} at most, or leave it out",
        )
    jobs = []
    *steps, last = steps_of(configuration)
    for step in steps:
        jobs += _jobs_of_step(step, step.cost_of(configuration, size), configuration, size, n_jobs)
    rest = last.cost_of(configuration, size)  # the run itself, which makes all that is left
    return [*jobs, _job(last.name, None, rest, _threads(configuration))]


def _jobs_of_step(step, need, configuration, size, n_jobs):
    parallel = step.has_workers or getattr(configuration.options[step.name], "data_parallel", None)
    threads = _threads(configuration) if parallel else 1
    tables = [configuration.options[name] for name in ("select", step.name)]
    holds = {read.holds for read in step.reads}
    about = {
        "options": digest_of_json([configuration.seed, *map(repr, tables)])[:12],
        "table": next((size.tables.get(name) for name in (ANNOTATIONS, IMAGES) if name in holds), None),
    }
    if not n_jobs:
        n_jobs = min(max(1, round(need.seconds / threads / 60 / _PART_MINUTES)), _MOST_JOBS)
    n_jobs = min(n_jobs, math.ceil(size.n_all_images / IMAGES_PER_PART))
    if not step.in_parts or n_jobs <= 1:
        return [_job(step.name, step.name, need, threads, **about)]
    joining = Need(need.output_mb / MB_S, need.memory_mb)
    return [
        _job(f"{step.name}-part", step.name, need, threads, n_jobs, **about),
        _job(step.name, step.name, joining, 1),
    ]


def _threads(configuration):
    return configuration.options["run"].jobs or THREADS


def _job(name, step, need, threads, n_jobs=0, **about):
    minutes = (START_S + need.seconds / threads / max(1, n_jobs)) / 60
    memory = (need.memory_mb + threads * need.worker_mb) * _MEMORY_SAFETY
    return Job(
        name,
        step,
        n_jobs,
        threads,
        _up(memory, _MB_STEP),
        _up(max(_SAFETY * minutes, _LEAST_MINUTES), _MINUTES_STEP),
        minutes,
        **about,
    )


def _up(value, step):
    return step * math.ceil(value / step)


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
    with ExitStack() as held:
        for path, text in files.items():
            is_own = partial(holds_text, text=text)
            held.enter_context(output_file(path, force=force, is_own=is_own))
        held.enter_context(locked_output(configuration.output / RECORD))
        write_record(configuration)
        for path, text in files.items():
            write_text(path, text)
    return jobs, list(files)


def snakemake_files(out, configuration, jobs):
    """The file of rules, and beside it the profile of SLURM, as Snakemake's catalogue lays workflows out."""
    profile = out.with_name("profiles") / "slurm"
    values = _values(out, configuration, jobs) | {"profile": shlex.quote(str(profile))}
    return {
        out: _render("snakemake.txt", values),
        profile / "config.yaml": _render("profile.txt", values),
    }


def slurm_files(out, configuration, jobs):
    """The script that submits all jobs."""
    return {out: _render("slurm.txt", _values(out, configuration, jobs))}


def _values(out, configuration, jobs):
    folder = configuration.output.absolute()
    return {
        "rules": list(zip(jobs, (_needed(job, before) for job, before in zip(jobs, [None, *jobs])))),
        # In the output folder, which is no place for modules: -P.
        "run": shlex.join([sys.executable, "-P", "-m", "flyannot", "run", RECORD]),
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


def _render(template, values):
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
    return environment.get_template(template).render(values)
