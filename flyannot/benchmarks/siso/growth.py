"""SISO, Tables 6 and 7: time and flat cost among very many labelled vectors, patches of embryos."""

import numpy as np

from flyannot.benchmarks.findings import Check, Comparison, Finding, Panel, Rows, Source, exponent
from flyannot.benchmarks.inputs.patches import descriptors_of
from flyannot.benchmarks.items import Item, paper_values
from flyannot.benchmarks.measures import Stopwatch
from flyannot.benchmarks.siso.annotators import (
    CD,
    HASH,
    HASH_EXACT,
    LASSO,
    PUBLISHED,
    SISO,
    VARIANT,
    fitted_annotator,
)
from flyannot.benchmarks.tables import listed
from flyannot.descriptors.sift import normalise_descriptors

_SIZES = {
    "n_vectors": (  # of full runs the paper's, from the third on
        (10_000, 30_000, 100_000, 300_000),
        (10_000, 100_000, 200_000, 400_000, 800_000, 1_200_000),
    ),
    "n_queries": (128, 128),
}
_N_ALONE = 8  # queries that are answered one at a time
_SLOW = {  # method -> n -> queries; elsewhere none
    LASSO: {10_000: 6, 30_000: 2, 100_000: 1, 1_200_000: 1},
    CD: {10_000: 2, 30_000: 2, 100_000: 2},
}
_METHODS = (SISO, HASH, HASH_EXACT)
_N_VECTORS = "labelled vectors"  # below the figures


def measure_cost(setup):
    """Table 6: time and flat cost of every method among n vectors."""
    paper, (rows, source) = paper_values("siso", "table-6"), _growth(setup)
    shared = rows.where(how="at once")
    hashed = {row["n"]: row for row in shared.where(method=HASH)}
    n = max(hashed)
    costs = [shared.value("flat_cost", method=method, n=n) for method in (SISO, HASH)]
    return Finding(
        source=source,
        variant=VARIANT,
        why="Patches of 128 numbers labelled by their image, not ImageNet: only how cost and time move with "
        "n can be compared. Cost falls faster: the more patches, the more of them overlap the query's.",
        checks=[*_checks_of_cost(shared), _slower_than_n(shared, HASH)],
        comparisons=list(_comparisons_of_cost(paper, hashed)),
        rows=rows,
        panels=[
            Panel("Time of a query", _N_VECTORS, "seconds",
                  shared.lines("method", "n", "seconds_per_query"), x_log=True, y_log=True),
            Panel("Flat cost, five answers", _N_VECTORS, "share not among five",
                  shared.lines("method", "n", "flat_cost"), x_log=True),
        ],
        notes=[
            f"{setup.sizes['n_queries']} queries; the paper had {paper['n_queries']:,}.",
            f"At n = {n:,} the flat cost of siso is {costs[0]:.2f} and that of hash-siso, which believes an "
            f"empty answer of the hash, {costs[1]:.2f}.",
        ],
    )  # fmt: skip


def measure_time(setup):
    """Table 7: seconds per query, at the largest n that all methods were given, and beyond."""
    paper, (rows, source) = paper_values("siso", "table-7"), _growth(setup)
    shared, lasso = rows.where(how="at once"), rows.where(method=LASSO)
    at_n = {row["method"]: row["seconds_per_query"] for row in (*shared.where(n=lasso[-1]["n"]), lasso[-1])}
    n, alone = lasso[-1]["n"], Rows((*rows.where(how="one at a time"), *lasso))
    return Finding(
        source=source,
        variant=VARIANT + "; LASSO is scikit-learn's coordinate descent over all rows, for a few queries",
        why="Queries share each pass of SISO over all rows, while the hash is probed for every query by "
        f"itself: its time grows more slowly; at n = {n:,} it is {at_n[HASH] / at_n[SISO]:.2f} times SISO's.",
        checks=list(_checks_of_time(shared, at_n)),
        comparisons=list(_comparisons_of_time(paper["seconds_per_query"], at_n, n)),
        rows=rows,
        panels=[
            Panel(title, _N_VECTORS, "seconds", Rows(shown).lines("method", "n", "seconds_per_query"),
                  x_log=True, y_log=True)
            for title, shown in (("Many queries at once", [*lasso, *shared]), ("One query at a time", alone))
        ],
        notes=[f"Ratios at n = {n:,}; the paper's at {paper['n_labelled']:,}."],
    )  # fmt: skip


