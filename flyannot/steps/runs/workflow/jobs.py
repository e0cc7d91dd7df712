"""The jobs of a run: which there are, one after the other, and what each asks of a machine."""

import math
from dataclasses import dataclass

from flyannot.errors import InputError
from flyannot.runtime.digest import digest_of_json
from flyannot.steps.engine.parts import IMAGES_PER_PART
from flyannot.steps.runs.workflow.estimates import MB_S, START_S, Need, needs_of_steps

SHARED = ("extract", "pool", "annotate")  # the steps that are made in shares
THREADS = 4  # of a job whose step has workers, unless the configuration says how many
_STEPS = ("synthesize", "extract", "learn-dict", "pool", "train", "annotate")
_WITH_WORKERS = (*SHARED, "train")
_MADE_WITH = {"extract": ("select", "extract"), "pool": ("select", "pool"), "train": ("select", "classify")}
_TABLE = {"extract": "images", "train": "annotations", "annotate": "images"}  # that a step reads
_SHARE_MINUTES = 30  # that a share is to take: between 15 and 60, if the estimate is wrong by two
_MOST_SHARES = 1000  # SLURM takes arrays of up to 1,001 by default
_SAFETY = 3  # times as long as estimated, before a job is ended
_MEMORY_SAFETY = 1.3
_LEAST_MINUTES, _MINUTES_STEP, _MB_STEP = 15, 5, 100


@dataclass(frozen=True)
class Job:
    """One job, or an array of jobs, of a workflow.

    step : of `flyannot run --step`; None for the run itself, which makes all that is left
    n_shares : how many jobs make the parts of the step; 0 where one job makes all of it
    table : Path of the table of the data set that it reads, or None
    options : a digest of what the step is made with
    expected_minutes : as estimated, of `minutes` that it is given
    """

    name: str
    step: str | None
    n_shares: int
    threads: int
    memory_mb: int
    minutes: int
    expected_minutes: float
    options: str = ""
    table: str | None = None


def jobs_of_run(configuration, size, n_shares=None):
    """The Jobs of a run, each of which needs the one before it.

    Parameters
    ----------
    configuration : flyannot.steps.engine.configuration.Configuration
    size : RunSize
    n_shares : how many shares the images are cut into; None for as many as take about half an hour each

    Raises
    ------
    InputError
        If there are fewer parts than `n_shares`.
    """
    n_parts = {s: math.ceil(n / IMAGES_PER_PART) for s, n in _items(size).items()}
    if n_shares and n_shares > n_parts["extract"]:
        raise InputError(
            f"{n_shares:,} shards of {size.n_all_images:,} images: they are worked on {IMAGES_PER_PART} at a "
            f"time, which makes {n_parts['extract']:,}",
            fix=f"name --shards {n_parts['extract']} at most, or leave it out",
        )
    threads, needs = configuration.options["run"].jobs or THREADS, needs_of_steps(configuration, size)
    jobs = []
    for step in _STEPS:
        if step == "synthesize" and step not in configuration.options:
            continue
        with_workers = step in _WITH_WORKERS or step == "learn-dict" and configuration.options[step].shares
        its_threads = threads if with_workers else 1
        shares = 0
        if step in SHARED:
            wanted = n_shares or _n_shares(needs[step].seconds / its_threads)
            shares = min(wanted, n_parts[step])
        about = {"options": _digest(configuration, step), "table": size.tables.get(_TABLE.get(step))}
        if shares > 1:
            jobs.append(_job(f"{step}-share", step, needs[step], its_threads, shares, **about))
            about, its_threads = {}, 1
            needs[step] = Need(needs[step].output_mb / MB_S, needs[step].memory_mb)
        jobs.append(_job(step, step, needs[step], its_threads, **about))
    return [*jobs, _job("evaluate-and-report", None, _last(needs), threads)]


def _items(size):
    """How many things are cut into parts, by step."""
    n_images = size.n_all_images
    return {"extract": n_images, "pool": n_images, "annotate": size.n_groups.total()}


def _n_shares(seconds):
    return min(max(1, round(seconds / 60 / _SHARE_MINUTES)), _MOST_SHARES)


def _last(needs):
    """Of the run itself, which makes what is left."""
    left = (needs["evaluate"], needs["report"])
    return Need(sum(one.seconds for one in left), max(one.memory_mb for one in left))


def _job(name, step, need, threads, n_shares=0, **about):
    minutes = (START_S + need.seconds / threads / max(1, n_shares)) / 60
    memory = (need.memory_mb + threads * need.worker_mb) * _MEMORY_SAFETY
    return Job(
        name,
        step,
        n_shares,
        threads,
        _up(memory, _MB_STEP),
        _up(max(_SAFETY * minutes, _LEAST_MINUTES), _MINUTES_STEP),
        minutes,
        **about,
    )


def _up(value, step):
    return step * math.ceil(value / step)


def _digest(configuration, step):
    """Of the options and the seed that a step is made with."""
    tables = _MADE_WITH.get(step, ("select", step))
    return digest_of_json([configuration.seed, *(repr(configuration.options.get(t)) for t in tables)])[:12]
