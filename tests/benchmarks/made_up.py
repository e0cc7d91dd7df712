"""Items and data that are made up, for tests of the engine."""

import numpy as np

from flyannot.benchmarks.findings import Check, Comparison, Finding, Panel, Series, Source, Target
from flyannot.benchmarks.inputs.patches import Patches
from flyannot.benchmarks.items import OURS, Item

FOUND = Finding(
    source=Source("ten numbers that we made up", "synthetic"), variant="none", why="They are <made> up.",
    checks=[Check("two is two", True, "2")],
    targets=[Target("two over one", 2.0, 3.0)],
    comparisons=[Comparison("hours|m=1", "h", 4.0, 2.0, "projected")],
    rows=[{"m": 1, "who": "we"}, {"m": np.int64(2), "seconds": np.float32(0.5)}],
    panels=[Panel("a", "x", "y", [Series("s", [1, 2], [3.0, None])])],
)  # fmt: skip


class MadeUp:
    """An item that counts how often it is measured, and fails if told to."""

    def __init__(self, name, finding=FOUND, paper="scc"):
        where = "table-1" if paper != OURS else ""
        self.item, self.finding, self.times = (
            Item(name, f"title of {name}", self.measure, paper, where),
            finding,
            0,
        )

    def measure(self, setup):
        self.times += 1
        if isinstance(self.finding, BaseException):
            raise self.finding
        return self.finding


def noise_patches(folder, rng, n=400):
    """`Patches` of noise, where real ones would be."""
    made = Patches(folder, n, Source("noise", "synthetic"))
    np.save(made.path("patches"), rng.integers(0, 256, (n, 128), dtype=np.uint8))
    np.save(made.path("held"), rng.integers(0, 256, (50, 128), dtype=np.uint8))
    return made


def fails(**arguments):
    """What a worker is asked to do in vain."""
    raise ValueError("no number")


def holds_memory(n):
    """In a worker: its peak."""
    from flyannot.benchmarks.workers import peak_mb

    return {"peak_mb": peak_mb(), "n": n}
