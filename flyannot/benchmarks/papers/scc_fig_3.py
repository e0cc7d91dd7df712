"""SCC, Figure 3: what more sweeps of coordinate descent cost, and what they bring."""

import numpy as np

from flyannot.benchmarks.papers.embryos import problem
from flyannot.benchmarks.papers.findings import Claim, Compared, Finding, Panel, Series
from flyannot.benchmarks.papers.papers import papers, stated
from flyannot.benchmarks.papers.rates import run_scc

_N_QUICK = 20_000
_N_EPOCHS = 10
_WHY = "As in the paper; further sweeps cost little, for they visit the support only."
_WHY_NOT = (
    "Further sweeps cost little here, for they visit the support only: the time hardly depends on their "
    "number, and the shorter codes that more sweeps leave can make them the quicker ones."
)


def measure(setup):
    """The objective after every epoch and the time of ten epochs, for 1, 3, 5, 7 and 9 sweeps."""
    paper = stated("scc", "fig-3")
    n = setup.pick(_N_QUICK, papers()["scc"]["n_patches"][paper["stage_range"]])
    given = problem(setup, paper["stage_range"], n)
    runs = {
        k: run_scc(given, paper["n_atoms"], n, n_epochs=_N_EPOCHS, variant="paper", n_sweeps=k)
        for k in paper["n_sweeps"]
    }
    final = [run.objective for run in runs.values()]
    minutes = [run.trace[-1][0] / 60 for run in runs.values()]
    epochs = list(range(1, _N_EPOCHS + 1))
    curves = [Series(f"{k} sweeps", epochs, [o for _, o in run.trace]) for k, run in runs.items()]
    claims = _claims(final, minutes)
    return Finding(
        data=given.source.text,
        kind=given.source.kind,
        variant="SCC paper, float32, 1,000 atoms; the first sweep visits all atoms, the others the support",
        why=_WHY if all(claim.holds for claim in claims) else _WHY_NOT,
        claims=claims,
        compared=[
            Compared(f"time of 10 epochs, sweeps: {k}", "min", None, t, "no number in the paper's text")
            for k, t in zip(runs, minutes)
        ],
        rows=[
            {"n_sweeps": k, "epoch": e, "seconds": s, "objective": o}
            for k, run in runs.items()
            for e, (s, o) in enumerate(run.trace, 1)
        ],
        panels=[
            Panel("(a) Objective, exact codes", "epoch", "objective", curves),
            Panel("(b) Time of 10 epochs", "sweeps", "minutes", [Series("here", list(runs), minutes)]),
        ],
    )


def _claims(final, minutes):
    share = (final[0] - final[1]) / max(final[0] - final[-1], 1e-12)
    values = ", ".join(f"{v:.4f}" for v in final)
    times = ", ".join(f"{t / minutes[0]:.2f}" for t in minutes) + " times one sweep's"
    return [
        Claim("more sweeps end at a lower objective, to within 0.2 %", _falls(final, 0.002), values),
        Claim("more sweeps take longer", _falls([-t for t in minutes], 0.0), times),
        Claim("three sweeps bring most of what nine bring", share > 0.5, f"{100 * share:.0f} %"),
    ]


def _falls(values, slack):
    """Whether no value is above the one before it, up to a slack relative to it."""
    values = np.array(values)
    return bool((np.diff(values) < slack * np.abs(values[1:])).all())
