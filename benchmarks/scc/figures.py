"""SCC, Figures 3 and 4: more sweeps of coordinate descent, and the adaptive rate against a / (t + b)."""

from itertools import product

import numpy as np

from benchmarks.compare_methods import compare_methods
from benchmarks.findings import Finding, Size, all_of
from benchmarks.inputs.patches import patches_of
from benchmarks.items import paper_values, papers
from benchmarks.rows import Panel, Rows, Series
from benchmarks.scc.learning import learn, plain_loop, scc, traced

_N_EPOCHS = 10
_GRID = (1e-3, 1e-1, 1e1, 1e2, 1e3, 1e4, 1e5)
_MOST_OF_PAPER, _N_BEST = 1e3, 1


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
    """Figure 4: the adaptive rate beside the natural ones that do best on fewer patches, of all of a grid."""
    rows, panels, sizes, n = [], [], setup.sizes, setup.sizes["n_patches"]
    given = {s: patches_of(setup, n_of, s) for s, n_of in n.items()}  # the paper does not say which two
    for s, patches in given.items():
        adaptive = traced(plain_loop(patches.problem(sizes["n_atoms"]), patches.n, _N_EPOCHS, "paper"))
        few = adaptive.arguments | {"n": sizes["n_searched"], "rates": list(product(_GRID, _GRID))}
        tried = sorted(setup.run(_learn_at_rates, few)["runs"], key=lambda run: run["objective"])
        best = [run for run in tried if max(run["a"], run["b"]) <= _MOST_OF_PAPER][:_N_BEST] + tried[:_N_BEST]
        # with more patches t is larger, and the best a and b with it
        rates = {(k * run["a"], k * run["b"]) for run in best for k in (1, 10)}
        asked = (adaptive.arguments | {"rates": [rate]} for rate in (None, *sorted(rates)))
        found = [run for one in asked for run in setup.run(_learn_at_rates, one)["runs"]]
        for grid, most in {"a and b as in the paper": _MOST_OF_PAPER, "any a and b tried": np.inf}.items():
            runs = [run for run in found if run["a"] is None or max(run["a"], run["b"]) <= most]
            rows += [{"case": f"{s}, {grid}"} | run for run in runs]
            panels.append(
                _panel_of_rates(f"{s}, {grid}", runs[0], min(runs[1:], key=lambda run: run["objective"]))
            )
    return Finding(
        source=all_of(patches.source for patches in given.values()),
        variant="SCC paper as a plain loop, 3 sweeps, float32; only the rate differs",
        size=Size("patches", sum(n.values()), sum(papers()["scc"]["n_patches"][s] for s in n)),
        rows=rows,
        panels=panels,
    )


def _learn_at_rates(rates, settings, **problem):
    """Learn at every natural rate (a, b), and at the adaptive one for None; runs in a worker."""
    runs = []
    for rate in rates:
        trace = learn(**problem, settings=settings | {"natural_rate": rate and tuple(rate)})["trace"]
        a, b = rate or (None, None)
        runs.append({"rate": "natural" if rate else "adaptive", "a": a, "b": b, "objective": trace[-1][1]})
        runs[-1]["trace"] = [value for _, value in trace]
    return {"runs": runs}


def _panel_of_rates(title, adaptive, natural):
    epochs = list(range(1, _N_EPOCHS + 1))
    names = "adaptive, 1/h", f"best natural, {natural['a']:g} / (t + {natural['b']:g})"
    curves = [Series(n, epochs, run["trace"]) for n, run in zip(names, (adaptive, natural))]
    return Panel(title, "epoch", "objective, exact codes", curves)
