"""MODL, Table 1: ratings completed by MODL and by coordinate descent; and the genes and terms of BDGP."""

from functools import partial

import numpy as np

from flyannot.benchmarks.findings import Check, Comparison, Finding, Panel, Series, Source
from flyannot.benchmarks.inputs.ratings import gene_term_matrix, read_movielens
from flyannot.benchmarks.items import Item, paper_values
from flyannot.benchmarks.modl import completion
from flyannot.benchmarks.modl.completion import SOLVERS, error_and_time

_CD, _MODL = SOLVERS
_LAMS = {_CD: (1e-3, 1e0), _MODL: (1e-2, 1e1)}  # in each objective's own scale; the paper tried 0.01 to 10
_N_TUNED = 300_000  # entries that lam is chosen on, of whole rows: the fewer a row has, the larger its lam
_ALIKE = 0.005  # errors
_SIZES_OF_PAPER = {1_000_209: "ML 1M", 10_000_054: "ML 10M"}


def measure_ratings(setup):
    """The ratings file of `--ratings`."""
    ratings = read_movielens(setup.ratings)
    n_users, n_items = ratings.shape
    text = f"{len(ratings):,} ratings of {n_items:,} items by {n_users:,} users, {setup.ratings.name}"
    why = "Other machines, splits and implementations; the paper's coordinate descent is spira's."
    beside = partial(_beside_ratings, _SIZES_OF_PAPER.get(len(ratings)))
    return _finding(setup, ratings, Source(text), beside, why)


def _measure_genes_and_terms(setup):
    """All entries of BDGP's matrix of genes and terms, zeros as well observed as ones."""
    ratings, source = gene_term_matrix(setup, setup.sizes["n_genes"])
    return _finding(
        setup, ratings, source, _beside_all,
        "Not ratings but a full matrix of zeros and ones, far smaller than Netflix: every row has three "
        "quarters of its entries, and an epoch of MODL solves the codes of every one of them by itself.",
    )  # fmt: skip


def _finding(setup, ratings, source, beside, why):
    """Choose lam for both, run both on the same splits, and compare."""
    path, n_splits = str(setup.scratch / f"ratings-{len(ratings)}.npz"), setup.sizes["n_splits"]
    np.savez(path, rows=ratings.rows, columns=ratings.columns, values=ratings.values, shape=ratings.shape)
    tuned = _some_rows(ratings, setup.rng("tuned"))
    problems = {s: {"ratings": path, "solver": s, "lam": _best_lam(setup, s, tuned)} for s in SOLVERS}
    runs = [
        {
            s: setup.run(completion.complete_ratings, p | {"seed": [setup.seed, i]})["trace"]
            for s, p in problems.items()
        }
        for i in range(n_splits)
    ]
    chosen = ", ".join(f"{solver} {problem['lam']:.2g}" for solver, problem in problems.items())
    splits = f"{100 * completion.TEST_SHARE:.0f} % held out, {n_splits} split{'s' * (n_splits > 1)}"
    lines = [Series(solver, *zip(*trace)) for solver, trace in runs[0].items()]
    return Finding(
        source=Source(f"{source.text}; {splits}", source.kind),
        variant=f"modl with |z|^2 and l2 atoms, {completion.N_COMPONENTS} components, beta 0.9, "
        f"mini-batches of n/100; lam by a third held out of the training entries: {chosen}",
        why=why,
        checks=list(_checks(runs)),
        comparisons=list(beside({solver: error_and_time(trace) for solver, trace in runs[0].items()})),
        rows=[
            {"split": i, "solver": s, "epoch": e, "seconds": t, "test_rmse": v}
            for i, run in enumerate(runs) for s, trace in run.items() for e, (t, v) in enumerate(trace, 1)
        ],
        panels=[Panel("Test error", "processor seconds", "RMSE", lines, x_log=True)],
        notes=["The time is until the test error is within 0.1 % of its last value, as in the paper. "
               "Means of rows and columns are taken out first."],
    )  # fmt: skip


def _some_rows(ratings, rng):
    """The entries of so many random rows that there are about _N_TUNED."""
    order = rng.permutation(ratings.shape[0])
    n_entries = np.cumsum(np.bincount(ratings.rows, minlength=ratings.shape[0])[order])
    return ratings.of_rows(order[: 1 + np.searchsorted(n_entries, _N_TUNED)])


def _best_lam(setup, solver, ratings):
    """The lam with the least error on a third of the entries that the others do not see."""
    parts = completion.split_ratings(ratings, setup.rng("lam"), test_share=1 / 3)
    lams = np.geomspace(*_LAMS[solver], setup.sizes["n_lams"]).tolist()
    return min(lams, key=lambda lam: SOLVERS[solver](parts, lam, np.random.default_rng(0))[-1][1])


def _checks(runs):
    (cd, slow), (modl, quick) = (np.mean([error_and_time(run[s]) for run in runs], axis=0) for s in SOLVERS)
    text = f"MODL's error is at most {100 * _ALIKE:.1f} % above coordinate descent's"
    yield Check(text, bool(modl <= (1 + _ALIKE) * cd), f"{modl:.4f} against {cd:.4f}")
    yield Check("MODL converges sooner", bool(quick < slow), f"{quick:.2f} s against {slow:.2f} s")


def _beside_ratings(name, ours):
    """The paper's numbers of one data set, if it has any."""
    paper, key = paper_values("modl", "table-1"), {_CD: "cd", _MODL: "modl"}
    if name not in paper["speed_up"]:
        return
    for i, (what, column, unit) in enumerate((("RMSE", "rmse", ""), ("convergence time", "seconds", "s"))):
        for solver, found in ours.items():
            yield Comparison(f"{what}, {solver}", unit, paper[f"{column}_{key[solver]}"][name], found[i])
    yield Comparison("speed-up of MODL", "x", paper["speed_up"][name], ours[_CD][1] / ours[_MODL][1])


def _beside_all(ours):
    """The ratios of all data sets of the paper."""
    paper = paper_values("modl", "table-1")
    error, time = (ours[_MODL][0] / ours[_CD][0], ours[_CD][1] / ours[_MODL][1])
    for name, theirs in paper["rmse_modl"].items():
        ratio = theirs / paper["rmse_cd"][name]
        yield Comparison(f"RMSE of MODL over coordinate descent, {name}", "x", ratio, error)
    for name, theirs in paper["speed_up"].items():
        yield Comparison(f"speed-up of MODL, paper: {name}, ours: genes x terms", "x", theirs, time)


_SIZES = {"n_lams": (7, 15), "n_splits": (1, 5)}
TABLE_1 = Item(
    "modl-table-1", "Ratings: MODL against coordinate descent", measure_ratings, "modl", "table-1",
    ("ratings",), _SIZES,
)  # fmt: skip
GENES_AND_TERMS = Item(
    "modl-completion", "Completing genes x terms: MODL against coordinate descent", _measure_genes_and_terms,
    "modl", "table-1", ("bdgp",), _SIZES | {"n_genes": (2_000, 1_000_000)},
)  # fmt: skip
