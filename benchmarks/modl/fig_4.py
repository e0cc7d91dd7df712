"""MODL, Figure 4: the error of completed ratings against time, for data sets of different sizes."""

import numpy as np

from benchmarks.findings import Comparison, Finding, Panel, all_of
from benchmarks.inputs.ratings import GET_RATINGS, ratings_or_synthetic
from benchmarks.items import Item, paper_values
from benchmarks.modl import rating_claims
from benchmarks.modl.rating_claims import CD, FULL, MODL, speed_up
from benchmarks.modl.table_1 import VARIANT, completed, lams_of, size_of
from benchmarks.rows import Rows

_SHARES = (0.1, 0.3, 1.0)  # of the users of a given file


def measure(setup):
    """Coordinate descent, and MODL with partial and with full projection, on one split of every size."""
    data_sets, rows = list(_data_sets(setup)), Rows()
    for ratings, _ in data_sets:
        for solver in (CD, FULL, MODL):
            found = completed(setup, ratings, solver, lams_of(solver, setup.sizes), 0)
            rows += [{"n_ratings": len(ratings)} | row for row in found]
    sizes = list(dict.fromkeys(rows.column("n_ratings")))
    return Finding(
        source=all_of(source for _, source in data_sets),
        size=max((size_of(ratings) for ratings, _ in data_sets), key=lambda size: size.ours),
        variant=f"{VARIANT}, or full; one split of each size, every solver's lam chosen on its training "
        "entries",
        explanation="The paper's coordinate descent is spira's, and its mini-batches are of a hundredth of "
        "the users too: the more users, the fewer epochs.",
        comparisons=list(_speed_ups(rows, sizes)),
        rows=rows,
        panels=[Panel(f"{n:,} ratings", "processor seconds", "RMSE",
                      rows.where(n_ratings=n).lines("solver", "seconds", "test_rmse"), x_log=True)
                for n in sizes],
        notes=["Full projection shrinks a whole atom; partial projection, its entries of items that the "
               "mini-batch has ratings of.", GET_RATINGS],
    )  # fmt: skip


def _data_sets(setup):
    """Ratings of rising size and their `Source`: synthetic ones, or those of ever more users of a file."""
    if setup.ratings is None:
        yield from (ratings_or_synthetic(setup, n) for n in setup.sizes["n_ratings"])
        return
    ratings, source = ratings_or_synthetic(setup, 0)
    order = setup.rng("users").permutation(ratings.shape[0])
    for share in _SHARES:
        part = ratings.of_rows(np.sort(order[: int(share * len(order))]))
        yield (ratings if share == 1 else part), source


def _speed_ups(rows, sizes):
    paper = paper_values("modl", "table-1")["speed_up"]
    for (name, theirs), n in zip(paper.items(), sizes):
        kept = rows.where(n_ratings=n)
        traces = {s: [(r["epoch"], r["seconds"], r["test_rmse"]) for r in kept.where(solver=s)]
                  for s in (CD, MODL)}  # fmt: skip
        yield Comparison(f"speed-up, paper: {name}, ours: {n:,} ratings", "x", theirs, speed_up(traces))


_SIZES = {
    "n_ratings": ((20_000, 60_000, 200_000), (100_000, 1_000_000, 3_000_000)),
    "n_lams": (3, 7),
    "n_inner": (1, 3),
}
ITEM = Item(
    "modl-fig-4", "MODL: error of completed ratings against time", measure, "modl", "fig-4", (), _SIZES,
    rating_claims.FIG_4,
)  # fmt: skip
