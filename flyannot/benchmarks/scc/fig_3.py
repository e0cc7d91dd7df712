"""SCC, Figure 3: what more sweeps of coordinate descent cost, and what they bring."""

import numpy as np

from flyannot.benchmarks.compare_methods import compare_methods
from flyannot.benchmarks.findings import Check, Finding, Panel, Rows, Series, listed
from flyannot.benchmarks.inputs.patches import patches_of
from flyannot.benchmarks.items import Item, paper_values
from flyannot.benchmarks.scc.learning import scc

_N_EPOCHS = 10
_WHY = "As in the paper; further sweeps cost little, for they visit the support only."
_WHY_NOT = (
    "Further sweeps cost little here, for they visit the support only: the time hardly depends on their "
    "number, and the shorter codes that more sweeps leave can make them the quicker ones."
)


def measure(setup):
    """The objective after every epoch and the time of ten epochs, for 1, 3, 5, 7 and 9 sweeps."""
    paper, rows = paper_values("scc", "fig-3"), Rows()
    given = patches_of(setup, setup.sizes["n_patches"], paper["stage_range"])
    problem, n_sweeps = given.problem(paper["n_atoms"]), paper["n_sweeps"]
    methods = [scc(problem, given.n, _N_EPOCHS, "paper", n_sweeps=k) for k in n_sweeps]
    for k, row in zip(n_sweeps, compare_methods(setup, methods)):
        rows += [
            {"n_sweeps": k, "epoch": e, "seconds": s, "objective": o}
            for e, (s, o) in enumerate(row["trace"], 1)
        ]
    minutes = np.array(rows.column("seconds", epoch=_N_EPOCHS)) / 60
    checks = list(_checks(rows.column("objective", epoch=_N_EPOCHS), minutes))
    return Finding(
        source=given.source,
        variant="SCC paper, float32, 1,000 atoms; the first sweep visits all atoms, the others the support",
        why=_WHY if all(check.holds for check in checks) else _WHY_NOT,
        checks=checks,
        rows=rows,
        panels=[
            Panel("(a) Objective, exact codes", "epoch", "objective",
                  rows.lines("n_sweeps", "epoch", "objective", "{} sweeps")),
            Panel("(b) Time of 10 epochs", "sweeps", "minutes", [Series("here", n_sweeps, minutes)]),
        ],
    )  # fmt: skip


def _checks(final, minutes):
    share = (final[0] - final[1]) / max(final[0] - final[-1], 1e-12)
    text = "more sweeps end at a lower objective, to within 0.2 %"
    yield Check(text, _falls(final, 0.002), listed(final, ".4f"))
    here = listed(minutes / minutes[0], ".2f", " times one sweep's")
    yield Check("more sweeps take longer", _falls(-minutes, 0.0), here)
    yield Check("three sweeps bring most of what nine bring", share > 0.5, f"{100 * share:.0f} %")


def _falls(values, slack):
    """Whether no value is above the one before it, up to a slack relative to it."""
    values = np.array(values)
    return bool((np.diff(values) < slack * np.abs(values[1:])).all())


ITEM = Item(
    "scc-fig-3", "More sweeps of coordinate descent: objective and time", measure, "scc", "fig-3",
    sizes={"n_patches": (20_000, 555_009)},
)  # fmt: skip
