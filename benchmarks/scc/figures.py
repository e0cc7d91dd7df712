"""SCC, Figures 3 and 4: more sweeps of coordinate descent, and the adaptive rate against a / (t + b)."""

import numpy as np

from benchmarks.compare_methods import compare_methods
from benchmarks.findings import Finding, Size, all_of
from benchmarks.inputs.patches import patches_of
from benchmarks.items import paper_values, papers
from benchmarks.rows import Panel, Rows, Series
from benchmarks.scc.learning import learn, plain_loop, scc, traced

_N_EPOCHS = 10
_STAGE_RANGES = ("4-6", "11-12")  # of Figure 4; the paper does not say which two
_GRID = (1e-3, 1e-2, 1e-1, 1, 1e1, 1e2, 1e3)


def measure_sweeps(setup):
    """Figure 3: the objective after every epoch and the time of ten epochs, for 1, 3, 5, 7 and 9 sweeps."""
    paper, rows = paper_values("scc", "fig-3"), Rows()
    given = patches_of(setup, setup.sizes["n_patches"], paper["stage_range"])
    problem, n_sweeps = given.problem(paper["n_atoms"]), paper["n_sweeps"]
    methods = [traced(scc(problem, given.n, _N_EPOCHS, "paper", n_sweeps=k)) for k in n_sweeps]
    for k, row in zip(n_sweeps, compare_methods(setup, methods)):
        for epoch, (seconds, value) in enumerate(row["trace"], 1):
            rows.append({"n_sweeps": k, "epoch": epoch, "seconds": seconds, "objective": value})
    minutes = np.array(rows.column("seconds", epoch=_N_EPOCHS)) / 60
    return Finding(
        source=given.source,
        size=Size("patches", given.n, papers()["scc"]["n_patches"][paper["stage_range"]]),
        variant="SCC paper, float32, 1,000 atoms; the first sweep visits all atoms, the others the support",
        rows=rows,
        panels=[
            rows.panel("(a) Objective, exact codes", "n_sweeps", "epoch", "objective", name="{} sweeps"),
            Panel("(b) Time of 10 epochs", "sweeps", "minutes", [Series("here", n_sweeps, minutes)]),
        ],
    )


def measure_rates(setup):
    """Figure 4: ten epochs at every (a, b) of a grid, and with the adaptive rate, in two stage ranges."""
    rows, panels, n = [], [], setup.sizes["n_patches"]
    grid, given = _GRID[:: setup.sizes["step_of_grid"]], {s: patches_of(setup, n, s) for s in _STAGE_RANGES}
    for s, patches in given.items():
        adaptive = traced(plain_loop(patches.problem(setup.sizes["n_atoms"]), n, _N_EPOCHS, "paper"))
        found = setup.run(_learn_at_rates, adaptive.arguments | {"grid": grid})["runs"]
        rows += [{"stage_range": s} | run for run in found]
        panels.append(_panel_of_rates(s, found[0], min(found[1:], key=lambda run: run["objective"])))
    return Finding(
        source=all_of(patches.source for patches in given.values()),
        variant="SCC paper as a plain loop, 3 sweeps, float32; only the rate differs",
        size=Size("patches", n * len(given), sum(papers()["scc"]["n_patches"][s] for s in given)),
        rows=rows,
        panels=panels,
        notes=[
            f"The grid: a and b in {', '.join(f'{v:g}' for v in grid)}; the paper searched "
            f"{paper_values('scc', 'fig-4')['range_of_a']} for both. With more patches t is larger, and the "
            f"best a and b are others. Every point learns from {n:,} patches.",
        ],
    )


def _learn_at_rates(grid, settings, **problem):
    """In a worker: learn at the adaptive rate, then at every natural one."""
    runs = []
    for rate in (None, *((a, b) for a in grid for b in grid)):
        trace = learn(**problem, settings=settings | {"natural_rate": rate})["trace"]
        a, b = rate or (None, None)
        run = {"rate": "natural" if rate else "adaptive", "a": a, "b": b, "objective": trace[-1][1]}
        runs.append(run | {"objective_after_1_epoch": trace[0][1], "trace": trace})
    return {"runs": runs}


def _panel_of_rates(stage_range, adaptive, natural):
    epochs = list(range(1, _N_EPOCHS + 1))
    names = "adaptive, 1/h", f"best natural, {natural['a']:g} / (t + {natural['b']:g})"
    curves = [Series(n, epochs, [o for _, o in run["trace"]]) for n, run in zip(names, (adaptive, natural))]
    return Panel(f"Stage range {stage_range}", "epoch", "objective, exact codes", curves)
