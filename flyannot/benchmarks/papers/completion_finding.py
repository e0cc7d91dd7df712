"""The finding of a completion problem: MODL beside coordinate descent."""

import numpy as np

from flyannot.benchmarks.papers.completion import (
    N_COMPONENTS,
    TEST_SHARE,
    best_lam,
    by_coordinate_descent,
    by_modl,
    split,
)
from flyannot.benchmarks.papers.findings import Claim, Finding, Panel, Series

_SOLVERS = {"coordinate descent": by_coordinate_descent, "MODL": by_modl}
_N_LAMS = (7, 15)  # quick, full; the paper tried 15 from 0.01 to 10
_N_SPLITS = (1, 5)
_LAMS = {"coordinate descent": (1e-3, 1e0), "MODL": (1e-2, 1e1)}  # in each objective's own scale
_N_TUNED = 300_000  # entries that lam is chosen on, of whole rows: the fewer a row has, the larger its lam
_CLOSE = 0.005


def completion_finding(setup, ratings, source, compared, why):
    """Choose lam for both, run both on the same splits, and compare.

    Parameters
    ----------
    ratings : flyannot.benchmarks.papers.ratings.Ratings
    source : flyannot.benchmarks.papers.embryos.Source
    compared : function of (coordinate descent's `Completed`, MODL's) that gives rows
    why : str, why the paper and we differ
    """
    tuned = _some_rows(ratings, setup.rng("tuned"))
    lams = {name: _chosen_lam(setup, name, tuned) for name in _SOLVERS}
    rngs = setup.rng("splits").spawn(setup.pick(*_N_SPLITS))
    runs = [
        {name: solve(parts, lams[name], rng) for name, solve in _SOLVERS.items()}
        for rng in rngs
        for parts in [split(ratings, rng)]
    ]
    first, chosen = runs[0], ", ".join(f"{name} {lam:.2g}" for name, lam in lams.items())
    cd, modl = first.values()
    return Finding(
        data=f"{source.text}; {100 * TEST_SHARE:.0f} % held out, {len(runs)} split{'s' * (len(runs) > 1)}",
        kind=source.kind,
        variant=f"modl with |z|^2 and l2 atoms, {N_COMPONENTS} components, beta 0.9, mini-batches of n/100; "
        f"lam by a third held out of the training entries: {chosen}",
        why=why,
        claims=_claims(runs),
        compared=list(compared(cd, modl)),
        rows=[
            {"split": i, "solver": name, "epoch": e, "seconds": s, "test_rmse": v}
            for i, run in enumerate(runs)
            for name, done in run.items()
            for e, (s, v) in enumerate(done.trace, 1)
        ],
        panels=[
            Panel("Test error", "processor seconds", "RMSE", [
                Series(name, *map(list, zip(*done.trace))) for name, done in first.items()
            ], x_log=True)
        ],
        notes=["The time is until the test error is within 0.1 % of its last value, as in the paper. "
               "Means of rows and columns are taken out first."],
    )  # fmt: skip


def _some_rows(ratings, rng):
    """The entries of so many random rows that there are about _N_TUNED."""
    order = rng.permutation(ratings.shape[0])
    n_entries = np.cumsum(np.bincount(ratings.rows, minlength=ratings.shape[0])[order])
    return ratings.of_rows(order[: 1 + np.searchsorted(n_entries, _N_TUNED)])


def _chosen_lam(setup, name, ratings):
    low, high = _LAMS[name]
    return best_lam(_SOLVERS[name], ratings, np.geomspace(low, high, setup.pick(*_N_LAMS)), setup.rng("lam"))


def _claims(runs):
    cd, modl = (np.mean([run[name].rmse for run in runs]) for name in _SOLVERS)
    slow, quick = (np.mean([run[name].seconds for run in runs]) for name in _SOLVERS)
    return [
        Claim(
            f"MODL's error is at most {100 * _CLOSE:.1f} % above coordinate descent's",
            bool(modl <= (1 + _CLOSE) * cd),
            f"{modl:.4f} against {cd:.4f}",
        ),
        Claim("MODL converges sooner", bool(quick < slow), f"{quick:.2f} s against {slow:.2f} s"),
    ]
