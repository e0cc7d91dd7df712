"""The parts of the benchmark, one after the other, with the table of each."""

import os
import tempfile
from dataclasses import dataclass
from importlib import import_module

from flyannot.benchmarks.speed.goals import verdicts
from flyannot.benchmarks.speed.real_patches import LAM, prepare
from flyannot.benchmarks.speed.report import as_json, format_rows, format_verdicts, machine

SECTIONS = {
    "learn": "Learning, per patch and epoch (ratios to SCC, released)",
    "learners": "Every learner over ten epochs; objective and non-zeros of exact codes of patches unseen",
    "code": "Coding at a fixed dictionary",
    "sift": "Dense SIFT at stride 4, per descriptor",
    "target": "Time to the objective that SPAMS reaches at its best batch size after 3 epochs",
    "scaling": "Growth of the cost of learning with the atoms and with the patches",
    "masks": "Whole pictures: MODL on a part of the pixels at a time, per picture and epoch; missing pixels",
    "signals": "Exact codes of several kinds of signals, 512 atoms",
    "threads": "One thread against two",
    "siso": "Codes over very many atoms, microseconds per query (objectives as parts of 1/2 |x|^2)",
    "classifiers": "Every classifier on labelled bags of words, 5 folds within each stage range",
}


@dataclass(frozen=True)
class Section:
    """A table for people, and all rows so far as JSON."""

    text: str
    json: str


def sections(what, bounds, data_set=None):
    """Measure the named parts; yields a `Section` as each is done, and the goals at the end.

    Parameters
    ----------
    what : names of SECTIONS; all, if empty
    bounds : flyannot.benchmarks.speed.bounds.Bounds
    data_set : Path of a data set folder, or None for what is at hand

    Raises
    ------
    DataError
        If the data set has too few windows.
    RunFailed
        If one of our own measurements fails; a failing peer is a row that says so.
    """
    with tempfile.TemporaryDirectory(prefix="flyannot-bench-") as folder:
        inputs = prepare(folder, bounds, data_set)
        about, rows = {"machine": machine(), "patches": inputs.source, "lam": LAM}, []
        for name in what or SECTIONS:
            new = list(import_module(f"flyannot.benchmarks.speed.{name}").rows(inputs, bounds))
            rows += new
            yield Section(f"{_title(name, about)}\n{format_rows(new)}\n", as_json(rows, about))
        judged = [verdict for verdict in verdicts(rows) if verdict[1] is not None or not what]
        if judged:
            yield Section(f"Goals\n{format_verdicts(judged)}\n", as_json(rows, about))


def _title(name, about):
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    threads = "timed by the wall" if name == "threads" else "one thread, timed by the processor's clock"
    return (
        f"{SECTIONS[name]}\n  {about['machine']}\n"
        f"  {about['patches']}; lam {LAM:.4f}; {threads}; load average {load}"
    )