def _growth(setup):
    """`Rows` of every method and n, and the `Source`."""
    sizes, n_queries = setup.sizes["n_vectors"], setup.sizes["n_queries"]
    wanted = max(sizes) + n_queries
    files, source = setup.once(f"vectors {wanted}", lambda: _vectors(setup, wanted))
    rows = Rows()
    for n in sizes:
        arguments = files | {"n": n, "n_queries": n_queries, "seed": setup.seed}
        alone = {PUBLISHED: _N_ALONE} | {method: of_n[n] for method, of_n in _SLOW.items() if n in of_n}
        for method, n_alone in (dict.fromkeys(_METHODS, _N_ALONE) | alone).items():
            asked = {"method": method, "n_alone": n_alone, "at_once": method in _METHODS}
            rows += setup.run(answer, arguments | asked)["rows"]
    return rows, source


def _vectors(setup, wanted):
    """The files of descriptors in random order and of the number of each one's image, and the `Source`."""
    by_image, source = descriptors_of(setup, wanted, views=(None,))
    labels = np.repeat(np.arange(len(by_image)), [len(descriptors) for descriptors in by_image])
    order = setup.rng("windows").permutation(len(labels))[:wanted]
    files = setup.save(f"siso-{wanted}", vectors=np.concatenate(by_image)[order], labels=labels[order])
    return files, Source(f"{wanted:,} of {source.text}, each labelled by its image", source.kind)


def answer(vectors, labels, method, n, n_queries, n_alone, at_once, seed):
    """In a worker: one method among n labelled vectors, which come after the queries."""
    X, labels = normalise_descriptors(np.load(vectors, mmap_mode="r")[: n_queries + n]), np.load(labels)
    Y = labels[n_queries : n_queries + n, None] == np.arange(labels.max() + 1)
    ask, seconds_of_fit = fitted_annotator(method, X[n_queries:], Y, np.random.default_rng(seed))
    ways = [("one at a time", [X[i : i + 1] for i in range(n_alone)])]
    ways += [("at once", [X[:n_queries]])] if at_once else []
    rows = []
    ask(X[:1])  # compiled, and what is made once a model
    for how, parts in ways:
        with Stopwatch() as watch:
            values = np.concatenate([ask(part) for part in parts])
        row = {"method": method, "how": how, "n": n, "n_queries": len(values)}
        row |= {"seconds_of_fit": seconds_of_fit, "seconds_per_query": watch.seconds / len(values)}
        rows.append(row | {"flat_cost": flat_cost(values, labels[: len(values)])})
    return {"rows": rows}


def flat_cost(values, truth, n_answers=5):
    """The share of rows whose true label is not among the `n_answers` with the largest values."""
    best = np.argsort(-values, axis=1, kind="stable")[:, :n_answers]
    return float(1 - (best == np.asarray(truth)[:, None]).any(axis=1).mean())


def _slower_than_n(rows, method):
    slope = exponent(rows.column("n", method=method), rows.column("seconds_per_query", method=method))
    return Check(f"the time of a query by {method} grows slower than n", slope < 1, f"as n^{slope:.2f}")


def _checks_of_cost(rows):
    for method in (SISO, HASH):
        costs = rows.column("flat_cost", method=method)
        yield Check(f"the flat cost of {method} falls with n", costs[-1] < costs[0], listed(costs, ".3f"))


def _comparisons_of_cost(paper, hashed):
    seconds = [3600 * hours / paper["n_queries"] for hours in paper["hours"]]
    theirs = dict(zip(paper["n_labelled"], zip(seconds, paper["flat_cost"])))
    for n, (time, cost) in theirs.items():
        ours = hashed.get(n, {})
        yield Comparison(f"time of a query, n={n:,}", "s", time, ours.get("seconds_per_query"))
        yield Comparison(f"flat cost, n={n:,}", "", cost, ours.get("flat_cost"))


def _checks_of_time(rows, at_n):
    ratio = at_n[LASSO] / at_n[SISO]
    yield Check("SISO is faster than LASSO", ratio > 1, f"{ratio:.0f} times")
    ratio = at_n[SISO] / at_n[HASH]
    yield Check("hash-SISO is faster than SISO", ratio > 1, f"{ratio:.2f} times")
    yield from (_slower_than_n(rows, method) for method in (SISO, HASH))


def _comparisons_of_time(theirs, at_n, n):
    for name, value in theirs.items():
        yield Comparison(f"time of a query, {name}", "s", value, at_n[name], f"ours: n={n:,}")
    for name, over in ((LASSO, SISO), (SISO, HASH), (LASSO, HASH)):
        yield Comparison(f"{name} over {over}", "x", theirs[name] / theirs[over], at_n[name] / at_n[over])


_COST = "Hash-SISO among many labelled vectors: time and flat cost"
TABLE_6 = Item("siso-table-6", _COST, measure_cost, "siso", "table-6", sizes=_SIZES)
_TIME = "Time of a query among many vectors"
TABLE_7 = Item("siso-table-7", _TIME, measure_time, "siso", "table-7", sizes=_SIZES)
