"""MODL, Table 1 and Figures 4 and 5: ratings completed by MODL and by coordinate descent; BDGP's terms."""

from functools import partial
from itertools import product

import numpy as np

from benchmarks.findings import Comparison, Finding, Size, Source, all_of
from benchmarks.inputs.ratings import gene_term_matrix, ratings_or_synthetic
from benchmarks.items import paper_values
from benchmarks.modl import completion
from benchmarks.modl.claims import CD, FULL, MODL, of_splits, speed_up, traces_of_sizes
from benchmarks.rows import Rows

VARIANT = (
    f"modl with |z|^2 and l2 atoms, {completion.N_COMPONENTS} components, beta 0.9, mini-batches of n/100, "
    "partial projection"
)
# In each objective's own scale; the paper tried 0.01 to 10.
_LAMS = {CD: (1e-3, 1e0), MODL: (1e-2, 1e1), FULL: (1e-2, 1e1)}
_SIZES_OF_PAPER = {1_000_209: "ML 1M", 10_000_054: "ML 10M"}


def measure_ratings(setup):
    """Measure on the ratings file of `--ratings`, or on synthetic ratings."""
    ratings, source = ratings_or_synthetic(setup, setup.sizes["n_ratings"])
    beside = partial(_beside_ratings, _SIZES_OF_PAPER.get(len(ratings)))
    return _finding(setup, ratings, source, size_of(ratings), beside)


def size_of(ratings):
    """Return the number of ratings beside the number in the paper's data set, or in its largest open one."""
    n, is_papers = len(ratings), len(ratings) in _SIZES_OF_PAPER
    return Size("ratings", n, n if is_papers else max(_SIZES_OF_PAPER), is_papers)


def measure_genes_and_terms(setup):
    """Measure on all entries of BDGP's matrix of genes and terms; zeros count as observed."""
    ratings, source = gene_term_matrix(setup, setup.sizes["n_genes"])
    return _finding(setup, ratings, source, None, lambda ours: ())


def _finding(setup, ratings, source, size, beside):
    """Return the finding of both solvers on the same splits.

    Each solver has the lam that the training entries of the split choose.
    """
    sizes, rows = setup.sizes, Rows()
    for i in range(sizes["n_splits"]):
        for s in (CD, MODL):
            rows += [{"split": i} | row for row in completed(setup, ratings, s, lams_of(s, sizes), i)]
    lams = {s: sorted(set(rows.column("lam", solver=s))) for s in (CD, MODL)}
    chosen = ", ".join(f"{s} {', '.join(f'{lam:.2g}' for lam in found)}" for s, found in lams.items())
    splits = f"{100 * completion.TEST_SHARE:.0f} % held out, {sizes['n_splits']} splits"
    return Finding(
        source=Source(f"{source.text}; {splits}", source.kind),
        size=size,
        variant=f"{VARIANT}; lam by a third held out of the training entries, split by split: {chosen}",
        comparisons=list(beside({s: found.mean(axis=0) for s, found in of_splits(rows).items()})),
        rows=rows,
        panels=[_panel("Test error, first split", rows.where(split=0))],
    )


def _panel(title, rows):
    return rows.panel(title, "solver", "seconds", "test_rmse", "processor seconds", "RMSE", x_log=True)


def lams_of(solver, sizes):
    """Return the values of lam from which a solver may choose."""
    return np.geomspace(*_LAMS[solver], sizes["n_lams"]).tolist()


def completed(setup, ratings, solver, lams, split, **options):
    """Rows of one solver on one split, an epoch each, with the lam that the training entries choose."""
    path = str(setup.scratch / f"ratings-{len(ratings)}.npz")
    np.savez(path, rows=ratings.rows, columns=ratings.columns, values=ratings.values, shape=ratings.shape)
    given = {"lams": lams, "n_inner": setup.sizes["n_inner"], "seed": [setup.seed, split]}
    found = setup.run(completion.complete_ratings, {"ratings": path, "solver": solver} | given | options)
    return [
        {"solver": solver, "lam": found["lam"], "epoch": e, "seconds": t, "test_rmse": v}
        for e, (t, v) in enumerate(found["trace"], 1)
    ]


