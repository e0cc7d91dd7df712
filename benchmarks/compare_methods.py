"""Several methods at one task, turn by turn, and the rows that come of it."""

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.references import why_reference_is_absent
from benchmarks.rows import Rows
from benchmarks.workers import WorkerFailed

log = logging.getLogger("flyannot")

_NUMBERS = ("n", "us_per_sample", "times_as_long", "objective", "gap", "peak_mb")


@dataclass(frozen=True)
class Method:
    """Who does a task, and how: `measure` is called in a worker, and returns numbers by name.

    is_minor : whether a quick run takes it at one size alone; see `methods_at`
    """

    who: str
    variant: str
    measure: Callable
    arguments: dict
    reference: str = ""  # of REFERENCES, where it needs one
    most_repeats: int = 1000  # fewer for the slow
    note: str = ""
    is_minor: bool = False


def methods_at(setup, methods, *, is_main_size):
    """Return the methods that are measured at one of several sizes.

    Without --full, minor methods are measured at the main size only.
    """
    return [method for method in methods if is_main_size or setup.scale == "full" or not method.is_minor]


def compare_methods(setup, methods, *, threads=1, **columns):
    """`Rows`, one for every method, medians over repeats; `columns` stand in every row.

    `times_as_long` is the median over repeats of a method's time per sample over that of the first method
    in the same repeat.  A reference that is absent, or that fails, has a row without numbers that says so.

    Raises
    ------
    WorkerFailed
        If a method of ours fails.
    """
    results = [[] for _ in methods]
    notes = [why_reference_is_absent(method.reference) for method in methods]
    for repeat in range(setup.repeats):
        for i, method in enumerate(methods):
            if notes[i] or repeat >= method.most_repeats:
                continue
            try:
                results[i].append(_run_one(setup, method, threads, repeat))
            except WorkerFailed as failure:
                if not method.reference:
                    raise
                notes[i] = f"absent: {failure}"
    rows = Rows()
    for method, mine, note in zip(methods, results, notes):
        row = {"who": method.who, "variant": method.variant} | columns | dict.fromkeys(_NUMBERS)
        row |= _median_of(mine) | {"threads": threads, "repeats": len(mine), "note": note or method.note}
        rows.append(row | {"times_as_long": _paired_ratio(mine, results[0])})
    return rows


def _run_one(setup, method, threads, repeat):
    load = os.getloadavg()[0]
    result = setup.run(method.measure, method.arguments, threads=threads, repeat=repeat)
    log.info("  %s %s: %.3g us", method.who, method.variant, result["us_per_sample"])
    return result | {"load_average": load}


def _median_of(results):
    """Return the median over repeats of every number and array of numbers; counts stay integers."""
    values = {name: [result[name] for result in results] for name in results[-1]} if results else {}
    is_same = {name: len(set(map(str, of_one))) == 1 for name, of_one in values.items()}
    return {name: v[0] if is_same[name] else np.median(v, axis=0).tolist() for name, v in values.items()}


def _paired_ratio(theirs, ours):
    """Return the median over repeats of their time per sample over ours; None without repeats."""
    ratios = [t["us_per_sample"] / o["us_per_sample"] for t, o in zip(theirs, ours)]
    return float(np.median(ratios)) if ratios else None
