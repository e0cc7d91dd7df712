"""SCC, Figure 4: the adaptive rate 1/h against the best natural rate a / (t + b)."""

from flyannot.benchmarks.papers.embryos import all_of, problem
from flyannot.benchmarks.papers.findings import Claim, Compared, Finding, Panel, Series
from flyannot.benchmarks.papers.papers import papers, stated
from flyannot.benchmarks.speed.children.learning import learn_ours

_STAGE_RANGES = ("4-6", "11-12")  # the paper does not say which two
_N_ATOMS = (500, 1000)  # quick, full
_N_QUICK = 4_000
_N_EPOCHS = 10
_STEPS_OF_GRID = (1e-3, 1e-2, 1e-1, 1, 1e1, 1e2, 1e3)
_QUICK_GRID = _STEPS_OF_GRID[::2]


def measure(setup):
    """Ten epochs at every (a, b) of a grid, and with the adaptive rate, in two stage ranges."""
    curves, rows, sources, best = {}, [], [], {}
    for s in _STAGE_RANGES:
        n = setup.pick(_N_QUICK, papers()["scc"]["n_patches"][s] // 10)
        given = problem(setup, s, n)
        sources.append(given.source)
        found = _grid(setup, given, n)
        rows += [_row(s, rate, done) for rate, done in found.items()]
        best[s] = min((r for r in found if r), key=lambda r: found[r]["objective"])
        curves[s] = {"adaptive": found[None], "natural": found[best[s]]}
    source = all_of(sources)
    return Finding(
        data=source.text,
        kind=source.kind,
        variant="SCC paper as a plain loop, 3 sweeps, float32; only the rate differs",
        why=_why(curves),
        claims=[claim for s in _STAGE_RANGES for claim in _claims(s, curves[s], best[s])],
        compared=list(_compared(curves, best)),
        rows=rows,
        panels=[_panel(s, curves[s], best[s]) for s in _STAGE_RANGES],
        notes=[
            f"The grid: a and b in {', '.join(f'{v:g}' for v in _values(setup))}; the paper searched "
            f"{stated('scc', 'fig-4')['range_of_a']} for both. With more patches t is larger, and the best a "
            "and b are others. In a full run every point learns from a tenth of the paper's patches.",
        ],
    )  # fmt: skip


def _values(setup):
    return setup.pick(_QUICK_GRID, _STEPS_OF_GRID)


def _grid(setup, given, n):
    """The run at every rate; the adaptive one has the key None."""
    arguments = given.arguments(setup.pick(*_N_ATOMS))
    rates = [None, *((a, b) for a in _values(setup) for b in _values(setup))]
    return {
        rate: learn_ours(
            **arguments, n=n, n_epochs=_N_EPOCHS, learner="plain-loop",
            settings={"variant": "paper", "natural_rate": rate},
        )
        for rate in rates
    }  # fmt: skip


def _row(stage_range, rate, done):
    a, b = rate or (None, None)
    name = "natural" if rate else "adaptive"
    return {
        "stage_range": stage_range, "rate": name, "a": a, "b": b, "objective": done["objective"],
        "objective_after_1_epoch": done["trace"][0][1],
    }  # fmt: skip


def _claims(stage_range, runs, best):
    where = f"stage range {stage_range}"
    for when, k in (("after ten epochs", -1), ("after the first epoch (it converges faster)", 0)):
        adaptive, natural = (runs[rate]["trace"][k][1] for rate in ("adaptive", "natural"))
        here = f"{adaptive:.4f} against {natural:.4f} at a={best[0]:g}, b={best[1]:g}"
        yield Claim(
            f"the adaptive rate is below the best natural rate {when}, {where}", adaptive < natural, here
        )


def _why(curves):
    first, last = (
        all(runs["adaptive"]["trace"][k][1] < runs["natural"]["trace"][k][1] for runs in curves.values())
        for k in (0, -1)
    )
    if first and last:
        return "As in the paper: the adaptive rate needs no search, and is ahead from the first epoch on."
    if last:
        return (
            "The adaptive rate needs no search and ends lower, but is behind after the first epoch: the "
            "first visits of an atom, with h as small as one code, overshoot."
        )
    return "The best natural rate ends lower: h of the variant paper never forgets the first, poor codes."


def _compared(curves, best):
    for s, runs in curves.items():
        for name, done in runs.items():
            rate = f" (a={best[s][0]:g}, b={best[s][1]:g})" if name == "natural" else ""
            yield Compared(f"objective, {name} rate{rate}, stage range {s}", "", None, done["objective"])


def _panel(stage_range, runs, best):
    epochs = list(range(1, _N_EPOCHS + 1))
    names = {"adaptive": "adaptive, 1/h", "natural": f"best natural, {best[0]:g} / (t + {best[1]:g})"}
    curves = [Series(names[key], epochs, [o for _, o in runs[key]["trace"]]) for key in names]
    return Panel(f"Stage range {stage_range}", "epoch", "objective, exact codes", curves)
