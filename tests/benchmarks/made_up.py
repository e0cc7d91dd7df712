"""Items and data that are made up, for tests of the engine."""

import numpy as np

from benchmarks.claims import PAPER, Statement, exactly
from benchmarks.findings import Comparison, Finding, Panel, Size, Source, Target
from benchmarks.inputs.patches import Patches
from benchmarks.items import OURS, Item
from benchmarks.rows import Series
from benchmarks.runner import measure_items

STATEMENTS = [Statement("two", PAPER, "two is above one", lambda r: exactly(r.value("m", m=2)), above=1)]
FOUND = Finding(
    source=Source("ten numbers that we made up", "synthetic"),
    variant="none",
    explanation="They are <made> up.",
    size=Size("numbers", 10, 10),
    targets=[Target("two over one", 2.0, 3.0)],
    comparisons=[Comparison("hours|m=1", "h", 4.0, 2.0, "projected")],
    rows=[{"m": 1, "who": "we"}, {"m": np.int64(2), "seconds": np.float32(0.5)}],
    panels=[Panel("a", "x", "y", [Series("s", [1, 2], [3.0, None])])],
)


class MadeUp:
    """An item that counts how often it is measured, and fails if told to."""

    def __init__(self, name, finding=FOUND, paper="scc"):
        where = "table-1" if paper != OURS else ""
        self.item = Item(name, f"title of {name}", self.measure, paper, where, statements=STATEMENTS)
        self.finding, self.times = finding, 0

    def measure(self, setup):
        self.times += 1
        if isinstance(self.finding, BaseException):
            raise self.finding
        return self.finding


def measured(items, setup, out):
    """Return the result of measuring each item, in a list."""
    return list(measure_items(items, setup, out))


def noise_patches(folder, rng, n=400):
    """`Patches` of noise, where real ones would be."""
    made = Patches(folder, n, Source("noise", "synthetic"))
    np.save(made.path("patches"), rng.integers(0, 256, (n, 128), dtype=np.uint8))
    np.save(made.path("held"), rng.integers(0, 256, (50, 128), dtype=np.uint8))
    return made


def fails(**arguments):
    """Fail in a worker."""
    raise ValueError("no number")


def holds_memory(n):
    """Return the peak memory of a worker."""
    from benchmarks.workers import peak_mb

    return {"peak_mb": peak_mb(), "n": n}
