"""SCC, Figure 4: the adaptive rate 1/h against the best natural rate a / (t + b)."""

from flyannot.benchmarks.findings import Check, Finding, Panel, Series, all_of
from flyannot.benchmarks.inputs.patches import patches_of
from flyannot.benchmarks.items import Item, paper_values, papers
from flyannot.benchmarks.scc.learning import learn, plain_loop

_STAGE_RANGES = ("4-6", "11-12")  # the paper does not say which two
_N_EPOCHS = 10
_GRID = (1e-3, 1e-2, 1e-1, 1, 1e1, 1e2, 1e3)


def measure(setup):
    """Ten epochs at every (a, b) of a grid, and with the adaptive rate, in two stage ranges."""
    runs, rows, sources = {}, [], []
    for s in _STAGE_RANGES:
        n = min(setup.sizes["n_patches"], papers()["scc"]["n_patches"][s] // 10)
        given = patches_of(setup, n, s)
        sources.append(given.source)
        adaptive = plain_loop(given.problem(setup.sizes["n_atoms"]), n, _N_EPOCHS, "paper")
        found = setup.run(learn_at_rates, adaptive.arguments | {"grid": _values(setup)})["runs"]
        rows += [{"stage_range": s} | run for run in found]
        runs[s] = found[0], min(found[1:], key=lambda run: run["objective"])
    return Finding(
        source=all_of(sources),
        variant="SCC paper as a plain loop, 3 sweeps, float32; only the rate differs",
        why=_why(runs),
        checks=[check for s in runs for check in _checks(s, *runs[s])],
        rows=rows,
        panels=[_panel(s, *runs[s]) for s in runs],
        notes=[
            f"The grid: a and b in {', '.join(f'{v:g}' for v in _values(setup))}; the paper searched "
            f"{paper_values('scc', 'fig-4')['range_of_a']} for both. With more patches t is larger, and the "
            "best a and b are others. In a full run every point learns from a tenth of the paper's patches.",
        ],
    )  # fmt: skip


def _values(setup):
    return _GRID[:: setup.sizes["step_of_grid"]]


def learn_at_rates(grid, settings, **problem):
    """In a worker: learn at the adaptive rate, then at every natural one."""
    runs = []
    for rate in (None, *((a, b) for a in grid for b in grid)):
        trace = learn(**problem, settings=settings | {"natural_rate": rate})["trace"]
        a, b = rate or (None, None)
        run = {"rate": "natural" if rate else "adaptive", "a": a, "b": b, "objective": trace[-1][1]}
        runs.append(run | {"objective_after_1_epoch": trace[0][1], "trace": trace})
    return {"runs": runs}


def _at(run):
    return f"a={run['a']:g}, b={run['b']:g}"


def _checks(stage_range, adaptive, natural):
    for when, key in (
        ("after ten epochs", "objective"),
        ("after the first epoch (it converges faster)", "objective_after_1_epoch"),
    ):
        text = f"the adaptive rate is below the best natural rate {when}, stage range {stage_range}"
        here = f"{adaptive[key]:.4f} against {natural[key]:.4f} at {_at(natural)}"
        yield Check(text, adaptive[key] < natural[key], here)


def _why(runs):
    first, last = (
        all(adaptive[key] < natural[key] for adaptive, natural in runs.values())
        for key in ("objective_after_1_epoch", "objective")
    )
    if first and last:
        return "As in the paper: the adaptive rate needs no search, and is ahead from the first epoch on."
    if last:
        return (
            "The adaptive rate needs no search and ends lower, but is behind after the first epoch: the "
            "first visits of an atom, with h as small as one code, overshoot."
        )
    return "The best natural rate ends lower: h of the variant paper never forgets the first, poor codes."


def _panel(stage_range, adaptive, natural):
    epochs = list(range(1, _N_EPOCHS + 1))
    names = "adaptive, 1/h", f"best natural, {natural['a']:g} / (t + {natural['b']:g})"
    curves = [Series(n, epochs, [o for _, o in run["trace"]]) for n, run in zip(names, (adaptive, natural))]
    return Panel(f"Stage range {stage_range}", "epoch", "objective, exact codes", curves)


ITEM = Item(
    "scc-fig-4", "SCC's adaptive rate against the best natural rate", measure, "scc", "fig-4",
    sizes={"n_patches": (4_000, 10_000_000), "n_atoms": (500, 1000), "step_of_grid": (2, 1)},
)  # fmt: skip
