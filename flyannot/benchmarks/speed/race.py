"""Several contenders at one task, turn by turn, and the rows that come of it."""

import logging
import os
from dataclasses import dataclass, field

import numpy as np

from flyannot.benchmarks.speed.peers import why_absent
from flyannot.benchmarks.speed.runs import RunFailed, run

log = logging.getLogger("flyannot")


@dataclass(frozen=True)
class Contender:
    """Who runs, and how: `measure` is "module:function" below flyannot.benchmarks.speed.children."""

    who: str
    variant: str
    measure: str
    arguments: dict
    peer: str = ""  # its key in PEERS; "" for what needs no peer
    most_repeats: int = 1000  # fewer for the slow
    note: str = ""


@dataclass(frozen=True)
class Task:
    """What all contenders of one race do."""

    bench: str
    what: str  # learn, code or sift
    m: int | None = None
    threads: int = 1
    repeats: int = 1
    key: dict = field(default_factory=dict)  # further columns


def race(task, contenders):
    """The rows of the contenders; the first is the one that ratios are taken to.

    A peer that is absent, or that fails, has a row without numbers that says so.
    """
    results = {id(c): [] for c in contenders}
    notes = {id(c): why_absent(c.peer) if c.peer else "" for c in contenders}
    for repeat in range(task.repeats):
        for c in contenders:
            if notes[id(c)] or repeat >= c.most_repeats:
                continue
            try:
                results[id(c)].append(_run_one(task, c))
            except RunFailed as failure:
                if not c.peer:
                    raise
                notes[id(c)] = f"absent: {failure}"
    ours = results[id(contenders[0])]
    return [_row(task, c, results[id(c)], ours, notes[id(c)] or c.note) for c in contenders]


def _run_one(task, contender):
    load = os.getloadavg()[0]
    result = run(contender.measure, contender.arguments, threads=task.threads)
    size = f" m={task.m}" if task.m else ""
    log.info(
        "%s%s  %s %s: %.3g us", task.bench, size, contender.who, contender.variant, result["us_per_patch"]
    )
    return result | {"load_average": load}


def _row(task, contender, results, ours, note):
    row = {"bench": task.bench, "what": task.what, "who": contender.who, "variant": contender.variant}
    row |= {"m": task.m, "n": None, "threads": task.threads}
    row |= dict.fromkeys(("us_per_patch", "objective", "gap", "peak_mb", "ratio_to_flyannot"))
    row |= task.key | median_of(results)
    if results:
        row["ratio_to_flyannot"] = paired_ratio(results, ours)
    return row | {"repeats": len(results), "note": note}


def absent(bench, what, note):
    """A row without numbers, for what cannot be measured here at all."""
    return _row(Task(bench, what), Contender("flyannot", "", "", {}), [], [], note)


def median_of(results):
    """The median of every number and array of numbers, over repeats."""
    if not results:
        return {}
    return {name: _median([result[name] for result in results]) for name in results[-1]}


def _median(values):
    if len(set(map(str, values))) == 1:  # counts stay integers
        return values[0]
    return np.median(values, axis=0).tolist()


def paired_ratio(theirs, ours):
    """The median over repeats of their time per patch over ours in the same repeat."""
    return float(np.median([t["us_per_patch"] / o["us_per_patch"] for t, o in zip(theirs, ours)]))