def _beside_ratings(name, ours):
    """Yield the comparisons with the paper's numbers of one data set, if it has any."""
    paper, key = paper_values("modl", "table-1"), {CD: "cd", MODL: "modl"}
    if name not in paper["speed_up"]:
        return
    for i, (what, column, unit) in enumerate((("RMSE", "rmse", ""), ("convergence time", "seconds", "s"))):
        for solver, found in ours.items():
            yield Comparison(f"{what}, {solver}", unit, paper[f"{column}_{key[solver]}"][name], found[i])
    yield Comparison("speed-up of MODL", "x", paper["speed_up"][name], ours[CD][1] / ours[MODL][1])


_SHARES = (0.1, 0.3, 1.0)  # of the users of a given file


def measure_sizes(setup):
    """Coordinate descent, and MODL with partial and with full projection, on one split of every size."""
    paper, data_sets, rows = paper_values("modl", "table-1")["speed_up"], list(_data_sets(setup)), Rows()
    for ratings, _ in data_sets:
        for solver in (CD, FULL, MODL):
            found = completed(setup, ratings, solver, lams_of(solver, setup.sizes), 0)
            rows += [{"n_ratings": len(ratings)} | row for row in found]
    sizes = rows.values("n_ratings")
    return Finding(
        source=all_of(source for _, source in data_sets),
        size=max((size_of(ratings) for ratings, _ in data_sets), key=lambda size: size.ours),
        variant=f"{VARIANT}, or full; one split of each size, "
        "every solver's lam chosen on its training entries",
        comparisons=[
            Comparison(f"speed-up, paper: {name}, ours: {n:,} ratings", "x", theirs, speed_up(traces))
            for (name, theirs), (n, traces) in zip(paper.items(), traces_of_sizes(rows).items())
        ],
        rows=rows,
        panels=[_panel(f"{n:,} ratings", rows.where(n_ratings=n)) for n in sizes],
    )


def _data_sets(setup):
    """Yield ratings of rising size and their `Source`: synthetic ones, or ever more users of a file."""
    if setup.ratings is None:
        yield from (ratings_or_synthetic(setup, n) for n in setup.sizes["n_ratings"])
        return
    ratings, source = ratings_or_synthetic(setup, 0)
    order = setup.rng("users").permutation(ratings.shape[0])
    for share in _SHARES:
        part = ratings.of_rows(np.sort(order[: int(share * len(order))]))
        yield (ratings if share == 1 else part), source


_LEAST_BETA = 0.76  # the theory, and our learner, want beta above 0.75


def measure_weights(setup):
    """Figure 5: the test error of MODL at every beta; lam is chosen at the usual one."""
    betas = [max(beta, _LEAST_BETA) for beta in paper_values("modl", "fig-5")["betas"]]
    data_sets, rows = list(_data_sets(setup)), Rows()
    for ratings, _ in data_sets:
        lam = completed(setup, ratings, MODL, lams_of(MODL, setup.sizes), 0)[0]["lam"]
        for beta, split in product(betas, range(setup.sizes["n_splits"])):
            found = completed(setup, ratings, MODL, [lam], split, beta=beta)
            rows += [{"n_ratings": len(ratings), "beta": beta, "split": split} | row for row in found]
    return Finding(
        source=all_of(source for _, source in data_sets),
        size=max((size_of(ratings) for ratings, _ in data_sets), key=lambda size: size.ours),
        variant=VARIANT.replace("beta 0.9", "every beta"),
        rows=rows,
        panels=[
            rows.where(split=0, n_ratings=n).panel(f"{n:,} ratings", "beta", "epoch", "test_rmse")
            for n in rows.values("n_ratings")
        ],
    )
