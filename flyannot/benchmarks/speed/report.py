"""Rows as aligned text and as JSON."""

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from flyannot.benchmarks.speed.peers import PEERS

_CPUINFO = Path("/proc/cpuinfo")

# The columns of every table: heading, key of the row.  Columns without a number in any row are left out.
_COLUMNS = {
    "who": "who",
    "variant": "variant",
    "signals": "signals",
    "m": "m",
    "n": "n",
    "epochs": "epochs",
    "us/patch": "us_per_patch",
    "x flyannot": "ratio_to_flyannot",
    "x GEMM": "ratio_to_gemm",
    "x faster": "times_faster",
    "1 -> 2 threads": "speed_up",
    "authors' C++ (projected)": "projected_authors_ratio",
    "per second": "per_second",
    "seconds": "seconds",
    "objective": "objective",
    "non-zeros": "nonzeros",
    "gap": "gap",
    "worst gap": "worst_relative_gap",
    "epochs to it": "epochs_to_target",
    "s to it": "seconds_to_target",
    "SPAMS / ours": "ratio_to_target",
    "error": "error",
    "error of the mean": "error_of_mean",
    "SISO / it": "siso_over_it",
    "above SISO": "above_siso",
    "codes apart": "apart",
    "looks": "looks",
    "recall": "recall",
    "looked at": "looked_at",
    "MAP": "map",
    "AUC": "auc",
    "exponent": "exponent",
    "peak MB": "peak_mb",
    "load": "load_average",
}
_TEXT = ("who", "variant", "signals", "note")


def machine():
    """The processor, its cores, and the versions of what is measured."""
    return f"{_processor()}, {len(os.sched_getaffinity(0))} cores; {', '.join(_versions())}"


def _processor():
    lines = _CPUINFO.read_text().splitlines() if _CPUINFO.is_file() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _versions():
    for project in ("numpy", "numba", *(peer.project for peer in PEERS.values())):
        try:
            yield f"{project} {version(project)}"
        except PackageNotFoundError:
            yield f"{project} absent"


def format_rows(rows):
    """An aligned table of the columns that these rows fill, notes last."""
    columns = {head: key for head, key in _COLUMNS.items() if any(row.get(key) is not None for row in rows)}
    if any(row.get("note") for row in rows):
        columns["note"] = "note"
    cells = [[_cell(key, row.get(key)) for key in columns.values()] for row in rows]
    return align([list(columns), *cells], text=[key in _TEXT for key in columns.values()])


def format_verdicts(verdicts):
    """The table of goals."""
    cells = [[text, _cell("", value), bound, word] for text, value, bound, word in verdicts]
    return align([["goal", "here", "bound", ""], *cells], text=[True, False, True, True])


def align(lines, text):
    """Lines of cells under one another; columns of `text` to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(
        "  ".join(
            f"{cell:{'<' if left else '>'}{width}}" for cell, left, width in zip(line, text, widths)
        ).rstrip()
        for line in lines
    )


def _cell(key, value):
    if value is None or value == "":
        return "" if key in _TEXT else "-"
    if isinstance(value, str):
        return value
    if key == "objective":
        return f"{value:.5f}"
    if key in ("gap", "worst_relative_gap") or 0 < abs(value) < 0.01:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 1000 or isinstance(value, int) else f"{value:.3g}"


def as_json(rows, about):
    """A list of rows, each with what all share."""
    return json.dumps([row | about for row in rows], indent=1) + "\n"
